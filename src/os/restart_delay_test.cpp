#include "os/restart_delay.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::os {
namespace {

using namespace std::chrono_literals;

TEST(RestartDelay, DoublesToALimit) {
    const RestartLimits limits;
    EXPECT_EQ(restart_delay(limits, 0, 0), 0ms);
    EXPECT_EQ(restart_delay(limits, 1, 0), 500ms);
    EXPECT_EQ(restart_delay(limits, 2, 0), 1s);
    EXPECT_EQ(restart_delay(limits, 6, 0), 16s);
    EXPECT_EQ(restart_delay(limits, 7, 0), 30s);
    EXPECT_EQ(restart_delay(limits, ~0u, 0), 30s);
}

RC_GTEST_PROP(RestartDelay, IsBetweenThreeQuartersAndAllOfWhatIsDue, ()) {
    const auto failures = *rc::gen::inRange<std::uint32_t>(1, 100);
    const auto drawn = *rc::gen::arbitrary<std::uint64_t>();
    const auto most = restart_delay({}, failures, 0);
    const auto delay = restart_delay({}, failures, drawn);
    RC_ASSERT(delay <= most);
    RC_ASSERT(delay >= most * 3 / 4);
}

TEST(RestartDelay, GrowsWithEachThatSoonEndsAndIsForgottenAfterOneThatLivedWell) {
    base::ManualClock clock;
    base::SeededRng rng(1);
    RestartDelay delay(clock, rng);
    EXPECT_LE(delay.not_before(), clock.monotonic_now()) << "the first may start at once";
    base::MonotonicTime::duration before{0};
    for (int i = 0; i < 4; ++i) {
        delay.started();
        const auto due = delay.ended() - clock.monotonic_now();
        EXPECT_GT(due, before);
        before = due;
        clock.advance(due);
    }
    EXPECT_EQ(delay.failures(), 4u);
    delay.started();
    clock.advance(1min);
    EXPECT_EQ(delay.ended(), clock.monotonic_now());
    EXPECT_EQ(delay.failures(), 0u);
    delay.started();
    EXPECT_LE(delay.ended() - clock.monotonic_now(), 500ms);
}

}  // namespace
}  // namespace callgate::os
