// Time as a ledger that outlives its process can rely on it.
//
// Somebody may set the machine's clock, forwards or back, while we run or while we do not. What a key or a
// tombstone lives by must not follow: steady() starts where the last run had come to, or at the machine's
// time if that is later, and then only passes. What a person's agreement lives by is latest(): it follows the
// machine's clock forwards and never goes back, so that an approval may end early and never lives longer.
//
// Threads: may be used from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace callgate::ledger {

class LedgerTime {
public:
    /// `reached` and `latest`: what the last run had come to, if there was one. `clock` must outlive this.
    explicit LedgerTime(const base::Clock& clock, base::WallTime reached = {}, base::WallTime latest = {})
        : clock_(&clock),
          began_(clock.monotonic_now()),
          base_(std::max(clock.wall_now(), reached)),
          ahead_(std::max<std::int64_t>(micros(latest - base_), 0)) {}

    base::WallTime wall() const noexcept { return clock_->wall_now(); }
    std::chrono::microseconds since_start() const noexcept {
        return std::chrono::duration_cast<std::chrono::microseconds>(clock_->monotonic_now() - began_);
    }
    base::WallTime steady() const noexcept { return base_ + since_start(); }
    base::WallTime latest() const noexcept {
        const base::WallTime now = steady();
        const std::int64_t ahead = micros(wall() - now);
        std::int64_t most = ahead_.load(std::memory_order_relaxed);
        while (ahead > most && !ahead_.compare_exchange_weak(most, ahead, std::memory_order_relaxed)) {
        }
        return now + std::chrono::microseconds(std::max(ahead, most));
    }

private:
    static std::int64_t micros(base::WallTime::duration span) noexcept {
        return std::chrono::duration_cast<std::chrono::microseconds>(span).count();
    }

    const base::Clock* clock_;
    base::MonotonicTime began_;
    base::WallTime base_;
    mutable std::atomic<std::int64_t> ahead_;  // how far latest() is before steady(), in microseconds
};

}  // namespace callgate::ledger
