#include "pipeline/retry.h"

#include <algorithm>

#include "base/error_table.h"

namespace callgate::pipeline {
namespace {

bool repeating_is_safe(const Call& call, const ToolFailure& failure) {
    if (failure.applied == Applied::no) return true;
    if (failure.applied == Applied::answered) return false;  // a definite answer is not argued with
    return call.effect == EffectClass::read || call.effect == EffectClass::keyed;
}

bool another_may_succeed(const ToolFailure& failure) {
    switch (failure.error.code) {
        case ErrorCode::cancelled:
        case ErrorCode::timed_out:
        case ErrorCode::exception:
        case ErrorCode::caught: return false;
        default:
            return failure.error.retryable || failure.error.code == ErrorCode::transport ||
                   failure.retry_after.has_value();
    }
}

// Full jitter: anywhere between nothing and the doubled delay, so that many callers do not come back
// together.
std::chrono::milliseconds backoff(Call& call) {
    const RetryPolicy& policy = call.tool->contract().retry;
    const auto doublings = std::min<std::uint32_t>(call.tries - 1, 20);
    const auto ceiling =
        std::min<std::int64_t>(policy.max_delay.count(), policy.base_delay.count() << doublings);
    return std::chrono::milliseconds(
        call.core->parts.rng->below(static_cast<std::uint64_t>(std::max<std::int64_t>(ceiling, 0)) + 1));
}

}  // namespace

std::optional<std::chrono::milliseconds> next_attempt_in(Call& call, const ToolFailure& failure) {
    if (call.tries > call.tool->contract().retry.max_retries || call.cancel_wanted()) return std::nullopt;
    if (!repeating_is_safe(call, failure) || !another_may_succeed(failure)) return std::nullopt;
    auto delay = backoff(call);
    if (failure.retry_after) delay = std::max(delay, *failure.retry_after);
    if (delay >= call.time_left()) return std::nullopt;
    if (!call.tool->live().take_retry()) return std::nullopt;
    return delay;
}

}  // namespace callgate::pipeline
