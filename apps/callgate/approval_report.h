// Approvals for people: a table of many, or one with everything that decides about it.
//
// The functions take the reports of the control verbs (docs/formats/control.md).
//
// Threads: pure functions.
#pragma once

#include <string>

#include <callgate/error.h>
#include <callgate/json.h>

#include "terminal.h"

namespace callgate::cli {

/// The table, and how to see more where there is more.
std::string approvals_table(const Value& page, std::string_view state, const Style& style);

/// For a denial that came too late: the approval stands, and what takes it back. "" where it does not stand.
std::string standing_approval_hint(const Error& error, const std::string& ledger, const Style& style);

/// Everything about one approval. `full`: long texts whole.
std::string approval_text(const Value& approval, bool full, const Style& style);

/// What became of it, in one line, and how to go on. `ledger`: the option that names the ledger, for what is
/// to be copied, or "".
std::string decision_text(const Value& approval, const std::string& ledger, const Style& style);

// Of callgate call, where nothing else is said.
constexpr std::string_view kUsualPrincipal = "local";
constexpr std::string_view kUsualAutonomy = "A2";

/// The command that goes on with a call, as who asked and with what they were granted.
struct ResumeHint {
    std::string call;
    std::string principal;
    std::vector<std::string> scopes;
    std::string autonomy;
    std::string ledger;  ///< the option that names it, or ""

    std::string text(const Style& style) const;
};

}  // namespace callgate::cli
