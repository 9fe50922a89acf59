#include "tool/live_state.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace callgate {

namespace {

constexpr std::int64_t kWhole = 1'000;  // thousandths in one retry

std::optional<base::WallTime> wall(std::int64_t microseconds, std::int64_t never) {
    if (microseconds == never) return std::nullopt;
    return base::WallTime(std::chrono::microseconds(microseconds));
}

std::int64_t microseconds(std::optional<std::chrono::system_clock::time_point> at, std::int64_t never) {
    if (!at) return never;
    return std::chrono::floor<std::chrono::microseconds>(*at).time_since_epoch().count();
}

std::int64_t saved_per_attempt(const RetryPolicy& retry) {
    return static_cast<std::int64_t>(std::clamp(retry.budget, 0.0, 1.0) * kWhole);
}

}  // namespace

LiveState::LiveState(std::uint32_t degraded_after, BreakerPolicy breaker, RetryPolicy retry)
    : saved_retries_(kFreeRetries * kWhole),
      saved_per_attempt_(saved_per_attempt(retry)),
      breaker_(breaker),
      degraded_after_(degraded_after) {}

ToolHealth LiveState::health() const {
    const base::MutexLock lock(mutex_);
    ToolHealth health;
    health.status = status();
    health.last_success_at = wall(last_success_us_.load(std::memory_order_relaxed), kNever);
    health.last_error = last_error_;
    health.consecutive_errors = consecutive_errors_.load(std::memory_order_relaxed);
    health.rate_limit_resets_at = rate_limit_resets_at();
    return health;
}

void LiveState::set_health(ToolHealth health) {
    if (health.last_error)
        health.last_error->resize(base::truncate_to_bytes(*health.last_error, kMaxErrorBytes).size());
    const base::MutexLock lock(mutex_);
    status_.store(health.status, std::memory_order_relaxed);
    last_success_us_.store(microseconds(health.last_success_at, kNever), std::memory_order_relaxed);
    last_error_ = std::move(health.last_error);
    consecutive_errors_.store(health.consecutive_errors, std::memory_order_relaxed);
    rate_limit_resets_us_.store(microseconds(health.rate_limit_resets_at, kNever), std::memory_order_relaxed);
    if (health.status == HealthStatus::healthy) shut_breaker();
}

void LiveState::follow(BreakerPolicy breaker, RetryPolicy retry) {
    saved_per_attempt_.store(saved_per_attempt(retry), std::memory_order_relaxed);
    const base::MutexLock lock(mutex_);
    breaker_ = breaker;
    if (breaker_.failures == 0) shut_breaker();
}

bool LiveState::is_as_new() const noexcept {
    return status() == HealthStatus::healthy && !quarantined() && !silenced.load(std::memory_order_relaxed) &&
           breaker_shut() && consecutive_errors_.load(std::memory_order_relaxed) == 0 &&
           broken_in_a_row_.load(std::memory_order_relaxed) == 0 &&
           saved_retries_.load(std::memory_order_relaxed) >= kFreeRetries * kWhole &&
           rate_limit_resets_us_.load(std::memory_order_relaxed) == kNever &&
           abandoned.load(std::memory_order_relaxed) == 0;
}

bool LiveState::succeeded(base::WallTime at) noexcept {
    last_success_us_.store(at.time_since_epoch().count(), std::memory_order_relaxed);
    // Without an error to forget there is nothing else to do: failures are counted before the breaker opens.
    if (consecutive_errors_.load(std::memory_order_relaxed) == 0 &&
        broken_in_a_row_.load(std::memory_order_relaxed) == 0 && status() != HealthStatus::degraded)
        return false;
    const base::MutexLock lock(mutex_);
    consecutive_errors_.store(0, std::memory_order_relaxed);
    shut_breaker();
    if (status() != HealthStatus::degraded) return false;
    status_.store(HealthStatus::healthy, std::memory_order_relaxed);
    return true;
}

