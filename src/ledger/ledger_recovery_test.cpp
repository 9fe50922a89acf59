#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"
#include "ledger/ledger_testing.h"

namespace callgate::ledger::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

template <class B>
class LedgerRecovery : public ::testing::Test {};
TYPED_TEST_SUITE(LedgerRecovery, Benches);

// Unknown outcomes

TYPED_TEST(LedgerRecovery, AnUnknownOutcomeIsToldAndNeverExpires) {
    TypeParam b;
    b.claim(1, "k");
    EXPECT_EQ(b.settle(1, AttemptEnd::ambiguous).state, CallState::unknown);
    b.clock.advance(24h * 365);
    EXPECT_EQ(b.peek("k").verdict, ClaimVerdict::unknown);
    const ClaimReply again = b.claim(2, "k");
    EXPECT_EQ(again.verdict, ClaimVerdict::unknown);
    EXPECT_EQ(again.row.call_id, call_id(1));
}

TYPED_TEST(LedgerRecovery, ALateAnswerSettlesAnUnknownOutcome) {
    TypeParam b;
    b.claim(1, "k");
    b.settle(1, AttemptEnd::ambiguous);
    const SettleReply late = b.settle(1, AttemptEnd::succeeded, false);
    EXPECT_TRUE(late.settled.accepted);
    EXPECT_TRUE(late.settled.late);
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::replay);
    EXPECT_FALSE(b.settle(1, AttemptEnd::failed, false).settled.accepted);
}

TYPED_TEST(LedgerRecovery, WhatALateAnswerSaidOfACallWithoutAKeyCanBeLookedAt) {
    TypeParam b;
    b.claim(1, "");
    b.settle(1, AttemptEnd::ambiguous);
    EXPECT_TRUE(b.settle(1, AttemptEnd::succeeded, false).settled.late);
    ASSERT_TRUE(b.ledger.find(call_id(1)));
    EXPECT_EQ(b.ledger.find(call_id(1))->state, CallState::succeeded);
}

TYPED_TEST(LedgerRecovery, ALateWordThatNothingHappenedFreesTheKeyAsATimelyOneDoes) {
    TypeParam b;
    b.claim(1, "k");
    EXPECT_EQ(b.settle(1, AttemptEnd::ambiguous).state, CallState::unknown);
    const SettleReply late = b.settle(1, AttemptEnd::not_applied, false);
    EXPECT_TRUE(late.settled.accepted);
    EXPECT_TRUE(late.settled.late);
    EXPECT_TRUE(late.settled.released);
    EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::claimed);
}

TYPED_TEST(LedgerRecovery, APersonResolvesAnUnknownOutcomeOnceWithAnEvent) {
    for (const bool applied : {true, false}) {
        TypeParam b;
        b.claim(1, "k");
        EXPECT_EQ(code_and_reason(b.ledger.resolve(call_id(1), applied, nullptr, unseen(event("x"))).error()),
                  "denied/not_unknown");
        EXPECT_EQ(code_and_reason(b.ledger.resolve(call_id(9), applied, nullptr, unseen(event("x"))).error()),
                  "denied/not_found");
        b.settle(1, AttemptEnd::ambiguous);
        const auto resolved =
            b.ledger.resolve(call_id(1), applied, outcome(applied), unseen(event("tool_call.resolved")));
        ASSERT_TRUE(resolved);
        EXPECT_EQ(resolved->state, applied ? CallState::succeeded : CallState::not_applied);
        EXPECT_FALSE(b.ledger.resolve(call_id(1), applied, nullptr, unseen(event("x"))));
        EXPECT_EQ(b.claim(2, "k").verdict, ClaimVerdict::replay);
        EXPECT_THAT(b.audit_types(),
                    ElementsAre("tool_call.attempted", "tool_call.succeeded", "tool_call.resolved"));
    }
}

