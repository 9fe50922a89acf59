#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"
#include "ledger/ledger_testing.h"

namespace callgate::ledger::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <class B>
class LedgerRules : public ::testing::Test {};
TYPED_TEST_SUITE(LedgerRules, Benches);

// Keys

TYPED_TEST(LedgerRules, ANewKeyIsClaimedAndDispatchedInOneStep) {
    TypeParam b;
    const ClaimReply reply = b.claim(1, "k");
    EXPECT_FALSE(reply.error);
    EXPECT_EQ(reply.verdict, ClaimVerdict::claimed);
    EXPECT_EQ(reply.row.state, CallState::dispatched);
    EXPECT_EQ(reply.row.attempt, 1u);
    EXPECT_EQ(reply.row.epoch, 1u);
    EXPECT_EQ(reply.row.created_at, b.clock.wall_now());
    EXPECT_THAT(b.audit_types(), ElementsAre("tool_call.attempted"));
}

TYPED_TEST(LedgerRules, AFinishedCallIsReplayedWithItsOutcome) {
    for (const bool succeeded : {true, false}) {
        TypeParam b;
        b.claim(1, "k");
        b.settle(1, succeeded ? AttemptEnd::succeeded : AttemptEnd::failed);
        const PeekReply peeked = b.peek("k");
        EXPECT_TRUE(peeked.found);
        EXPECT_EQ(peeked.verdict, ClaimVerdict::replay);
        const ClaimReply again = b.claim(2, "k");
        EXPECT_EQ(again.verdict, ClaimVerdict::replay);
        EXPECT_EQ(again.row.call_id, call_id(1));
        ASSERT_TRUE(again.row.outcome);
        EXPECT_EQ(again.row.outcome->succeeded, succeeded);
        EXPECT_THAT(b.audit_types(), ElementsAre("tool_call.attempted", "tool_call.succeeded"));
    }
}

TYPED_TEST(LedgerRules, TheSameKeyForAnotherRequestIsRefusedWhileRunningAndAfterwards) {
    TypeParam b;
    b.claim(1, "k");
    EXPECT_EQ(b.claim(2, "k", EffectClass::unsafe, "other").verdict, ClaimVerdict::key_reused);
    EXPECT_EQ(b.peek("k", "other").verdict, ClaimVerdict::key_reused);
    b.settle(1, AttemptEnd::succeeded);
    EXPECT_EQ(b.claim(3, "k", EffectClass::unsafe, "other").verdict, ClaimVerdict::key_reused);
    EXPECT_EQ(b.peek("k", "other").verdict, ClaimVerdict::key_reused);
}

TYPED_TEST(LedgerRules, ARunningCallIsInProgressForEverybodyElse) {
    TypeParam b;
    b.claim(1, "k");
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::in_progress);
    EXPECT_EQ(b.claim_as(b.other, 3, "k").verdict, ClaimVerdict::in_progress);
    EXPECT_EQ(b.peek("k").verdict, ClaimVerdict::in_progress);
    EXPECT_EQ(b.audit_types().size(), 1u);
}

TYPED_TEST(LedgerRules, TenantsPrincipalsAndToolsDoNotShareKeys) {
    TypeParam b;
    b.claim(1, "k");
    std::uint64_t call = 2;
    for (std::string KeyScope::* part : {&KeyScope::tenant, &KeyScope::principal, &KeyScope::tool}) {
        ClaimRequest asked = b.request(call++, "k");
        asked.row.key.*part = "another";
        EXPECT_EQ(b.claim(asked).verdict, ClaimVerdict::claimed);
    }
}

TYPED_TEST(LedgerRules, APeekAtAFreeKeyFindsNothingAndTakesNothing) {
    TypeParam b;
    EXPECT_FALSE(b.peek("k").found);
    EXPECT_EQ(b.peek("k").verdict, ClaimVerdict::claimed);
    EXPECT_EQ(b.claim(1, "k").verdict, ClaimVerdict::claimed);
}

