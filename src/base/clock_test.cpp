#include "base/clock.h"

#include <gtest/gtest.h>

namespace callgate::base {
namespace {

using namespace std::chrono_literals;

TEST(ManualClock, StandsStillUntilTimePasses) {
    ManualClock clock;
    EXPECT_EQ(clock.wall_now(), ManualClock::kStart);
    const auto before = clock.monotonic_now();
    EXPECT_EQ(clock.monotonic_now(), before);
    clock.advance(1500ms);
    EXPECT_EQ(clock.wall_now() - ManualClock::kStart, 1500ms);
    EXPECT_EQ(clock.monotonic_now() - before, 1500ms);
}

TEST(ManualClock, SettingTheWallClockBackDoesNotTouchMonotonicTime) {
    ManualClock clock;
    clock.advance(10s);
    const auto before = clock.monotonic_now();
    clock.set_wall(ManualClock::kStart - 1h);
    EXPECT_EQ(clock.wall_now(), ManualClock::kStart - 1h);
    EXPECT_EQ(clock.monotonic_now(), before);
    clock.advance(1s);
    EXPECT_EQ(clock.wall_now(), ManualClock::kStart - 1h + 1s);
}

TEST(ManualClock, NeverRunsBackwards) {
    ManualClock clock;
    clock.advance(-5s);
    EXPECT_EQ(clock.wall_now(), ManualClock::kStart);
}

TEST(SystemClock, TellsAPlausibleTime) {
    const SystemClock clock;
    EXPECT_GT(clock.wall_now(), std::chrono::sys_days{std::chrono::January / 1 / 2024});
    const auto first = clock.monotonic_now();
    EXPECT_LE(first, clock.monotonic_now());
}

TEST(SystemClock, TellsOneMomentOnBothClocks) {
    const SystemClock clock;
    for (int i = 0; i < 1'000; ++i) {
        const auto before = clock.monotonic_now();
        const Moment now = clock.now();
        const Moment later = clock.now();
        EXPECT_LE(before, now.monotonic);
        EXPECT_LE(now.monotonic, later.monotonic);
        // Wall time is reckoned for a millisecond at most; unless somebody sets the clock they move together.
        const auto apart = (later.wall - now.wall) - (later.monotonic - now.monotonic);
        EXPECT_LT(std::chrono::abs(apart), std::chrono::seconds(5));
    }
}

TEST(ManualClock, TellsOneMomentOnBothClocks) {
    ManualClock clock;
    clock.set_wall(ManualClock::kStart + std::chrono::hours(5));
    EXPECT_EQ(clock.now().wall, clock.wall_now());
    EXPECT_EQ(clock.now().monotonic, clock.monotonic_now());
}

}  // namespace
}  // namespace callgate::base
