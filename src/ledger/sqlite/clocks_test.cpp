// Somebody sets the machine's clock, and the durable ledger throws nothing away for it.
#include <algorithm>

#include <gtest/gtest.h>

#include "ledger/audit/verify.h"
#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

using namespace std::chrono_literals;

constexpr base::WallTime kStart = base::ManualClock::kStart;

std::size_t jumps_on_record(Desk& desk) {
    const auto all = desk.ledger->audit({});
    if (!all) return 999;
    return static_cast<std::size_t>(std::ranges::count(*all, "ledger.clock_jumped", &AuditEvent::type));
}

TEST(LedgerClocks, AStartTwoDaysAheadLeavesAKeyedCallInFlightToItsKey) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    desk.claim(1, "k", EffectClass::keyed);
    desk.close();
    desk.clock->set_wall(kStart + 48h);
    ASSERT_FALSE(desk.open());
    EXPECT_EQ(desk.peek("k").verdict, ClaimVerdict::claimed);
    EXPECT_EQ(desk.claim(2, "k", EffectClass::keyed).verdict, ClaimVerdict::claimed);
}

TEST(LedgerClocks, AStartFortyDaysAheadForgetsNeitherOutcomesNorTombstones) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    desk.claim(1, "old");
    desk.settle(1);
    desk.clock->advance(25h);
    ASSERT_TRUE(desk.ledger->collect());
    desk.claim(2, "young");
    desk.settle(2);
    ASSERT_EQ(desk.claim(3, "old").verdict, ClaimVerdict::key_expired);
    desk.close();
    desk.clock->set_wall(kStart + 24h * 40);
    ASSERT_FALSE(desk.open());
    ASSERT_TRUE(desk.ledger->collect());
    EXPECT_EQ(desk.claim(4, "old").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(desk.claim(5, "young").verdict, ClaimVerdict::replay);
}

TEST(LedgerClocks, AClockSetAheadWhileItRunsForgetsNothingEither) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    desk.claim(1, "done");
    desk.settle(1);
    desk.claim(2, "sent", EffectClass::keyed);
    desk.clock->set_wall(kStart + 24h * 40);
    ASSERT_TRUE(desk.ledger->collect());
    EXPECT_EQ(desk.claim(3, "done").verdict, ClaimVerdict::replay);
    desk.ledger->owner_gone(desk.owner);
    desk.owner = must(register_owner(*desk.ledger));
    EXPECT_EQ(desk.claim(4, "sent", EffectClass::keyed).verdict, ClaimVerdict::claimed);
}

TEST(LedgerClocks, TimeThatPassedBetweenTwoRunsCounts) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    desk.claim(1, "done");
    desk.settle(1);
    desk.claim(2, "sent", EffectClass::keyed);
    desk.close();
    desk.clock->set_wall(kStart - 24h * 300);  // whatever the wall clock says
    desk.clock->advance(25h);
    ASSERT_FALSE(desk.open());
    EXPECT_EQ(desk.claim(3, "done").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(desk.claim(4, "sent", EffectClass::keyed).verdict, ClaimVerdict::unknown);
}

TEST(LedgerClocks, AMachineThatWasOffForDaysKeepsWhatItKnew) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    desk.claim(1, "done");
    desk.settle(1);
    desk.close();
    desk.clock->advance(24h * 40);
    desk.clock->restart_machine();
    ASSERT_FALSE(desk.open());
    ASSERT_TRUE(desk.ledger->collect());
    EXPECT_EQ(desk.claim(2, "done").verdict, ClaimVerdict::replay);
}

TEST(LedgerClocks, AfterAMachineWasOffAKeyThatOthersMayHaveForgottenIsNotSentUnlessTheClockWasWrong) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    desk.claim(1, "k", EffectClass::keyed);
    desk.close();
    desk.clock->restart_machine();
    desk.clock->set_wall(kStart + 48h);
    ASSERT_FALSE(desk.open());
    EXPECT_EQ(desk.claim(2, "k", EffectClass::keyed).verdict, ClaimVerdict::unknown);
    ASSERT_TRUE(desk.ledger->collect());
    desk.clock->set_wall(kStart + 1h);  // somebody sets it right: nothing is lost
    EXPECT_EQ(desk.claim(3, "k", EffectClass::keyed).verdict, ClaimVerdict::claimed);
}

TEST(LedgerClocks, AnApprovalEndsByWhicheverClockComesFirst) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    desk.ask("by_wall", 1);
    ASSERT_TRUE(desk.vote("by_wall"));
    desk.close();
    desk.clock->set_wall(kStart + 1h);
    ASSERT_FALSE(desk.open());
    EXPECT_EQ(desk.claim_with("by_wall", 2, "").approval, ApprovalVerdict::expired);
    desk.ask("by_life", 3);
    ASSERT_TRUE(desk.vote("by_life"));
    desk.clock->set_wall(kStart - 24h);
    desk.clock->advance(16min);
    EXPECT_EQ(desk.claim_with("by_life", 4, "").approval, ApprovalVerdict::expired);
}

TEST(LedgerClocks, AJumpIsOnTheRecordOnce) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    desk.claim(1, "a");
    EXPECT_EQ(jumps_on_record(desk), 0u);
    desk.clock->set_wall(kStart + 24h);
    desk.claim(2, "b");
    desk.claim(3, "c");
    EXPECT_EQ(jumps_on_record(desk), 1u);
    ASSERT_FALSE(desk.open());
    EXPECT_EQ(jumps_on_record(desk), 1u);
    desk.close();
    desk.clock->set_wall(kStart - 24h);
    ASSERT_FALSE(desk.open());
    desk.claim(4, "d");
    ASSERT_FALSE(desk.open());
    EXPECT_EQ(jumps_on_record(desk), 2u);
}

TEST(LedgerClocks, AJumpSeenAtAStartIsOnTheRecordOnceEvenIfThatOneIsKilled) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    desk.claim(1, "a");
    desk.close();
    desk.clock->set_wall(kStart + 48h);
    ASSERT_FALSE(desk.open());
    SqliteOptions options;
    options.directory = left_behind(desk);
    options.watch_past = false;  // it is a copy of one that lives
    options.clock = desk.clock;
    const auto next = SqliteLedger::open(std::move(options));
    ASSERT_TRUE(next) << next.error().message;
    const auto all = (*next)->audit({});
    ASSERT_TRUE(all);
    EXPECT_EQ(std::ranges::count(*all, "ledger.clock_jumped", &AuditEvent::type), 1);
}

TEST(LedgerClocks, OfConcurrentCallersAreNotSaidToHaveGoneBack) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    // Each made its event before the other's was written.
    ClaimRequest first = desk.request(1, "a");
    ClaimRequest second = desk.request(2, "b");
    first.events[0].at = desk.clock->wall_now() + 30ms;
    second.events[0].at = desk.clock->wall_now();
    desk.claim(std::move(first));
    desk.claim(std::move(second));
    auto reader = desk.ledger->read_audit();
    ASSERT_TRUE(reader);
    const auto report = verify_audit(**reader, {});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->clock_steps_back, 0u);
}

}  // namespace
}  // namespace callgate::ledger::testing