TYPED_TEST(LedgerRules, AFailureProvenNotAppliedFreesTheKey) {
    TypeParam b;
    b.claim(1, "k");
    const SettleReply settled = b.settle(1, AttemptEnd::not_applied);
    EXPECT_TRUE(settled.settled.released);
    EXPECT_EQ(settled.state, CallState::not_applied);
    EXPECT_FALSE(b.peek("k").found);
    EXPECT_TRUE(b.is_free(1));
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::claimed);
}

TYPED_TEST(LedgerRules, ARetryInsideTheCallKeepsTheKeyAndCountsAttempts) {
    TypeParam b;
    b.claim(1, "k");
    EXPECT_EQ(b.settle(1, AttemptEnd::not_applied, false).state, CallState::claimed);
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::in_progress);
    const DispatchReply second = b.dispatch(1, 1, b.owner);
    EXPECT_FALSE(second.fenced);
    EXPECT_EQ(second.attempt, 2u);
    EXPECT_FALSE(b.settle(1, AttemptEnd::succeeded, true, 1, 1).settled.accepted);  // the first attempt's
    EXPECT_TRUE(b.settle(1, AttemptEnd::succeeded, true, 1, 2).settled.accepted);
}

TYPED_TEST(LedgerRules, AKeyIsNotFreedWhileAnEarlierAttemptMayHaveHadItsEffect) {
    TypeParam b;
    b.claim(1, "k", EffectClass::keyed);
    EXPECT_EQ(b.settle(1, AttemptEnd::ambiguous, false).state, CallState::claimed);
    b.dispatch(1, 1, b.owner);
    const SettleReply settled = b.settle(1, AttemptEnd::not_applied, true, 1, 2);
    EXPECT_TRUE(settled.settled.accepted);
    EXPECT_FALSE(settled.settled.released);
    EXPECT_EQ(settled.state, CallState::unknown);
}

TYPED_TEST(LedgerRules, ACallIsCalledOffOnlyBeforeItWasSent) {
    TypeParam b;
    b.claim_as(b.owner, 1, "k", EffectClass::unsafe, false);
    EXPECT_TRUE(b.settle(1, AttemptEnd::cancelled, true, 1, 0).settled.released);
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::claimed);
    EXPECT_FALSE(b.settle(2, AttemptEnd::cancelled).settled.accepted);
    EXPECT_EQ(b.ledger.find(call_id(2))->state, CallState::dispatched);
}

TYPED_TEST(LedgerRules, AFenceRefusesOtherEpochsOwnersDefinitionsAndUnknownCalls) {
    TypeParam b;
    b.claim_as(b.owner, 1, "k", EffectClass::unsafe, false);
    EXPECT_TRUE(b.dispatch(1, 2, b.owner).fenced);
    EXPECT_TRUE(b.dispatch(1, 1, b.other).fenced);
    EXPECT_TRUE(b.dispatch(99, 1, b.owner).fenced);
    DispatchRequest other_definition;
    other_definition.call_id = call_id(1);
    other_definition.owner = b.owner;
    DispatchReply reply;
    b.wait_for(b.ledger.dispatch(other_definition, reply, b.waiter));
    EXPECT_TRUE(reply.fenced);
    EXPECT_EQ(b.audit_types().size(), 1u);
    EXPECT_FALSE(b.dispatch(1, 1, b.owner).fenced);
    EXPECT_TRUE(b.dispatch(1, 1, b.owner).fenced);  // once
}

TYPED_TEST(LedgerRules, AnEndIsRecordedOnceAndWhatCameTooLateLeavesNoEvent) {
    TypeParam b;
    b.claim(1, "k");
    EXPECT_TRUE(b.settle(1, AttemptEnd::failed).settled.accepted);
    EXPECT_FALSE(b.settle(1, AttemptEnd::succeeded).settled.accepted);
    EXPECT_FALSE(b.settle(77, AttemptEnd::succeeded).settled.accepted);
    EXPECT_EQ(b.ledger.find(call_id(1))->state, CallState::failed);
    EXPECT_THAT(b.audit_types(), ElementsAre("tool_call.attempted", "tool_call.succeeded"));
}

// Calls without a key

