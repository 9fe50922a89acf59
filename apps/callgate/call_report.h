// What came of a call on the command line, for people and for programs, and the exit code that says it.
//
// Threads: plain values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <callgate/approvals.h>
#include <callgate/json.h>
#include <callgate/outcome.h>

#include "excerpt.h"
#include "terminal.h"

namespace callgate::cli {

/// The values are the exit codes.
enum class CallExit : std::uint8_t {
    ok = 0,
    failed = 1,  ///< the tool failed, ran out of time or was called off
    unusable = 2,
    refused = 3,
    needs_approval = 4,
    unknown = 5,
    unwritten = 6  ///< it succeeded, and the result could not be written
};

CallExit exit_of(const Outcome& outcome) noexcept;

/// views::s2 with the whole content, and what a caller needs to go on: state, action, call_id, attempts,
/// replayed, safe_new_key, approval, preview; error as {code, message, details} or null.
Object to_json(const Outcome& outcome, const std::optional<Approval>& approval);

/// [{stage, decision, reason}]
Array to_json(const std::vector<StageNote>& trace);

/// The stages as a table.
std::string to_text(const std::vector<StageNote>& trace, const Style& style);

/// The verdict line and, of a call that did not succeed, why and what to do; the content is not in it.
std::string to_text(const Outcome& outcome, const std::optional<Excerpt>& excerpt, const Style& style);

/// What a person is asked to approve, every member of it. Long texts are cut, and named with their size,
/// unless `full`; `how_to_see_all` ends the sentence.
std::string to_text(const Approval& approval, bool full, std::string_view how_to_see_all, const Style& style);

/// Something is cut unless `full`.
bool is_cut(const Approval& approval);

/// The answer was not written: how the call ended all the same. `ledger`: the option that names it, or "".
std::string unwritten_text(const Outcome& outcome, const Style& style);

}  // namespace callgate::cli