TYPED_TEST(LedgerRecovery, AKeyedCallWithAnUnknownOutcomeMayBeSentAgainUnderItsOwnId) {
    TypeParam b;
    b.claim(1, "k", EffectClass::keyed);
    b.settle(1, AttemptEnd::ambiguous);
    const ClaimReply again = b.claim(2, "k", EffectClass::keyed);
    EXPECT_EQ(again.verdict, ClaimVerdict::claimed);
    EXPECT_EQ(again.row.call_id, call_id(1));
    EXPECT_EQ(again.row.epoch, 2u);
    EXPECT_EQ(again.row.attempt, 2u);
    EXPECT_TRUE(again.row.maybe_applied);
    EXPECT_FALSE(b.settle(1, AttemptEnd::succeeded, false, 1, 1).settled.accepted);  // of the first attempt
    EXPECT_TRUE(b.settle(1, AttemptEnd::succeeded, true, 2, 2).settled.accepted);
}

TYPED_TEST(LedgerRecovery, WhatBecomesOfADeadOwnersCallIsOnTheRecordUnderItsOwnId) {
    TypeParam b;
    b.claim(1, "keyed", EffectClass::keyed);
    b.claim(2, "unsafe");
    b.claim(3, "", EffectClass::read);
    b.ledger.owner_gone(b.owner);
    b.owner = must(register_owner(b.ledger));
    EXPECT_EQ(b.claim(4, "keyed", EffectClass::keyed).verdict, ClaimVerdict::claimed);
    EXPECT_EQ(b.claim(5, "unsafe").verdict, ClaimVerdict::unknown);
    b.ledger.owner_gone(b.owner);
    b.owner = must(register_owner(b.ledger));
    EXPECT_EQ(b.claim(6, "keyed", EffectClass::keyed).row.call_id, call_id(1));
    std::map<std::string, std::vector<std::string>> told;
    for (const AuditEvent& seen : must(b.ledger.audit("")))
        told[std::string(seen.type)].push_back(base::Uuid{seen.call_id}.to_string());
    const auto id = [](std::uint64_t call) { return base::Uuid{call_id(call)}.to_string(); };
    EXPECT_THAT(told["tool_call.attempted"], ElementsAre(id(1), id(2), id(3), id(4), id(6)));
    EXPECT_THAT(told["tool_call.unknown"], ElementsAre(id(2)));
    EXPECT_THAT(told["tool_call.gap"], ElementsAre(id(3), id(1), id(4)))
        << "freed, taken over, and taken over again";
}

TYPED_TEST(LedgerRecovery, AKeyedCallIsNotSentAgainWhenItsKeyMayBeForgotten) {
    TypeParam b;
    b.claim(1, "unknown", EffectClass::keyed);
    b.settle(1, AttemptEnd::ambiguous);
    b.claim(2, "left", EffectClass::keyed);
    b.claim_as(b.owner, 3, "unsent", EffectClass::keyed, false);
    b.ledger.owner_gone(b.owner);
    b.owner = must(register_owner(b.ledger));
    b.clock.advance(25h);
    EXPECT_EQ(b.peek("unknown").verdict, ClaimVerdict::unknown);
    EXPECT_EQ(b.claim(4, "unknown", EffectClass::keyed).verdict, ClaimVerdict::unknown);
    EXPECT_EQ(b.claim(5, "left", EffectClass::keyed).verdict, ClaimVerdict::unknown);
    EXPECT_EQ(b.claim(6, "unsent", EffectClass::keyed).verdict, ClaimVerdict::claimed)
        << "nobody has seen it yet";
}

TYPED_TEST(LedgerRecovery, AReadThatWasLostChangedNothingAndFreesItsKey) {
    TypeParam b;
    b.claim(1, "k", EffectClass::read);
    EXPECT_TRUE(b.settle(1, AttemptEnd::ambiguous).settled.released);
    EXPECT_EQ(b.claim(2, "k", EffectClass::read).row.call_id, call_id(2));
}

