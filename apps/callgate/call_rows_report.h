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

/// Everything about one call: {call, asked_as, earlier}. `full`: long texts whole. `ledger`: the option that
/// names the ledger, for what is to be copied, or "".
std::string call_text(const Value& shown, bool full, const std::string& ledger, const Style& style);

/// The command that says what became of an unknown call.
std::string resolve_hint(const std::string& call, const std::string& ledger, const Style& style);

/// What holds a key that a restored ledger does not know, and the command that ends it.
std::string restored_hint(const std::string& ledger, const Style& style);

/// Audit events as a table: number, time, type, who, detail.
std::string events_table(const Array& events, const Style& style);

/// One event on one line; on a terminal, what it says below.
std::string event_line(const Value& event, const Style& style);

}  // namespace callgate::cli
