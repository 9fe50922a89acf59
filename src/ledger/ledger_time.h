// Time as a ledger that outlives its process can rely on it.
//
// Somebody may set the machine's clock, forwards or back, while we run or while we do not. What a key or a
// tombstone lives by must not follow: steady() starts where the last run had come to, or at the machine's
// time if that is later, and then only passes. What a person's agreement lives by ends when either clock says
// so: latest().
//
// Threads: immutable; may be used from any thread.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace callgate::ledger {

class LedgerTime {
public:
    /// `reached`: the steady time of the last run, if there was one. `clock` must outlive this.
    LedgerTime(const base::Clock& clock, base::WallTime reached)
        : clock_(&clock), began_(clock.monotonic_now()), base_(std::max(clock.wall_now(), reached)) {}

    base::WallTime wall() const noexcept { return clock_->wall_now(); }
    std::chrono::microseconds since_start() const noexcept {
        return std::chrono::duration_cast<std::chrono::microseconds>(clock_->monotonic_now() - began_);
    }
    base::WallTime steady() const noexcept { return base_ + since_start(); }
    base::WallTime latest() const noexcept { return std::max(wall(), steady()); }

private:
    const base::Clock* clock_;
    base::MonotonicTime began_;
    base::WallTime base_;
};

}  // namespace callgate::ledger