bool LiveState::failed(std::string_view what, bool broken, base::MonotonicTime now) {
    std::string text(base::truncate_to_bytes(what, kMaxErrorBytes));
    const base::MutexLock lock(mutex_);
    last_error_ = std::move(text);
    const std::uint32_t errors = consecutive_errors_.load(std::memory_order_relaxed);
    if (errors < std::numeric_limits<std::uint32_t>::max())
        consecutive_errors_.store(errors + 1, std::memory_order_relaxed);

    if (!broken) {
        shut_breaker();  // it answered
    } else if (breaker_.failures != 0) {
        const bool is_open = !breaker_shut_.load(std::memory_order_relaxed);
        const std::uint32_t in_a_row =
            std::min(broken_in_a_row_.load(std::memory_order_relaxed) + 1, breaker_.failures);
        broken_in_a_row_.store(in_a_row, std::memory_order_relaxed);
        // Calls that began before it opened do not lengthen the rest; only a failed probe begins another.
        if (is_open ? probe_holds_until_.has_value() : in_a_row >= breaker_.failures) {
            rests_until_ = now + breaker_.rest;
            probe_holds_until_.reset();
            breaker_shut_.store(false, std::memory_order_release);
        }
    }

    if (status() != HealthStatus::healthy || degraded_after_ == 0 || errors + 1 < degraded_after_)
        return false;
    status_.store(HealthStatus::degraded, std::memory_order_relaxed);
    return true;
}

void LiveState::shut_breaker() noexcept {
    broken_in_a_row_.store(0, std::memory_order_relaxed);
    probe_holds_until_.reset();
    breaker_shut_.store(true, std::memory_order_release);
}

void LiveState::rate_limited_until(base::WallTime resets_at) noexcept {
    rate_limit_resets_us_.store(resets_at.time_since_epoch().count(), std::memory_order_relaxed);
}

std::optional<base::WallTime> LiveState::rate_limit_resets_at() const noexcept {
    return wall(rate_limit_resets_us_.load(std::memory_order_relaxed), kNever);
}

LiveState::Passage LiveState::pass(base::MonotonicTime now) {
    if (breaker_shut()) return {};
    const base::MutexLock lock(mutex_);
    if (breaker_shut_.load(std::memory_order_relaxed)) return {};
    const base::MonotonicTime until = probe_holds_until_ ? *probe_holds_until_ : rests_until_;
    if (now < until) return {false, false, std::chrono::ceil<std::chrono::milliseconds>(until - now)};
    probe_holds_until_ = now + breaker_.rest;
    return {true, true, {}};
}

void LiveState::give_probe_back() {
    const base::MutexLock lock(mutex_);
    probe_holds_until_.reset();
}

void LiveState::count_first_attempt() noexcept {
    // A full account is only read, so that callers of a tool in good health do not contend for it.
    const std::int64_t more = saved_per_attempt_.load(std::memory_order_relaxed);
    std::int64_t saved = saved_retries_.load(std::memory_order_relaxed);
    while (saved < kMaxSavedRetries * kWhole && more > 0 &&
           !saved_retries_.compare_exchange_weak(saved, std::min(saved + more, kMaxSavedRetries * kWhole),
                                                 std::memory_order_relaxed)) {
    }
}

bool LiveState::take_retry() noexcept {
    std::int64_t saved = saved_retries_.load(std::memory_order_relaxed);
    while (saved >= kWhole) {
        if (saved_retries_.compare_exchange_weak(saved, saved - kWhole, std::memory_order_relaxed))
            return true;
    }
    return false;
}

std::string LiveState::quarantine_reason() const {
    const base::MutexLock lock(mutex_);
    return quarantine_reason_;
}

void LiveState::quarantine(std::string reason) {
    const base::MutexLock lock(mutex_);
    quarantine_reason_ = std::move(reason);
    quarantined_.store(true, std::memory_order_relaxed);
}

bool LiveState::release() {
    const base::MutexLock lock(mutex_);
    quarantine_reason_.clear();
    const bool was_quarantined = quarantined_.exchange(false, std::memory_order_relaxed);
    return silenced.exchange(false, std::memory_order_relaxed) || was_quarantined;
}

}  // namespace callgate
