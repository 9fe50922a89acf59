#include "ledger/ledger_time.h"

#include <gtest/gtest.h>

namespace callgate::ledger {
namespace {

using namespace std::chrono_literals;
using base::ManualClock;

TEST(LedgerTime, PassesWithUptimeWhateverTheWallClockSays) {
    ManualClock clock;
    const LedgerTime time(clock);
    clock.advance(1h);
    clock.set_wall(ManualClock::kStart + 24h * 400);
    EXPECT_EQ(time.lived(), ManualClock::kStart + 1h);
    clock.set_wall(ManualClock::kStart - 24h * 400);
    EXPECT_EQ(time.lived(), ManualClock::kStart + 1h);
}

TEST(LedgerTime, GoesOnAcrossAStopByAsMuchAsTheMachineWasUp) {
    ManualClock clock;
    const ClocksReached last = LedgerTime(clock).reached();
    clock.advance(30h);
    clock.set_wall(ManualClock::kStart + 24h * 40);
    const LedgerTime next(clock, last);
    EXPECT_EQ(next.lived(), ManualClock::kStart + 30h);
    ASSERT_TRUE(next.jump_at_start());
    EXPECT_EQ(next.jump_at_start()->by, 24h * 40 - 30h);
}

TEST(LedgerTime, BelievesTheWallClockForAnHourWhereTheMachineWasStartedAgain) {
    ManualClock clock;
    const ClocksReached last = LedgerTime(clock).reached();
    clock.restart_machine();
    clock.advance(20min);
    const LedgerTime soon(clock, last);
    EXPECT_EQ(soon.lived(), ManualClock::kStart + 20min);
    EXPECT_FALSE(soon.jump_at_start());
    const ClocksReached again = soon.reached();
    clock.advance(24h * 3);
    clock.restart_machine();
    const LedgerTime later(clock, again);
    EXPECT_EQ(later.lived(), ManualClock::kStart + 20min + LedgerTime::kLongestCredit);
    ASSERT_TRUE(later.jump_at_start());
    EXPECT_TRUE(later.jump_at_start()->machine_restarted);
}

TEST(LedgerTime, NeverGoesBack) {
    ManualClock clock;
    clock.advance(5h);
    const ClocksReached last = LedgerTime(clock).reached();
    clock.set_wall(ManualClock::kStart - 24h);
    EXPECT_EQ(LedgerTime(clock, last).lived(), last.lived);
    clock.restart_machine();
    const LedgerTime next(clock, last);
    EXPECT_EQ(next.lived(), last.lived);
    ASSERT_TRUE(next.jump_at_start());
    EXPECT_LT(next.jump_at_start()->by, 0s);
}

TEST(LedgerTime, OfApprovalsIsWhicheverClockComesFirstAndNeverGoesBack) {
    ManualClock clock;
    const LedgerTime time(clock);
    clock.set_wall(ManualClock::kStart + 2h);
    EXPECT_EQ(time.latest(), ManualClock::kStart + 2h);
    clock.set_wall(ManualClock::kStart);
    EXPECT_EQ(time.latest(), ManualClock::kStart + 2h);
    clock.set_wall(ManualClock::kStart - 24h);
    clock.advance(1h);
    EXPECT_EQ(time.latest(), ManualClock::kStart + 3h);
}

TEST(LedgerTime, TakesWhatItStoredForWhatItWas) {
    ManualClock clock;
    clock.restart_machine();
    clock.advance(7h);
    const ClocksReached now = LedgerTime(clock).reached();
    ClocksReached read;
    ASSERT_TRUE(read.read(now.text()));
    EXPECT_EQ(read.wall, now.wall);
    EXPECT_EQ(read.uptime.boot, now.uptime.boot);
    EXPECT_EQ(read.uptime.time, now.uptime.time);
    EXPECT_EQ(read.machine_began, now.machine_began);
    for (const char* bad : {"", "1", "1 2 3", "1 2 3 x", "1 2 3 4 5", "a b c d"})
        EXPECT_FALSE(ClocksReached().read(bad)) << bad;
}

TEST(ClockWatch, SeesAJumpOnceAndACorrectedClockNever) {
    ManualClock clock;
    const LedgerTime time(clock);
    ClockWatch watch(time);
    clock.set_wall(clock.wall_now() + 1s);
    EXPECT_FALSE(watch.look());
    watch.accept();
    clock.set_wall(clock.wall_now() - 1h);
    ASSERT_TRUE(watch.look());
    EXPECT_TRUE(watch.look()) << "nobody has put it on the record yet";
    watch.accept();
    EXPECT_FALSE(watch.look());
    clock.advance(24h);
    clock.set_wall(clock.wall_now() + 40s);  // what a day of correcting it comes to
    EXPECT_FALSE(watch.look());
}

TEST(SystemClock, KnowsHowLongTheMachineIsUp) {
    const base::SystemClock clock;
    const base::Uptime first = clock.uptime();
    const base::Uptime second = clock.uptime();
    EXPECT_EQ(first.boot, second.boot);
    EXPECT_LE(first.time, second.time);
    EXPECT_GT(first.time, 0us);
}

}  // namespace
}  // namespace callgate::ledger
