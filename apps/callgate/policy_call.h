// The call that `callgate policy test` is asked about:
// {"tool", "action"?, "arguments"?, "principal"?, "tenant"?, "autonomy"?, "scopes"?, "time"?}.
//
// Threads: plain values and pure functions.
#pragma once

#include <chrono>
#include <optional>

#include <callgate/runtime.h>

namespace callgate::cli {

struct PolicyCall {
    CallRequest request;
    Context caller;
    std::optional<std::chrono::system_clock::time_point> at;  ///< `time`, as 2026-05-14T22:30:00Z
};

/// On failure: config_error, details {reason: not_a_call, unknown_member, missing_member, wrong_type or
/// unknown_word, pointer}.
Result<PolicyCall> policy_call_from_json(const Value& document);

}  // namespace callgate::cli
