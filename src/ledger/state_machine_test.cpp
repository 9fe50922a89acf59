#include "ledger/state_machine.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tool/words.h"

namespace callgate::ledger {
namespace {

constexpr base::WallTime kNow{std::chrono::sys_days{std::chrono::January / 2 / 2026}};
constexpr OwnerId kAlice = 1;
constexpr OwnerId kBob = 2;

using enum CallState;
constexpr CallState kStates[] = {claimed, dispatched, reconciling, succeeded,
                                 failed,  unknown,    cancelled,   not_applied};
constexpr AttemptEnd kEnds[] = {AttemptEnd::succeeded, AttemptEnd::failed, AttemptEnd::not_applied,
                                AttemptEnd::ambiguous, AttemptEnd::cancelled};

/// Alice's, epoch 3, with one dispatch behind it.
CallRow row_in(CallState state, EffectClass effect = EffectClass::unsafe) {
    CallRow row;
    row.fingerprint.fill(7);
    row.definition_hash.fill(9);
    row.effect = effect;
    row.state = state;
    row.epoch = 3;
    row.owner = kAlice;
    row.attempt = 1;
    return row;
}

base::Sha256Digest all(std::uint8_t byte) {
    base::Sha256Digest digest;
    digest.fill(byte);
    return digest;
}

std::string name_of(CallState state, EffectClass effect) {
    return std::string(to_string(state)) + ", effect " + std::to_string(static_cast<int>(effect));
}

/// A table has rows for every class: a new one needs its own.
void has_every_class(const std::vector<EffectClass>& rows, std::ptrdiff_t of_each) {
    for (const EffectClass effect : kEffectClasses)
        EXPECT_EQ(std::ranges::count(rows, effect), of_each) << "rows for " << to_string(effect);
}

Settled settle(CallRow& row, AttemptEnd end, bool last = true, std::uint32_t epoch = 3,
               std::uint32_t attempt = 1) {
    return ledger::settle(row, epoch, attempt, end, last, std::make_shared<StoredOutcome>(), kNow);
}

TEST(StateMachine, EveryStateHasItsNameAndSaysWhetherItIsAnEnd) {
    const std::vector<std::string_view> names = {"claimed", "dispatched", "reconciling", "succeeded",
                                                 "failed",  "unknown",    "cancelled",   "not_applied"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(to_string(kStates[i]), names[i]);
        EXPECT_EQ(is_end(kStates[i]), i > 2);
    }
}

// C1

TEST(Claim, AFreeKeyIsClaimed) {
    EXPECT_EQ(judge_claim(nullptr, all(7), false), ClaimVerdict::claimed);
}

TEST(Claim, TheSameKeyForAnotherRequestIsRefusedInEveryState) {
    for (const CallState state : kStates) {
        const CallRow row = row_in(state);
        EXPECT_EQ(judge_claim(&row, all(8), true), ClaimVerdict::key_reused) << to_string(state);
        EXPECT_EQ(judge_claim(&row, all(8), false), ClaimVerdict::key_reused) << to_string(state);
    }
}

TEST(Claim, AFinishedCallIsReplayedWhoeverRanIt) {
    for (const CallState state : {succeeded, failed, cancelled, not_applied}) {
        for (const EffectClass effect : kEffectClasses) {
            const CallRow row = row_in(state, effect);
            EXPECT_EQ(judge_claim(&row, all(7), true), ClaimVerdict::replay) << name_of(state, effect);
            EXPECT_EQ(judge_claim(&row, all(7), false), ClaimVerdict::replay) << name_of(state, effect);
        }
    }
}

TEST(Claim, ARunningCallIsWaitedForAndADeadOwnersIsTakenOver) {
    for (const CallState state : {claimed, dispatched, reconciling}) {
        for (const EffectClass effect : kEffectClasses) {
            const CallRow row = row_in(state, effect);
            EXPECT_EQ(judge_claim(&row, all(7), true), ClaimVerdict::in_progress) << name_of(state, effect);
            EXPECT_EQ(judge_claim(&row, all(7), false), ClaimVerdict::dead_owner) << name_of(state, effect);
        }
    }
}

TEST(Claim, AnUnknownOutcomeIsToldUnlessGoingOnCannotRepeatAnEffect) {
    struct Case {
        EffectClass effect;
        ClaimVerdict alive, dead;
    };
    std::vector<EffectClass> rows;
    for (const Case& c : {Case{EffectClass::read, ClaimVerdict::dead_owner, ClaimVerdict::dead_owner},
                          Case{EffectClass::keyed, ClaimVerdict::dead_owner, ClaimVerdict::dead_owner},
                          Case{EffectClass::verify, ClaimVerdict::unknown, ClaimVerdict::dead_owner},
                          Case{EffectClass::tx, ClaimVerdict::unknown, ClaimVerdict::unknown},
                          Case{EffectClass::unsafe, ClaimVerdict::unknown, ClaimVerdict::unknown}}) {
        const CallRow row = row_in(unknown, c.effect);
        EXPECT_EQ(judge_claim(&row, all(7), true), c.alive) << name_of(unknown, c.effect);
        EXPECT_EQ(judge_claim(&row, all(7), false), c.dead) << name_of(unknown, c.effect);
        rows.push_back(c.effect);
    }
    has_every_class(rows, 1);
}

// C2

TEST(TakeOver, WhatBecomesOfACallDependsOnItsStateAndEffectClass) {
    struct Case {
        CallState before;
        EffectClass effect;
        CallState after;
        bool maybe_applied;
        ClaimVerdict told;
    };
    const ClaimVerdict ours = ClaimVerdict::claimed;
    const ClaimVerdict lost = ClaimVerdict::unknown;
    std::vector<EffectClass> rows;
    for (const Case& c : {Case{claimed, EffectClass::read, claimed, false, ours},
                          Case{claimed, EffectClass::keyed, claimed, false, ours},
                          Case{claimed, EffectClass::verify, claimed, false, ours},
                          Case{claimed, EffectClass::tx, claimed, false, ours},
                          Case{claimed, EffectClass::unsafe, claimed, false, ours},
                          Case{dispatched, EffectClass::read, claimed, false, ours},
                          Case{dispatched, EffectClass::keyed, claimed, true, ours},
                          Case{dispatched, EffectClass::verify, reconciling, false, ours},
                          Case{dispatched, EffectClass::tx, unknown, false, lost},
                          Case{dispatched, EffectClass::unsafe, unknown, false, lost},
                          Case{reconciling, EffectClass::read, claimed, false, ours},
                          Case{reconciling, EffectClass::keyed, claimed, true, ours},
                          Case{reconciling, EffectClass::verify, reconciling, false, ours},
                          Case{reconciling, EffectClass::tx, unknown, false, lost},
                          Case{reconciling, EffectClass::unsafe, unknown, false, lost},
                          Case{unknown, EffectClass::read, claimed, false, ours},
                          Case{unknown, EffectClass::keyed, claimed, true, ours},
                          Case{unknown, EffectClass::verify, reconciling, false, ours}}) {
        CallRow row = row_in(c.before, c.effect);
        EXPECT_TRUE(take_over(row, kBob)) << name_of(c.before, c.effect);
        EXPECT_EQ(row.state, c.after) << name_of(c.before, c.effect);
        EXPECT_EQ(row.maybe_applied, c.maybe_applied) << name_of(c.before, c.effect);
        EXPECT_EQ(verdict_after_take_over(row), c.told) << name_of(c.before, c.effect);
        EXPECT_EQ(row.epoch, 4u);
        EXPECT_EQ(row.owner, kBob);
        EXPECT_EQ(row.attempt, 1u);
        if (c.before != unknown) rows.push_back(c.effect);
    }
    has_every_class(rows, 3);
}

TEST(TakeOver, WhatHasEndedCannotBeTakenOver) {
    for (const CallState state : {succeeded, failed, cancelled, not_applied}) {
        for (const EffectClass effect : kEffectClasses) {
            CallRow row = row_in(state, effect);
            EXPECT_FALSE(take_over(row, kBob)) << name_of(state, effect);
            EXPECT_EQ(row.state, state);
            EXPECT_EQ(row.epoch, 3u);
            EXPECT_EQ(row.owner, kAlice);
        }
    }
    for (const EffectClass effect : {EffectClass::tx, EffectClass::unsafe}) {
        CallRow row = row_in(unknown, effect);
        EXPECT_FALSE(take_over(row, kBob));
        EXPECT_EQ(row.state, unknown);
        EXPECT_EQ(row.epoch, 3u);
    }
}

TEST(GiveUp, WhatWasSentIsUnknownAndWhatWasNotLeavesNoTrace) {
    struct Case {
        CallState before;
        EffectClass effect;
        bool maybe_applied;
        CallState after;
        bool released;
    };
    for (const Case& c : {Case{claimed, EffectClass::unsafe, false, cancelled, true},
                          Case{claimed, EffectClass::keyed, true, unknown, false},
                          Case{dispatched, EffectClass::read, false, not_applied, true},
                          Case{dispatched, EffectClass::keyed, false, unknown, false},
                          Case{dispatched, EffectClass::unsafe, false, unknown, false},
                          Case{reconciling, EffectClass::verify, false, unknown, false}}) {
        CallRow row = row_in(c.before, c.effect);
        row.maybe_applied = c.maybe_applied;
        const Settled ended = give_up(row, kNow);
        EXPECT_TRUE(ended.accepted);
        EXPECT_EQ(ended.released, c.released) << name_of(c.before, c.effect);
        EXPECT_EQ(row.state, c.after) << name_of(c.before, c.effect);
        EXPECT_EQ(row.epoch, 4u);
        EXPECT_EQ(row.ended_at, kNow);
    }
    for (const CallState state : {succeeded, failed, unknown, cancelled, not_applied}) {
        CallRow row = row_in(state);
        EXPECT_FALSE(give_up(row, kNow).accepted);
        EXPECT_EQ(row.state, state);
    }
}

TEST(DecideClaim, AFreeKeyGetsANewRowDispatchedInTheSameStep) {
    for (const bool at_once : {true, false}) {
        CallRow claimant = row_in(unknown);  // whatever the request's row says of a life it has not had yet
        claimant.maybe_applied = true;
        claimant.outcome = std::make_shared<StoredOutcome>();
        const ClaimDecision decision = decide_claim({}, claimant, {.dispatch = at_once}, kNow);
        EXPECT_EQ(decision.verdict, ClaimVerdict::claimed);
        EXPECT_EQ(decision.store, ClaimDecision::Store::insert);
        EXPECT_EQ(decision.row.state, at_once ? dispatched : claimed);
        EXPECT_EQ(decision.row.attempt, at_once ? 1u : 0u);
        EXPECT_EQ(decision.row.epoch, 1u);
        EXPECT_EQ(decision.row.owner, kAlice);
        EXPECT_EQ(decision.row.created_at, kNow);
        EXPECT_FALSE(decision.row.maybe_applied);
        EXPECT_EQ(decision.row.outcome, nullptr);
    }
}

TEST(DecideClaim, ATombstoneRefusesTheKeyUnlessARowStandsThere) {
    EXPECT_EQ(decide_claim({.spent = true}, row_in(claimed), {}, kNow).verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(decide_claim({.spent = true}, row_in(claimed), {}, kNow).store, ClaimDecision::Store::nothing);
    EXPECT_EQ(foresee_claim({.spent = true}, all(7)), ClaimVerdict::key_expired);
    const CallRow row = row_in(succeeded);
    EXPECT_EQ(foresee_claim({.row = &row, .spent = true}, all(7)), ClaimVerdict::replay);
}

TEST(DecideClaim, ADeadOwnersCallIsTakenOverAndSentWhereThatMayBe) {
    for (const CallState state : kStates) {
        for (const EffectClass effect : kEffectClasses) {
            const CallRow row = row_in(state, effect);
            CallRow bobs = row_in(claimed, effect);
            bobs.owner = kBob;
            bobs.policy_rev = 5;
            const Standing standing{.row = &row, .owner_alive = false};
            const ClaimDecision decision = decide_claim(standing, bobs, {}, kNow);
            EXPECT_EQ(decision.verdict, foresee_claim(standing, all(7))) << name_of(state, effect);
            CallRow after = row;
            if (judge_claim(&row, all(7), false) != ClaimVerdict::dead_owner) {
                EXPECT_EQ(decision.store, ClaimDecision::Store::nothing) << name_of(state, effect);
                continue;
            }
            ASSERT_TRUE(take_over(after, kBob));
            const bool sent = after.state == claimed;
            EXPECT_EQ(decision.store, ClaimDecision::Store::update) << name_of(state, effect);
            EXPECT_EQ(decision.row.state, sent ? dispatched : after.state) << name_of(state, effect);
            EXPECT_EQ(decision.row.attempt, sent ? 2u : 1u);
            EXPECT_EQ(decision.row.epoch, 4u);
            EXPECT_EQ(decision.row.owner, kBob);
            const bool lost = after.state == unknown;
            EXPECT_EQ(decision.row.ended_at, lost ? kNow : base::WallTime{}) << name_of(state, effect);
            EXPECT_EQ(decision.row.policy_rev, lost ? 0u : 5u);
        }
    }
}

TEST(DecideClaim, WhatStandsInTheWayOfALivingOwnerStaysAsItIs) {
    for (const CallState state : {claimed, dispatched, reconciling}) {
        const CallRow row = row_in(state);
        const ClaimDecision decision =
            decide_claim({.row = &row, .owner_alive = true}, row_in(claimed), {}, kNow);
        EXPECT_EQ(decision.verdict, ClaimVerdict::in_progress);
        EXPECT_EQ(decision.store, ClaimDecision::Store::nothing);
    }
}

TEST(DecideClaim, WhatIsTakenOverIsTheClaimantsRequestFromThenOn) {
    CallRow bobs = row_in(claimed);
    bobs.fingerprint = all(8);
    bobs.definition_hash = all(10);
    const CallRow row = row_in(claimed);
    EXPECT_EQ(decide_claim({.row = &row}, bobs, {}, kNow).verdict, ClaimVerdict::key_reused);
    const ClaimTerms known{.recorded_as = row.fingerprint};
    EXPECT_EQ(decide_claim({.row = &row}, bobs, known, kNow).row.fingerprint, bobs.fingerprint);

    CallRow taken_by_another = row;
    taken_by_another.fingerprint = bobs.fingerprint;
    EXPECT_EQ(decide_claim({.row = &taken_by_another}, bobs, known, kNow).verdict, ClaimVerdict::claimed)
        << "somebody was first, between the look at the row and the claim";

    const CallRow sent = row_in(dispatched, EffectClass::unsafe);
    EXPECT_EQ(decide_claim({.row = &sent}, bobs, known, kNow).row.fingerprint, sent.fingerprint)
        << "of what ran, where nothing more will";
}

TEST(DecideClaim, WhatIsTakenOverIsSentUnderTheDefinitionOfWhoTookIt) {
    const CallRow row = row_in(claimed);
    CallRow bobs = row_in(claimed);
    bobs.definition_hash = all(10);
    CallRow taken = decide_claim({.row = &row}, bobs, {.dispatch = false}, kNow).row;
    EXPECT_EQ(taken.definition_hash, all(10));
    EXPECT_FALSE(ledger::dispatch(taken, taken.epoch, taken.owner, row.definition_hash));
    EXPECT_EQ(decide_claim({.row = &row}, bobs, {}, kNow).row.state, dispatched);
    const CallRow sent = row_in(dispatched, EffectClass::unsafe);
    EXPECT_EQ(decide_claim({.row = &sent}, bobs, {}, kNow).row.definition_hash, sent.definition_hash)
        << "of what ran, where nothing more will";
}

TEST(GiveUp, ACallEndsWithItsOwnerIfNobodyMayOrCanGoOn) {
    for (const CallState state : kStates) {
        for (const EffectClass effect : kEffectClasses) {
            CallRow row = row_in(state, effect);
            const bool once = effect == EffectClass::unsafe || effect == EffectClass::tx;
            EXPECT_EQ(ends_with_its_owner(row), !is_end(state)) << name_of(state, effect);  // no key
            row.key.key = "order-7";
            EXPECT_EQ(ends_with_its_owner(row), !is_end(state) && state != claimed && once)
                << name_of(state, effect);
        }
    }
}

// C3

TEST(Dispatch, OnlyAClaimedCallPasses) {
    for (const CallState state : kStates) {
        CallRow row = row_in(state);
        EXPECT_EQ(ledger::dispatch(row, 3, kAlice, all(9)), state == claimed) << to_string(state);
        EXPECT_EQ(row.state, state == claimed ? dispatched : state);
        EXPECT_EQ(row.attempt, state == claimed ? 2u : 1u);
    }
}

TEST(Dispatch, AnOlderOrNewerEpochAnotherOwnerOrAnotherDefinitionIsFenced) {
    CallRow row = row_in(claimed);
    EXPECT_FALSE(ledger::dispatch(row, 2, kAlice, all(9)));
    EXPECT_FALSE(ledger::dispatch(row, 4, kAlice, all(9)));
    EXPECT_FALSE(ledger::dispatch(row, 3, kBob, all(9)));
    EXPECT_FALSE(ledger::dispatch(row, 3, kAlice, all(10)));
    EXPECT_EQ(row.state, claimed);
    EXPECT_EQ(row.attempt, 1u);
}

// C4

TEST(Settle, AnAttemptsEndDecidesByEffectClassAndByWhetherTheCallerGoesOn) {
    struct Case {
        AttemptEnd end;
        bool last;
        EffectClass effect;
        CallState after;
        bool released;
        bool maybe_applied;
    };
    std::vector<Case> cases;
    for (const EffectClass effect : kEffectClasses) {
        for (const bool last : {true, false}) {
            cases.push_back({AttemptEnd::succeeded, last, effect, succeeded, false, false});
            cases.push_back({AttemptEnd::failed, last, effect, failed, false, false});
        }
        cases.push_back({AttemptEnd::not_applied, true, effect, not_applied, true, false});
        cases.push_back({AttemptEnd::not_applied, false, effect, claimed, false, false});
    }
    cases.push_back({AttemptEnd::ambiguous, true, EffectClass::read, not_applied, true, false});
    cases.push_back({AttemptEnd::ambiguous, true, EffectClass::keyed, unknown, false, false});
    cases.push_back({AttemptEnd::ambiguous, true, EffectClass::verify, unknown, false, false});
    cases.push_back({AttemptEnd::ambiguous, true, EffectClass::tx, unknown, false, false});
    cases.push_back({AttemptEnd::ambiguous, true, EffectClass::unsafe, unknown, false, false});
    cases.push_back({AttemptEnd::ambiguous, false, EffectClass::read, claimed, false, false});
    cases.push_back({AttemptEnd::ambiguous, false, EffectClass::keyed, claimed, false, true});
    cases.push_back({AttemptEnd::ambiguous, false, EffectClass::verify, reconciling, false, false});
    cases.push_back({AttemptEnd::ambiguous, false, EffectClass::tx, unknown, false, false});
    cases.push_back({AttemptEnd::ambiguous, false, EffectClass::unsafe, unknown, false, false});
    std::vector<EffectClass> rows;
    for (const Case& c : cases) {
        if (c.end == AttemptEnd::ambiguous) rows.push_back(c.effect);
        CallRow row = row_in(dispatched, c.effect);
        const Settled settled = settle(row, c.end, c.last);
        const std::string what = "end " + std::to_string(static_cast<int>(c.end)) + (c.last ? ", last" : "") +
                                 ", " + name_of(dispatched, c.effect);
        EXPECT_TRUE(settled.accepted) << what;
        EXPECT_FALSE(settled.late) << what;
        EXPECT_EQ(settled.released, c.released) << what;
        EXPECT_EQ(row.state, c.after) << what;
        EXPECT_EQ(row.maybe_applied, c.maybe_applied) << what;
        EXPECT_EQ(row.outcome != nullptr, is_end(c.after)) << what;
        EXPECT_EQ(row.ended_at, is_end(c.after) ? kNow : base::WallTime{}) << what;
        EXPECT_EQ(row.epoch, 3u) << what;
    }
    has_every_class(rows, 2);
}

TEST(Settle, WhatWasSentCannotBeCancelled) {
    for (const EffectClass effect : kEffectClasses) {
        CallRow row = row_in(dispatched, effect);
        EXPECT_FALSE(settle(row, AttemptEnd::cancelled).accepted);
        EXPECT_EQ(row.state, dispatched);
    }
}

TEST(Settle, BeforeAnythingWasSentItCanOnlyBeCalledOff) {
    for (const AttemptEnd end : kEnds) {
        CallRow row = row_in(claimed);
        const bool taken = end != AttemptEnd::succeeded && end != AttemptEnd::failed;
        EXPECT_EQ(settle(row, end).accepted, taken);
        EXPECT_EQ(row.state, !taken ? claimed : end == AttemptEnd::cancelled ? cancelled : not_applied);
        CallRow going_on = row_in(claimed);
        EXPECT_FALSE(settle(going_on, end, false).accepted);
        EXPECT_EQ(going_on.state, claimed);
    }
    CallRow row = row_in(claimed);
    EXPECT_TRUE(settle(row, AttemptEnd::cancelled).released);
}

TEST(Settle, AKeyStaysTakenWhileAnEarlierAttemptMayHaveHadItsEffect) {
    for (const CallState state : {claimed, dispatched}) {
        CallRow row = row_in(state, EffectClass::keyed);
        row.maybe_applied = true;
        const Settled settled = settle(row, AttemptEnd::not_applied);
        EXPECT_TRUE(settled.accepted);
        EXPECT_FALSE(settled.released);
        EXPECT_EQ(row.state, unknown);
    }
    CallRow called_off = row_in(claimed, EffectClass::keyed);
    called_off.maybe_applied = true;
    EXPECT_FALSE(settle(called_off, AttemptEnd::cancelled).released);
    EXPECT_EQ(called_off.state, unknown);
}

TEST(Settle, AnotherEpochOrAnotherAttemptSettlesNothing) {
    for (const CallState state : {claimed, dispatched}) {
        for (const AttemptEnd end : kEnds) {
            CallRow row = row_in(state);
            EXPECT_FALSE(settle(row, end, true, 2).accepted);
            EXPECT_FALSE(settle(row, end, true, 4).accepted);
            if (state == dispatched) {
                EXPECT_FALSE(settle(row, end, true, 3, 0).accepted);
                EXPECT_FALSE(settle(row, end, true, 3, 2).accepted);
            }
            EXPECT_EQ(row.state, state);
        }
    }
}

TEST(Settle, TheLateTruthAboutTheLastAttemptSettlesAnUnknownOutcome) {
    for (const CallState state : {unknown, reconciling}) {
        for (const std::uint32_t epoch : {2u, 3u}) {
            for (const AttemptEnd end : kEnds) {
                CallRow row = row_in(state, EffectClass::verify);
                const Settled settled = settle(row, end, false, epoch);
                const bool truth = end != AttemptEnd::ambiguous && end != AttemptEnd::cancelled;
                EXPECT_EQ(settled.accepted, truth);
                EXPECT_EQ(settled.late, truth);
                EXPECT_EQ(settled.released, end == AttemptEnd::not_applied);  // its key is free again
                EXPECT_EQ(row.state, end == AttemptEnd::succeeded     ? succeeded
                                     : end == AttemptEnd::failed      ? failed
                                     : end == AttemptEnd::not_applied ? not_applied
                                                                      : state);
            }
        }
    }
}

TEST(Settle, ALateAnswerOfAnotherAttemptOrAnOlderEpochIsNoTruth) {
    for (const CallState state : {unknown, reconciling}) {
        CallRow row = row_in(state, EffectClass::verify);
        EXPECT_FALSE(settle(row, AttemptEnd::succeeded, false, 1).accepted);
        EXPECT_FALSE(settle(row, AttemptEnd::succeeded, false, 4).accepted);
        EXPECT_FALSE(settle(row, AttemptEnd::succeeded, false, 3, 0).accepted);
        EXPECT_FALSE(settle(row, AttemptEnd::succeeded, false, 2, 2).accepted);
        EXPECT_EQ(row.state, state);
    }
}

TEST(Settle, ALateNoSaysNothingOfTheAttemptBeforeIt) {
    CallRow row = row_in(unknown, EffectClass::keyed);
    row.maybe_applied = true;
    EXPECT_FALSE(settle(row, AttemptEnd::not_applied, false).accepted);
    EXPECT_EQ(row.state, unknown);
    EXPECT_TRUE(settle(row, AttemptEnd::succeeded, false).late);
}

TEST(Settle, AnEndDoesNotChange) {
    for (const CallState state : {succeeded, failed, cancelled, not_applied}) {
        for (const AttemptEnd end : kEnds) {
            for (const bool last : {true, false}) {
                CallRow row = row_in(state);
                EXPECT_FALSE(settle(row, end, last).accepted);
                EXPECT_FALSE(settle(row, end, last, 2).accepted);
                EXPECT_EQ(row.state, state);
                EXPECT_EQ(row.outcome, nullptr);
            }
        }
    }
}

// C5

TEST(Conclude, TheProbesVerdictDecides) {
    using Verdict = Reconciliation::Verdict;
    struct Case {
        Verdict verdict;
        CallState after;
    };
    for (const Case& c : {Case{Verdict::applied, succeeded}, Case{Verdict::not_applied, claimed},
                          Case{Verdict::cannot_tell, unknown}}) {
        CallRow row = row_in(reconciling, EffectClass::verify);
        row.maybe_applied = true;
        EXPECT_TRUE(conclude(row, 3, c.verdict, std::make_shared<StoredOutcome>(), kNow));
        EXPECT_EQ(row.state, c.after);
        EXPECT_EQ(row.outcome != nullptr, is_end(c.after));
        EXPECT_EQ(row.maybe_applied, c.verdict != Verdict::not_applied);
    }
}

TEST(Conclude, OnlyWhileReconcilingAndOnlyInItsEpoch) {
    for (const CallState state : kStates) {
        CallRow row = row_in(state, EffectClass::verify);
        EXPECT_FALSE(conclude(row, 2, Reconciliation::Verdict::applied, nullptr, kNow));
        EXPECT_FALSE(conclude(row, 4, Reconciliation::Verdict::applied, nullptr, kNow));
        EXPECT_EQ(conclude(row, 3, Reconciliation::Verdict::applied, nullptr, kNow), state == reconciling);
        EXPECT_EQ(row.state, state == reconciling ? succeeded : state);
    }
}

TEST(Resolve, APersonSettlesOnlyWhatIsUnknown) {
    for (const CallState state : kStates) {
        for (const bool applied : {true, false}) {
            CallRow row = row_in(state);
            EXPECT_EQ(resolve(row, applied, std::make_shared<StoredOutcome>(), kNow), state == unknown);
            EXPECT_EQ(row.state, state != unknown ? state : applied ? succeeded : not_applied);
        }
    }
}

}  // namespace
}  // namespace callgate::ledger
