#include "ledger/memory_ledger.h"

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

std::string reason_of(const Error& error) {
    return std::string(to_string(error.code)) + "/" + std::string(error.details.at("reason").as_string());
}

// Keys

TEST(MemoryLedger, ANewKeyIsClaimedAndDispatchedInOneStep) {
    Bench b;
    const ClaimReply reply = b.claim(1, "k");
    EXPECT_FALSE(reply.error);
    EXPECT_EQ(reply.verdict, ClaimVerdict::claimed);
    EXPECT_EQ(reply.row.state, CallState::dispatched);
    EXPECT_EQ(reply.row.attempt, 1u);
    EXPECT_EQ(reply.row.epoch, 1u);
    EXPECT_EQ(reply.row.created_at, b.clock.wall_now());
    EXPECT_THAT(b.audit_types(), ElementsAre("tool_call.attempted"));
}

TEST(MemoryLedger, AFinishedCallIsReplayedWithItsOutcome) {
    for (const bool succeeded : {true, false}) {
        Bench b;
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
        EXPECT_THAT(b.audit_types(), ElementsAre("tool_call.attempted", "tool_call.ended"));
    }
}

TEST(MemoryLedger, TheSameKeyForAnotherRequestIsRefusedWhileRunningAndAfterwards) {
    Bench b;
    b.claim(1, "k");
    EXPECT_EQ(b.claim(2, "k", EffectClass::unsafe, "other").verdict, ClaimVerdict::key_reused);
    EXPECT_EQ(b.peek("k", "other").verdict, ClaimVerdict::key_reused);
    b.settle(1, AttemptEnd::succeeded);
    EXPECT_EQ(b.claim(3, "k", EffectClass::unsafe, "other").verdict, ClaimVerdict::key_reused);
    EXPECT_EQ(b.peek("k", "other").verdict, ClaimVerdict::key_reused);
}

TEST(MemoryLedger, ARunningCallIsInProgressForEverybodyElse) {
    Bench b;
    b.claim(1, "k");
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::in_progress);
    EXPECT_EQ(b.claim_as(b.other, 3, "k").verdict, ClaimVerdict::in_progress);
    EXPECT_EQ(b.peek("k").verdict, ClaimVerdict::in_progress);
    EXPECT_EQ(b.ledger.audit_count(), 1u);
}

TEST(MemoryLedger, TenantsPrincipalsAndToolsDoNotShareKeys) {
    Bench b;
    b.claim(1, "k");
    std::uint64_t call = 2;
    for (std::string KeyScope::* part : {&KeyScope::tenant, &KeyScope::principal, &KeyScope::tool}) {
        ClaimRequest asked = b.request(call++, "k");
        asked.row.key.*part = "another";
        EXPECT_EQ(b.claim(asked).verdict, ClaimVerdict::claimed);
    }
}

TEST(MemoryLedger, APeekAtAFreeKeyFindsNothingAndTakesNothing) {
    Bench b;
    EXPECT_FALSE(b.peek("k").found);
    EXPECT_EQ(b.peek("k").verdict, ClaimVerdict::claimed);
    EXPECT_EQ(b.claim(1, "k").verdict, ClaimVerdict::claimed);
}

TEST(MemoryLedger, AFailureProvenNotAppliedFreesTheKey) {
    Bench b;
    b.claim(1, "k");
    const SettleReply settled = b.settle(1, AttemptEnd::not_applied);
    EXPECT_TRUE(settled.settled.released);
    EXPECT_EQ(settled.state, CallState::not_applied);
    EXPECT_FALSE(b.peek("k").found);
    EXPECT_FALSE(b.ledger.find(call_id(1)));
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::claimed);
}

TEST(MemoryLedger, ARetryInsideTheCallKeepsTheKeyAndCountsAttempts) {
    Bench b;
    b.claim(1, "k");
    EXPECT_EQ(b.settle(1, AttemptEnd::not_applied, false).state, CallState::claimed);
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::in_progress);
    const DispatchReply second = b.dispatch(1, 1, b.owner);
    EXPECT_FALSE(second.fenced);
    EXPECT_EQ(second.attempt, 2u);
    EXPECT_FALSE(b.settle(1, AttemptEnd::succeeded, true, 1, 1).settled.accepted);  // the first attempt's
    EXPECT_TRUE(b.settle(1, AttemptEnd::succeeded, true, 1, 2).settled.accepted);
}

TEST(MemoryLedger, AKeyIsNotFreedWhileAnEarlierAttemptMayHaveHadItsEffect) {
    Bench b;
    b.claim(1, "k", EffectClass::keyed);
    EXPECT_EQ(b.settle(1, AttemptEnd::ambiguous, false).state, CallState::claimed);
    b.dispatch(1, 1, b.owner);
    const SettleReply settled = b.settle(1, AttemptEnd::not_applied, true, 1, 2);
    EXPECT_TRUE(settled.settled.accepted);
    EXPECT_FALSE(settled.settled.released);
    EXPECT_EQ(settled.state, CallState::unknown);
}

