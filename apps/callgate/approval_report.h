// Approvals for people: a table of many, or one with everything that decides about it.
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
std::string approvals_table(const Value& page, std::string_view state, const Style& style);

/// Everything about one approval. `full`: long texts whole.
std::string approval_text(const Value& approval, bool full, const Style& style);

/// What became of it, in one line, and how to go on.
std::string decision_text(const Value& approval, const Style& style);

}  // namespace callgate::cli
