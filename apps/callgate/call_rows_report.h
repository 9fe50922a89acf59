// Recorded calls for people: a table of many, or one with its attempts, its outcome and its events.
//
// The functions take the reports of the control verbs (docs/formats/control.md).
//
// Threads: pure functions.
#pragma once

#include <string>

#include <callgate/json.h>

#include "terminal.h"

namespace callgate::cli {

/// The table, and how to see more where there is more.
std::string calls_table(const Value& page, const Style& style);

/// Everything about one call. `full`: long texts whole.
std::string call_text(const Value& call, bool full, const Style& style);

/// Audit events as a table: number, time, type, who, detail.
std::string events_table(const Array& events, const Style& style);

}  // namespace callgate::cli