TEST(MemoryLedger, ACallIsCalledOffOnlyBeforeItWasSent) {
    Bench b;
    b.claim_as(b.owner, 1, "k", EffectClass::unsafe, false);
    EXPECT_TRUE(b.settle(1, AttemptEnd::cancelled, true, 1, 0).settled.released);
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::claimed);
    EXPECT_FALSE(b.settle(2, AttemptEnd::cancelled).settled.accepted);
    EXPECT_EQ(b.ledger.find(call_id(2))->state, CallState::dispatched);
}

TEST(MemoryLedger, AFenceRefusesOtherEpochsOwnersDefinitionsAndUnknownCalls) {
    Bench b;
    b.claim_as(b.owner, 1, "k", EffectClass::unsafe, false);
    EXPECT_TRUE(b.dispatch(1, 2, b.owner).fenced);
    EXPECT_TRUE(b.dispatch(1, 1, b.other).fenced);
    EXPECT_TRUE(b.dispatch(99, 1, b.owner).fenced);
    DispatchRequest other_definition;
    other_definition.call_id = call_id(1);
    other_definition.owner = b.owner;
    DispatchReply reply;
    b.ledger.dispatch(other_definition, reply, b.waiter);
    EXPECT_TRUE(reply.fenced);
    EXPECT_EQ(b.ledger.audit_count(), 1u);
    EXPECT_FALSE(b.dispatch(1, 1, b.owner).fenced);
    EXPECT_TRUE(b.dispatch(1, 1, b.owner).fenced);  // once
}

TEST(MemoryLedger, AnEndIsRecordedOnceAndWhatCameTooLateLeavesNoEvent) {
    Bench b;
    b.claim(1, "k");
    EXPECT_TRUE(b.settle(1, AttemptEnd::failed).settled.accepted);
    EXPECT_FALSE(b.settle(1, AttemptEnd::succeeded).settled.accepted);
    EXPECT_FALSE(b.settle(77, AttemptEnd::succeeded).settled.accepted);
    EXPECT_EQ(b.ledger.find(call_id(1))->state, CallState::failed);
    EXPECT_THAT(b.audit_types(), ElementsAre("tool_call.attempted", "tool_call.ended"));
}

// Calls without a key

TEST(MemoryLedger, CallsWithoutAKeyNeverMeetAndLeaveNothingBehind) {
    Bench b;
    EXPECT_EQ(b.claim(1, "").verdict, ClaimVerdict::claimed);
    EXPECT_EQ(b.claim(2, "").verdict, ClaimVerdict::claimed);
    EXPECT_TRUE(b.ledger.find(call_id(1)));
    b.settle(1, AttemptEnd::succeeded);
    b.settle(2, AttemptEnd::failed);
    EXPECT_THAT(b.ledger.list({}), IsEmpty());
}

TEST(MemoryLedger, AnUnknownOutcomeIsKeptWithoutAKeyToo) {
    Bench b;
    b.claim(1, "");
    b.settle(1, AttemptEnd::ambiguous);
    ASSERT_EQ(b.ledger.list(CallState::unknown).size(), 1u);
    EXPECT_TRUE(b.ledger.resolve(call_id(1), true, outcome(true), unseen(event("tool_call.resolved"))));
    EXPECT_EQ(b.ledger.find(call_id(1))->state, CallState::succeeded);
    b.clock.advance(24h);
    EXPECT_FALSE(b.ledger.find(call_id(1)));
}

TEST(MemoryLedger, ACallIdIsUsedOnce) {
    Bench b;
    b.claim(1, "");
    EXPECT_EQ(reason_of(*b.claim(1, "").error), "internal/call_id_taken");
    EXPECT_EQ(reason_of(*b.claim(1, "k").error), "internal/call_id_taken");
    EXPECT_EQ(b.ledger.audit_count(), 1u);
}

// Time and room