TYPED_TEST(LedgerRecovery, AProbeDecidesWhatALostCallOfItsToolBecame) {
    using Verdict = Reconciliation::Verdict;
    TypeParam b;
    b.claim(1, "k", EffectClass::verify);
    EXPECT_EQ(b.settle(1, AttemptEnd::ambiguous, false).state, CallState::reconciling);
    EXPECT_EQ(b.claim(2, "k", EffectClass::verify).verdict, ClaimVerdict::in_progress);
    EXPECT_FALSE(b.conclude(1, 2, Verdict::applied).accepted);
    EXPECT_EQ(b.conclude(1, 1, Verdict::not_applied).state, CallState::claimed);
    EXPECT_FALSE(b.dispatch(1, 1, b.owner).fenced);
    b.settle(1, AttemptEnd::ambiguous, false, 1, 2);
    EXPECT_EQ(b.conclude(1, 1, Verdict::applied).state, CallState::succeeded);
    EXPECT_FALSE(b.conclude(1, 1, Verdict::applied).accepted);
    EXPECT_EQ(b.claim(2, "k", EffectClass::verify).verdict, ClaimVerdict::replay);
}

// Owners that are gone

TYPED_TEST(LedgerRecovery, ADeadOwnersCallIsTakenOverBySafetyOfItsEffect) {
    struct Case {
        EffectClass effect;
        bool sent;
        ClaimVerdict verdict;
        CallState state;
    };
    using enum EffectClass;
    for (const Case& c : {Case{unsafe, false, ClaimVerdict::claimed, CallState::dispatched},
                          Case{tx, false, ClaimVerdict::claimed, CallState::dispatched},
                          Case{verify, false, ClaimVerdict::claimed, CallState::dispatched},
                          Case{read, true, ClaimVerdict::claimed, CallState::dispatched},
                          Case{keyed, true, ClaimVerdict::claimed, CallState::dispatched},
                          Case{verify, true, ClaimVerdict::claimed, CallState::reconciling},
                          Case{tx, true, ClaimVerdict::unknown, CallState::unknown},
                          Case{unsafe, true, ClaimVerdict::unknown, CallState::unknown}}) {
        TypeParam b;
        b.claim_as(b.owner, 1, "k", c.effect, c.sent);
        b.ledger.owner_gone(b.owner);
        EXPECT_EQ(b.peek("k").verdict, c.verdict);
        const ClaimReply taken = b.claim_as(b.other, 2, "k", c.effect);
        EXPECT_EQ(taken.verdict, c.verdict);
        EXPECT_EQ(taken.row.state, c.state);
        EXPECT_EQ(taken.row.epoch, 2u);
        EXPECT_EQ(taken.row.call_id, call_id(1));
        EXPECT_EQ(b.audit_types().size(), c.verdict == ClaimVerdict::claimed ? 2u : 1u);
    }
}

TYPED_TEST(LedgerRecovery, AZombieIsFencedAndOnlyItsTruthIsTaken) {
    TypeParam b;
    b.claim_as(b.owner, 1, "claimed", EffectClass::unsafe, false);
    b.claim_as(b.owner, 2, "sent");
    b.claim_as(b.owner, 3, "asked", EffectClass::verify);
    b.ledger.owner_gone(b.owner);
    b.claim_as(b.other, 11, "claimed", EffectClass::unsafe, false);
    b.claim_as(b.other, 12, "sent");
    b.claim_as(b.other, 13, "asked", EffectClass::verify);

    EXPECT_TRUE(b.dispatch(1, 1, b.owner).fenced);
    EXPECT_FALSE(b.settle(1, AttemptEnd::cancelled, true, 1, 0).settled.accepted);
    EXPECT_FALSE(b.dispatch(1, 2, b.other).fenced);
    EXPECT_TRUE(b.settle(2, AttemptEnd::succeeded, true, 1, 1).settled.late);
    EXPECT_TRUE(b.settle(3, AttemptEnd::failed, true, 1, 1).settled.late);
    EXPECT_FALSE(b.conclude(3, 2, Reconciliation::Verdict::not_applied).accepted);
}

