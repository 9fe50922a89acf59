// What changes about a tool while it is used: health, quarantine, circuit breaker, retry budget.
//
// The usual case, a healthy tool that succeeds, costs a few relaxed atomic operations and no lock. An open
// breaker always ends: after its rest one call probes, and a probe that never reports back holds the others
// up for one more rest only.
//
// It belongs to a tool rather than to one registration of it: a registration that another takes the place of
// by sync or by a change of its contract leaves it to its successor, and calls of both report here.
//
// Threads: may be used from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/registry.h>

#include "base/clock.h"
#include "base/mutex.h"

namespace callgate {

class LiveState {
public:
    static constexpr std::size_t kMaxErrorBytes = 1'024;  ///< kept of the last error's text
    static constexpr std::int64_t kFreeRetries = 10;
    static constexpr std::int64_t kMaxSavedRetries = 100;  ///< what a long good time can save up

    LiveState(std::uint32_t degraded_after, BreakerPolicy breaker, RetryPolicy retry);

    HealthStatus status() const noexcept { return status_.load(std::memory_order_relaxed); }
    ToolHealth health() const;
    /// As the host says. `healthy` also shuts the breaker.
    void set_health(ToolHealth health);

    /// By these from now on. An open breaker stays open, and what was saved up stays so; a breaker that is
    /// switched off shuts.
    void follow(BreakerPolicy breaker, RetryPolicy retry);
    /// Nothing is known that tells its tool from a new one: forgetting it changes nothing for a call.
    bool is_as_new() const noexcept;

    /// How a call that reached the tool ended. `broken` means that the tool itself seems unfit (timeout,
    /// transport, exception), as against an error it told. Returns true when the status changed. Degraded
    /// heals with a success; unavailable was said by the host, and only the host takes it back.
    [[gnu::hot]] bool succeeded(base::WallTime at) noexcept;
    bool failed(std::string_view what, bool broken, base::MonotonicTime now);
    void rate_limited_until(base::WallTime resets_at) noexcept;
    std::optional<base::WallTime> rate_limit_resets_at() const noexcept;

    /// Whether the breaker lets a call through; when it does not, how long it still rests. A call let through
    /// after the rest is the probe: the others wait for how it ends.
    struct Passage {
        bool open = true;
        bool probe = false;
        std::chrono::milliseconds wait{0};
    };
    Passage pass(base::MonotonicTime now);
    /// The breaker lets every call through: pass() need not be asked.
    bool breaker_shut() const noexcept { return breaker_shut_.load(std::memory_order_acquire); }
    /// The probe ended without reaching the tool: another call may probe at once.
    void give_probe_back();

    /// Retries are a share of first attempts: each attempt saves up a part of one, each retry takes one.
    void count_first_attempt() noexcept;
    /// True: this one may be made.
    bool take_retry() noexcept;

    std::atomic<bool> silenced{false};
    std::atomic<int> abandoned{0};  ///< threads that its code still holds, past their deadlines
    bool quarantined() const noexcept { return quarantined_.load(std::memory_order_relaxed); }
    std::string quarantine_reason() const;
    void quarantine(std::string reason);
    /// From quarantine and silence. False if it was in neither.
    bool release();

private:
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

    void shut_breaker() noexcept CALLGATE_REQUIRES(mutex_);

    std::atomic<HealthStatus> status_{HealthStatus::healthy};
    std::atomic<std::uint32_t> consecutive_errors_{0};
    std::atomic<std::uint32_t> broken_in_a_row_{0};
    std::atomic<bool> breaker_shut_{true};  // shut: calls pass without the lock
    std::atomic<bool> quarantined_{false};
    std::atomic<std::int64_t> last_success_us_{kNever};
    std::atomic<std::int64_t> rate_limit_resets_us_{kNever};
    std::atomic<std::int64_t> saved_retries_;      // in thousandths
    std::atomic<std::int64_t> saved_per_attempt_;  // in thousandths

    // Also held for every change away from or back to the usual case.
    mutable base::Mutex mutex_;
    std::optional<std::string> last_error_ CALLGATE_GUARDED_BY(mutex_);
    std::string quarantine_reason_ CALLGATE_GUARDED_BY(mutex_);
    base::MonotonicTime rests_until_ CALLGATE_GUARDED_BY(mutex_);  // while the breaker is open
    std::optional<base::MonotonicTime> probe_holds_until_ CALLGATE_GUARDED_BY(mutex_);
    BreakerPolicy breaker_ CALLGATE_GUARDED_BY(mutex_);

    const std::uint32_t degraded_after_;
};

}  // namespace callgate