TEST(MemoryLedger, AnExpiredKeyIsRefusedUntilItsTombstoneGoes) {
    MemoryLedger::Options options;
    options.key_ttl = 24h;
    options.tombstone_ttl = 240h;
    Bench b(options);
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

TEST(MemoryLedger, SettingTheMachinesClockNeitherFreesAKeyNorSpendsOne) {
    Bench b;
    b.claim(1, "k");
    b.settle(1, AttemptEnd::succeeded);
    b.clock.set_wall(base::ManualClock::kStart + 24h * 1'000);
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::replay);
    b.clock.set_wall(base::ManualClock::kStart - 24h * 1'000);
    EXPECT_EQ(b.claim(3, "k").verdict, ClaimVerdict::replay);
}

TEST(MemoryLedger, PastItsRoomTheOldestFinishedCallBecomesATombstone) {
    MemoryLedger::Options options;
    options.max_rows = 3;
    Bench b(options);
    for (std::uint64_t i = 1; i <= 3; ++i) {
        b.claim(i, "k" + std::to_string(i));
        b.settle(i, AttemptEnd::succeeded);
    }
    EXPECT_EQ(b.claim(4, "k4").verdict, ClaimVerdict::claimed);
    EXPECT_EQ(b.ledger.list({}).size(), 3u);
    EXPECT_EQ(b.claim(5, "k1").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(b.claim(5, "k2").verdict, ClaimVerdict::replay);
}

TEST(MemoryLedger, AKeyThatHadToGoEarlyIsRefusedAsLongAsAnyOther) {
    MemoryLedger::Options options;
    options.key_ttl = 24h;
    options.tombstone_ttl = 1h;
    options.max_rows = 1;
    Bench b(options);
    b.claim(1, "k");
    b.settle(1, AttemptEnd::succeeded);
    b.claim(2, "");
    b.settle(2, AttemptEnd::succeeded);
    b.clock.advance(25h - 1ms);
    EXPECT_EQ(b.claim(3, "k").verdict, ClaimVerdict::key_expired);
    b.clock.advance(1ms);
    EXPECT_EQ(b.claim(3, "k").verdict, ClaimVerdict::claimed);
}

TEST(MemoryLedger, WhenAllIsRunningOrUnknownClaimsAreRefusedAndNothingIsForgotten) {
    MemoryLedger::Options options;
    options.max_rows = 2;
    Bench b(options);
    b.claim(1, "running");
    b.claim(2, "");
    b.settle(2, AttemptEnd::ambiguous);
    const ClaimReply refused = b.claim(3, "k");
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(reason_of(*refused.error), "ledger_unavailable/ledger_full");
    EXPECT_EQ(
        refused.error->message,
        "The ledger holds 2 calls that are running or unknown, and there is no room for another. Resolve the "
        "unknown ones, or try again later.");
    EXPECT_EQ(b.claim(3, "running").verdict, ClaimVerdict::in_progress);
    b.settle(1, AttemptEnd::succeeded);
    EXPECT_EQ(b.claim(3, "k").verdict, ClaimVerdict::claimed);
}

TEST(MemoryLedger, TombstonesAreBoundedAndTheOldestGoesFirst) {
    MemoryLedger::Options options;
    options.max_rows = 1;
    options.max_tombstones = 2;
    Bench b(options);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        b.claim(i, "k" + std::to_string(i));
        b.settle(i, AttemptEnd::succeeded);
    }
    EXPECT_EQ(b.peek("k4").verdict, ClaimVerdict::replay);
    EXPECT_EQ(b.peek("k3").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(b.peek("k2").verdict, ClaimVerdict::key_expired);
    EXPECT_FALSE(b.peek("k1").found);
}

// Audit

TEST(MemoryLedger, EventsAreNumberedWithoutGapsAndTimedByTheLedger) {
    Bench b;
    Reply reply;
    for (int i = 0; i < 3; ++i) {
        b.clock.advance(1s);
        AuditEvent denied = event("tool_call.denied", call_id(7));
        b.ledger.record(denied, reply, b.waiter);
    }
    const auto events = b.ledger.audit({});
    ASSERT_EQ(events.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(events[i].sequence, i + 1);
        EXPECT_EQ(events[i].at, base::ManualClock::kStart + (static_cast<int>(i) + 1) * 1s);
    }
}

TEST(MemoryLedger, TheLastEventsAreKeptAndAllAreCounted) {
    for (const std::size_t kept : {1u, 63u, 64u, 65u, 100u}) {
        MemoryLedger::Options options;
        options.audit_kept = kept;
        Bench b(options);
        Reply reply;
        for (int i = 0; i < 250; ++i) {
            AuditEvent one = event("e");
            b.ledger.record(one, reply, b.waiter);
        }
        const auto events = b.ledger.audit({});
        EXPECT_EQ(b.ledger.audit_count(), 250u);
        ASSERT_EQ(events.size(), kept);
        EXPECT_EQ(events.front().sequence, 250u - kept + 1);
        EXPECT_EQ(events.back().sequence, 250u);
    }
}

TEST(MemoryLedger, EventsAreFoundByTraceAndWithoutOneByTheirCall) {
    Bench b;
    Reply reply;
    AuditEvent traced = event("a", call_id(1));
    traced.trace_id = "trace";
    b.ledger.record(traced, reply, b.waiter);
    AuditEvent untraced = event("b", call_id(2));
    b.ledger.record(untraced, reply, b.waiter);
    ASSERT_EQ(b.ledger.audit("trace").size(), 1u);
    EXPECT_EQ(b.ledger.audit("trace")[0].type, "a");
    ASSERT_EQ(b.ledger.audit(base::Uuid{call_id(2)}.to_string()).size(), 1u);
    EXPECT_THAT(b.ledger.audit(base::Uuid{call_id(1)}.to_string()), IsEmpty());
    EXPECT_THAT(b.ledger.audit("nothing"), IsEmpty());
}

}  // namespace
}  // namespace callgate::ledger::testing