TYPED_TEST(LedgerRecovery, WhatADeadOwnerSentAndMayNotBeSentAgainIsUnknownAtOnce) {
    TypeParam b;
    b.claim(1, "k");
    b.claim(2, "");
    b.claim(3, "", EffectClass::keyed);
    b.claim(4, "", EffectClass::read);
    b.claim_as(b.owner, 5, "", EffectClass::unsafe, false);
    b.claim_as(b.other, 6, "");
    b.ledger.owner_gone(b.owner);
    std::vector<CallId> unknown;
    for (const CallRow& row : must(b.ledger.list(CallState::unknown))) unknown.push_back(row.call_id);
    EXPECT_THAT(unknown, ElementsAre(call_id(1), call_id(2), call_id(3)));
    EXPECT_TRUE(b.is_free(4));
    EXPECT_TRUE(b.is_free(5));
    EXPECT_EQ(b.ledger.find(call_id(6))->state, CallState::dispatched);
}

TYPED_TEST(LedgerRecovery, WhoIsNotRegisteredOrIsGoneCannotClaim) {
    TypeParam b;
    EXPECT_EQ(code_and_reason(*b.claim_as(0, 1, "k").error), "ledger_unavailable/owner_not_alive");
    b.ledger.owner_gone(b.owner);
    EXPECT_EQ(code_and_reason(*b.claim_as(b.owner, 1, "k").error), "ledger_unavailable/owner_not_alive");
    EXPECT_FALSE(b.peek("k").found);
}

// In doubt

template <class B>
std::vector<CallId> in_doubt(B& b) {
    std::vector<CallId> ids;
    for (const CallRow& row : must(b.ledger.in_doubt())) ids.push_back(row.call_id);
    return ids;
}

TYPED_TEST(LedgerRecovery, VerifyCallsThatAGoneOwnerHadSentAreInDoubtAndNothingElseIs) {
    TypeParam b;
    b.claim(1, "sent", EffectClass::verify);
    b.claim(2, "", EffectClass::verify);
    b.claim(3, "given up", EffectClass::verify);
    b.settle(3, AttemptEnd::ambiguous);
    b.claim(4, "ended", EffectClass::verify);
    b.settle(4, AttemptEnd::succeeded);
    b.claim_as(b.owner, 5, "unsent", EffectClass::verify, false);
    b.claim(6, "keyed", EffectClass::keyed);
    b.claim(7, "unsafe");
    b.claim_as(b.other, 8, "alive", EffectClass::verify);
    EXPECT_THAT(in_doubt(b), ElementsAre()) << "their owner may still hear";
    b.ledger.owner_gone(b.owner);
    EXPECT_THAT(in_doubt(b), ElementsAre(call_id(1), call_id(2), call_id(3)));
}

TYPED_TEST(LedgerRecovery, ACallInDoubtIsAdoptedOnceWithItsEvent) {
    TypeParam b;
    b.claim(1, "k", EffectClass::verify);
    EXPECT_FALSE(b.adopt(1, b.other).row) << "its owner lives";
    b.ledger.owner_gone(b.owner);
    EXPECT_FALSE(b.adopt(9, b.other).row);
    const AdoptReply refused = b.adopt(1, b.owner);
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(code_and_reason(*refused.error), "ledger_unavailable/owner_not_alive");
    EXPECT_EQ(refused.first_event, 0u);

    const AdoptReply adopted = b.adopt(1, b.other);
    ASSERT_TRUE(adopted.row);
    EXPECT_EQ(adopted.row->state, CallState::reconciling);
    EXPECT_EQ(adopted.row->epoch, 2u);
    EXPECT_EQ(adopted.row->owner, b.other);
    EXPECT_EQ(adopted.first_event, must(b.ledger.audit({})).back().sequence);
    EXPECT_FALSE(b.adopt(1, b.other).row) << "it is somebody's";
    EXPECT_THAT(b.audit_types(), ElementsAre("tool_call.attempted", "tool_call.taken_over"));
    EXPECT_EQ(b.claim_as(b.other, 2, "k", EffectClass::verify).verdict, ClaimVerdict::in_progress);
}

