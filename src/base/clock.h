// Time as a seam: whatever needs the time is given a Clock, so that tests decide what time it is.
//
// Wall time is for records and people and may jump; monotonic time is for deadlines and never goes back.
//
// Threads: every Clock may be used from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace callgate::base {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;
using MonotonicTime = std::chrono::steady_clock::time_point;

/// `by` after `from`: the end of time where the sum would lie beyond it, and `from` itself where `by` is
/// negative. A limit as large as its type allows is therefore never reached.
constexpr MonotonicTime later(MonotonicTime from, std::chrono::milliseconds by) noexcept {
    using Nanoseconds = MonotonicTime::duration;
    if (by.count() <= 0) return from;
    Nanoseconds::rep length = 0;
    Nanoseconds::rep end = 0;
    if (__builtin_mul_overflow(by.count(), std::chrono::nanoseconds(std::chrono::milliseconds(1)).count(),
                               &length) ||
        __builtin_add_overflow(from.time_since_epoch().count(), length, &end)) {
        return MonotonicTime::max();
    }
    return MonotonicTime(Nanoseconds(end));
}

/// One moment on both clocks.
struct Moment {
    MonotonicTime monotonic;
    WallTime wall;
};

/// How long the machine has been up, time asleep included, and which start of it that was.
struct Uptime {
    std::uint64_t boot = 0;
    std::chrono::microseconds time{0};
};

class Clock {
public:
    virtual ~Clock() = default;
    virtual WallTime wall_now() const noexcept = 0;
    virtual MonotonicTime monotonic_now() const noexcept = 0;
    virtual Moment now() const noexcept { return {monotonic_now(), wall_now()}; }
    /// Nobody can set it. Two readings can be compared, even of two processes, if `boot` is the same.
    virtual Uptime uptime() const noexcept;
};

class SystemClock final : public Clock {
public:
    WallTime wall_now() const noexcept override;
    MonotonicTime monotonic_now() const noexcept override;
    /// For the price of one reading nearly always: wall time is read again when the last reading is
    /// kWallKept old, and reckoned from that one until then. A step of the machine's clock is seen that much
    /// later.
    Moment now() const noexcept override;
    static constexpr std::chrono::milliseconds kWallKept{1};
    Uptime uptime() const noexcept override;
};

/// Stands still until told otherwise. Starts at 2026-01-01T00:00:00Z.
class ManualClock final : public Clock {
public:
    static constexpr WallTime kStart{std::chrono::sys_days{std::chrono::January / 1 / 2026}};

    explicit ManualClock(WallTime start = kStart) noexcept;

    WallTime wall_now() const noexcept override;
    MonotonicTime monotonic_now() const noexcept override;

    /// Time passes: both clocks move forward.
    void advance(std::chrono::nanoseconds duration) noexcept;
    /// Somebody sets the machine's clock: only wall time changes, perhaps backwards.
    void set_wall(WallTime time) noexcept;
    Uptime uptime() const noexcept override;
    /// The machine is started again: from now on uptime counts from zero. Wall time goes on.
    void restart_machine() noexcept;

private:
    std::atomic<std::chrono::nanoseconds::rep> passed_{0};
    std::atomic<std::chrono::microseconds::rep> wall_offset_us_;
    std::atomic<std::chrono::nanoseconds::rep> restarted_{0};  // passed_, when it was
    std::atomic<std::uint64_t> restarts_{0};
};

}  // namespace callgate::base
