#include "base/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <ctime>
#include <random>

namespace callgate::base {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

namespace {

/// Which start of the machine this is. Where the kernel does not say, no two processes agree.
std::uint64_t this_boot() noexcept {
    std::array<char, 36> id{};
    std::uint64_t boot = 0;
    const int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? -1 : ::read(file, id.data(), id.size());
    if (file >= 0) ::close(file);
    if (got == static_cast<ssize_t>(id.size())) {
        for (const char c : id) boot = boot * 1'099'511'628'211u + static_cast<unsigned char>(c);
        return boot;
    }
    try {
        std::random_device random;
        return (std::uint64_t{random()} << 32) | random();
    } catch (...) {
        return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    }
}

}  // namespace

Uptime Clock::uptime() const noexcept {
    return {0, duration_cast<microseconds>(monotonic_now().time_since_epoch())};
}

Uptime SystemClock::uptime() const noexcept {
    static const std::uint64_t boot = this_boot();
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return {boot, std::chrono::seconds(now.tv_sec) + duration_cast<microseconds>(nanoseconds(now.tv_nsec))};
}

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

Uptime ManualClock::uptime() const noexcept {
    return {restarts_.load(), duration_cast<microseconds>(nanoseconds(passed_.load() - restarted_.load()))};
}

void ManualClock::restart_machine() noexcept {
    restarted_.store(passed_.load());
    restarts_.fetch_add(1);
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
