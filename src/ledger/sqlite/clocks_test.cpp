// Somebody sets the machine's clock, and the durable ledger throws nothing away for it.
#include <algorithm>

#include <gtest/gtest.h>

#include "ledger/audit/verify.h"
#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

using namespace std::chrono_literals;

constexpr base::WallTime kStart = base::ManualClock::kStart;

std::size_t jumps_on_record(DurableLedger& durable) {
    const auto all = durable.ledger->audit({});
    if (!all) return 999;
    return static_cast<std::size_t>(std::ranges::count(*all, "ledger.clock_jumped", &AuditEvent::type));
}

TEST(LedgerClocks, AStartTwoDaysAheadLeavesAKeyedCallInFlightToItsKey) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k", EffectClass::keyed);
    durable.close();
    durable.clock->set_wall(kStart + 48h);
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(durable.peek("k").verdict, ClaimVerdict::claimed);
    EXPECT_EQ(durable.claim(2, "k", EffectClass::keyed).verdict, ClaimVerdict::claimed);
}

TEST(LedgerClocks, AStartFortyDaysAheadForgetsNeitherOutcomesNorTombstones) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "old");
    durable.settle(1);
    durable.clock->advance(25h);
    ASSERT_TRUE(durable.ledger->collect());
    durable.claim(2, "young");
    durable.settle(2);
    ASSERT_EQ(durable.claim(3, "old").verdict, ClaimVerdict::key_expired);
    durable.close();
    durable.clock->set_wall(kStart + 24h * 40);
    ASSERT_FALSE(durable.open());
    ASSERT_TRUE(durable.ledger->collect());
    EXPECT_EQ(durable.claim(4, "old").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(durable.claim(5, "young").verdict, ClaimVerdict::replay);
}

TEST(LedgerClocks, AClockSetAheadWhileItRunsForgetsNothingEither) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "done");
    durable.settle(1);
    durable.claim(2, "sent", EffectClass::keyed);
    durable.clock->set_wall(kStart + 24h * 40);
    ASSERT_TRUE(durable.ledger->collect());
    EXPECT_EQ(durable.claim(3, "done").verdict, ClaimVerdict::replay);
    durable.ledger->owner_gone(durable.owner);
    durable.owner = must(register_owner(*durable.ledger));
    EXPECT_EQ(durable.claim(4, "sent", EffectClass::keyed).verdict, ClaimVerdict::claimed);
}

TEST(LedgerClocks, TimeThatPassedBetweenTwoRunsCounts) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "done");
    durable.settle(1);
    durable.claim(2, "sent", EffectClass::keyed);
    durable.close();
    durable.clock->set_wall(kStart - 24h * 300);  // whatever the wall clock says
    durable.clock->advance(25h);
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(durable.claim(3, "done").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(durable.claim(4, "sent", EffectClass::keyed).verdict, ClaimVerdict::unknown);
}

TEST(LedgerClocks, AMachineThatWasOffForDaysKeepsWhatItKnew) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "done");
    durable.settle(1);
    durable.close();
    durable.clock->advance(24h * 40);
    durable.clock->restart_machine();
    ASSERT_FALSE(durable.open());
    ASSERT_TRUE(durable.ledger->collect());
    EXPECT_EQ(durable.claim(2, "done").verdict, ClaimVerdict::replay);
}

TEST(LedgerClocks, AfterAMachineWasOffAKeyThatOthersMayHaveForgottenIsNotSentUnlessTheClockWasWrong) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k", EffectClass::keyed);
    durable.close();
    durable.clock->restart_machine();
    durable.clock->set_wall(kStart + 48h);
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(durable.claim(2, "k", EffectClass::keyed).verdict, ClaimVerdict::unknown);
    ASSERT_TRUE(durable.ledger->collect());
    durable.clock->set_wall(kStart + 1h);  // somebody sets it right: nothing is lost
    EXPECT_EQ(durable.claim(3, "k", EffectClass::keyed).verdict, ClaimVerdict::claimed);
}

TEST(LedgerClocks, AnApprovalEndsByWhicheverClockComesFirst) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.ask("by_wall", 1);
    ASSERT_TRUE(durable.vote("by_wall"));
    durable.close();
    durable.clock->set_wall(kStart + 1h);
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(durable.claim_with("by_wall", 2, "").approval, ApprovalVerdict::expired);
    durable.ask("by_life", 3);
    ASSERT_TRUE(durable.vote("by_life"));
    durable.clock->set_wall(kStart - 24h);
    durable.clock->advance(16min);
    EXPECT_EQ(durable.claim_with("by_life", 4, "").approval, ApprovalVerdict::expired);
}

TEST(LedgerClocks, AJumpIsOnTheRecordOnce) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "a");
    EXPECT_EQ(jumps_on_record(durable), 0u);
    durable.clock->set_wall(kStart + 24h);
    durable.claim(2, "b");
    durable.claim(3, "c");
    EXPECT_EQ(jumps_on_record(durable), 1u);
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(jumps_on_record(durable), 1u);
    durable.close();
    durable.clock->set_wall(kStart - 24h);
    ASSERT_FALSE(durable.open());
    durable.claim(4, "d");
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(jumps_on_record(durable), 2u);
}

TEST(LedgerClocks, AJumpSeenAtAStartIsOnTheRecordOnceEvenIfThatOneIsKilled) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "a");
    durable.close();
    durable.clock->set_wall(kStart + 48h);
    ASSERT_FALSE(durable.open());
    SqliteOptions options;
    options.directory = left_behind(durable);
    options.watch_past = false;  // it is a copy of one that lives
    options.clock = durable.clock;
    const auto next = SqliteLedger::open(std::move(options));
    ASSERT_TRUE(next) << next.error().message;
    const auto all = (*next)->audit({});
    ASSERT_TRUE(all);
    EXPECT_EQ(std::ranges::count(*all, "ledger.clock_jumped", &AuditEvent::type), 1);
}

TEST(LedgerClocks, OfConcurrentCallersAreNotSaidToHaveGoneBack) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    // Each made its event before the other's was written.
    ClaimRequest first = durable.request(1, "a");
    ClaimRequest second = durable.request(2, "b");
    first.events[0].at = durable.clock->wall_now() + 30ms;
    second.events[0].at = durable.clock->wall_now();
    durable.claim(std::move(first));
    durable.claim(std::move(second));
    auto reader = durable.ledger->read_audit();
    ASSERT_TRUE(reader);
    const auto report = verify_audit(**reader, {});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->clock_steps_back, 0u);
}

}  // namespace
}  // namespace callgate::ledger::testing