TYPED_TEST(LedgerRules, CallsWithoutAKeyNeverMeet) {
    TypeParam b;
    EXPECT_EQ(b.claim(1, "").verdict, ClaimVerdict::claimed);
    EXPECT_EQ(b.claim(2, "").verdict, ClaimVerdict::claimed);
    EXPECT_TRUE(b.ledger.find(call_id(1)));
    b.settle(1, AttemptEnd::succeeded);
    b.settle(2, AttemptEnd::failed);
    EXPECT_TRUE(b.is_free(1));
    EXPECT_TRUE(b.is_free(2));
}

TYPED_TEST(LedgerRules, AnUnknownOutcomeIsKeptWithoutAKeyToo) {
    TypeParam b;
    b.claim(1, "");
    b.settle(1, AttemptEnd::ambiguous);
    ASSERT_EQ(must(b.ledger.list(CallState::unknown)).size(), 1u);
    EXPECT_TRUE(b.ledger.resolve(call_id(1), true, outcome(true), unseen(event("tool_call.resolved"))));
    EXPECT_EQ(b.ledger.find(call_id(1))->state, CallState::succeeded);
    b.clock.advance(24h);
    EXPECT_FALSE(b.ledger.find(call_id(1)));
}

TYPED_TEST(LedgerRules, ACallIdIsUsedOnce) {
    TypeParam b;
    b.claim(1, "");
    EXPECT_EQ(code_and_reason(*b.claim(1, "").error), "internal/call_id_taken");
    EXPECT_EQ(code_and_reason(*b.claim(1, "k").error), "internal/call_id_taken");
    EXPECT_EQ(b.audit_types().size(), 1u);
}

// Time and room

TYPED_TEST(LedgerRules, AnExpiredKeyIsRefusedUntilItsTombstoneGoes) {
    TypeParam b(24h, 240h);
    b.claim(1, "k");
    b.settle(1, AttemptEnd::succeeded);
    b.clock.advance(24h - 1ms);
    EXPECT_EQ(b.peek("k").verdict, ClaimVerdict::replay);
    b.clock.advance(1ms);
    EXPECT_TRUE(b.peek("k").found);
    EXPECT_EQ(b.peek("k").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::key_expired);
    EXPECT_FALSE(b.ledger.find(call_id(1)));
    b.clock.advance(240h - 1ms);
    EXPECT_EQ(b.claim(3, "k").verdict, ClaimVerdict::key_expired);
    b.clock.advance(1ms);
    EXPECT_EQ(b.claim(4, "k").verdict, ClaimVerdict::claimed);
}

TYPED_TEST(LedgerRules, SettingTheMachinesClockNeitherFreesAKeyNorSpendsOne) {
    TypeParam b;
    b.claim(1, "k");
    b.settle(1, AttemptEnd::succeeded);
    b.clock.set_wall(base::ManualClock::kStart + 24h * 1'000);
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::replay);
    b.clock.set_wall(base::ManualClock::kStart - 24h * 1'000);
    EXPECT_EQ(b.claim(3, "k").verdict, ClaimVerdict::replay);
}

// Audit

TYPED_TEST(LedgerRules, EventsAreFoundByTraceAndWithoutOneByTheirCall) {
    TypeParam b;
    Reply reply;
    AuditEvent traced = event("gate.denied", call_id(1));
    traced.trace_id = "trace";
    b.wait_for(b.ledger.record(traced, reply, b.waiter));
    AuditEvent untraced = event("tool_call.failed", call_id(2));
    b.wait_for(b.ledger.record(untraced, reply, b.waiter));
    ASSERT_EQ(must(b.ledger.audit("trace")).size(), 1u);
    EXPECT_EQ(must(b.ledger.audit("trace"))[0].type, "gate.denied");
    ASSERT_EQ(must(b.ledger.audit(base::Uuid{call_id(2)}.to_string())).size(), 1u);
    EXPECT_THAT(must(b.ledger.audit(base::Uuid{call_id(1)}.to_string())), IsEmpty());
    EXPECT_THAT(must(b.ledger.audit("nothing")), IsEmpty());
}

}  // namespace
}  // namespace callgate::ledger::testing