TYPED_TEST(LedgerRecovery, WhatBecameOfACallInDoubtWithoutAKeyCanBeLookedAt) {
    TypeParam b;
    b.claim(1, "", EffectClass::verify);
    b.ledger.owner_gone(b.owner);
    const AdoptReply adopted = b.adopt(1, b.other);
    ASSERT_TRUE(adopted.row);
    EXPECT_TRUE(b.conclude(1, adopted.row->epoch, Reconciliation::Verdict::applied).accepted);
    ASSERT_TRUE(b.ledger.find(call_id(1)));
    EXPECT_EQ(b.ledger.find(call_id(1))->state, CallState::succeeded);
}

// Waiting

TYPED_TEST(LedgerRecovery, WaitersAreWokenOnceWhenTheCallEndsOrItsKeyBecomesFree) {
    for (const AttemptEnd end :
         {AttemptEnd::succeeded, AttemptEnd::failed, AttemptEnd::ambiguous, AttemptEnd::not_applied}) {
        TypeParam b;
        const auto waiter = std::make_shared<CountingWaiter>();
        EXPECT_FALSE(b.waits_for_end("k", waiter));
        b.claim(1, "k");
        EXPECT_TRUE(b.waits_for_end("k", waiter));
        EXPECT_EQ(waiter->woken, 0);
        b.settle(1, end);
        EXPECT_EQ(waiter->woken, 1);
        EXPECT_FALSE(b.waits_for_end("k", waiter));
        EXPECT_EQ(waiter.use_count(), 1);
    }
}

TYPED_TEST(LedgerRecovery, WaitersSleepThroughARetryAndAreWokenWhenTheOwnerIsGone) {
    TypeParam b;
    const auto waiter = std::make_shared<CountingWaiter>();
    b.claim(1, "k");
    (void)b.waits_for_end("k", waiter);
    b.settle(1, AttemptEnd::not_applied, false);
    b.dispatch(1, 1, b.owner);
    EXPECT_EQ(waiter->woken, 0);
    b.ledger.owner_gone(b.owner);
    EXPECT_EQ(waiter->woken, 1);
    EXPECT_FALSE(b.waits_for_end("k", waiter));
}

TYPED_TEST(LedgerRecovery, WhoWaitsForADeadOwnersCallIsWokenToTakeItOver) {
    for (const EffectClass effect : {EffectClass::read, EffectClass::keyed, EffectClass::verify}) {
        TypeParam b;
        const auto waiter = std::make_shared<CountingWaiter>();
        b.claim(1, "k", effect);
        (void)b.waits_for_end("k", waiter);
        b.ledger.owner_gone(b.owner);
        EXPECT_EQ(waiter->woken, 1);
        EXPECT_EQ(b.claim_as(b.other, 2, "k", effect).verdict, ClaimVerdict::claimed);
    }
}

TYPED_TEST(LedgerRecovery, WhoStopsWaitingIsLetGo) {
    TypeParam b;
    const auto waiter = std::make_shared<CountingWaiter>();
    const auto patient = std::make_shared<CountingWaiter>();
    b.claim(1, "k");
    (void)b.waits_for_end("k", waiter);
    (void)b.waits_for_end("k", patient);
    b.ledger.stop_waiting(key_of("k"), *waiter);
    b.ledger.stop_waiting(key_of("elsewhere"), *waiter);
    EXPECT_EQ(waiter.use_count(), 1);
    b.settle(1, AttemptEnd::succeeded);
    EXPECT_EQ(waiter->woken, 0);
    EXPECT_EQ(patient->woken, 1);
}

}  // namespace
}  // namespace callgate::ledger::testing
