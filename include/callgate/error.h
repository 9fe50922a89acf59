// One error type for the whole product.
//
// An operation that can fail returns Result<T>: the value, or an Error that says what was wrong, where, and
// what to do next. The code is stable and comes from the one table in src/base/error_table.cpp, which alone
// knows JSON-RPC codes, HTTP statuses and the seed systems' names for it.
//
// Threads: Error and Result are plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>
#include <tl/expected.hpp>

namespace callgate {

enum class ErrorCode : std::uint8_t {
    not_found,
    unavailable,
    quarantined,
    silenced,
    ambiguous_name,
    unknown_action,
    no_implementation,
    scope_denied,
    invalid_arguments,
    denied,
    approval_required,
    approval_denied,
    approval_expired,
    preview_required,
    suppressed,
    rate_limited,
    budget_exceeded,
    loop_detected,
    circuit_open,
    in_progress,
    key_reused,
    key_expired,
    outcome_unknown,
    timed_out,
    cancelled,
    skipped,
    tool_error,
    exception,
    caught,
    transport,
    output_invalid,
    truncated_turn,
    ledger_unavailable,
    audit_failure,
    config_error,
    internal,
};

/// The code's stable spelling, e.g. "invalid_arguments".
std::string_view to_string(ErrorCode code) noexcept;

/// What went wrong. `message` is one sentence a person or a model can act on; `details` holds the same facts
/// for programs (`reason` names the case, positions are numbers) and never a secret.
struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string message;
    boost::json::object details;
    bool retryable = false;

    Error() = default;
    /// `retryable` is the table's default for the code. Cold: compilers keep what leads to an error out of
    /// the way of what succeeds.
    [[gnu::cold]] Error(ErrorCode code, std::string message);
    [[gnu::cold]] Error(ErrorCode code, std::string message, boost::json::object details);
};

template <class T>
using Result = tl::expected<T, Error>;

/// `return fail(ErrorCode::config_error, "...")` inside a function that returns a Result.
inline tl::unexpected<Error> fail(ErrorCode code, std::string message, boost::json::object details = {}) {
    return tl::unexpected<Error>(Error(code, std::move(message), std::move(details)));
}

}  // namespace callgate
