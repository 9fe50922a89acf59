#include "base/clock.h"

namespace callgate::base {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

WallTime SystemClock::wall_now() const noexcept {
    return std::chrono::time_point_cast<microseconds>(std::chrono::system_clock::now());
}

[[gnu::hot]] MonotonicTime SystemClock::monotonic_now() const noexcept {
    return std::chrono::steady_clock::now();
}

[[gnu::hot]] Moment SystemClock::now() const noexcept {
    struct Reading {
        MonotonicTime at{};
        std::chrono::system_clock::time_point wall{};
    };
    thread_local Reading last;
    const MonotonicTime at = std::chrono::steady_clock::now();
    if (at - last.at >= kWallKept) last = {at, std::chrono::system_clock::now()};
    return {at, std::chrono::floor<microseconds>(last.wall + (at - last.at))};
}

ManualClock::ManualClock(WallTime start) noexcept : wall_offset_us_(start.time_since_epoch().count()) {}

WallTime ManualClock::wall_now() const noexcept {
    return WallTime(microseconds(wall_offset_us_.load()) +
                    duration_cast<microseconds>(nanoseconds(passed_.load())));
}

MonotonicTime ManualClock::monotonic_now() const noexcept {
    // Not from zero, so that "an hour ago" is still a valid time point.
    return MonotonicTime(std::chrono::hours(1000) + nanoseconds(passed_.load()));
}

void ManualClock::advance(nanoseconds duration) noexcept {
    if (duration > nanoseconds::zero()) {
        passed_.fetch_add(duration.count());
    }
}

void ManualClock::set_wall(WallTime time) noexcept {
    const auto passed = duration_cast<microseconds>(nanoseconds(passed_.load()));
    wall_offset_us_.store((time.time_since_epoch() - passed).count());
}

}  // namespace callgate::base
