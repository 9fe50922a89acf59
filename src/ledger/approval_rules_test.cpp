#include "ledger/approval_rules.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/guard.h"
#include "ledger/ledger_testing.h"

namespace callgate::ledger {
namespace {

using namespace std::chrono_literals;
using testing::code_and_reason;

constexpr ApprovalTime kAsked{std::chrono::sys_days{std::chrono::January / 2 / 2026}};
constexpr ApprovalTime kSoon = kAsked + 1min;
constexpr ApprovalTime kExpiry = kAsked + 15min;

Approval asked(std::uint32_t needed = 1, Assurance assurance = Assurance::a1, Risk risk = Risk::medium) {
    Approval approval;
    approval.id = "ap-1";
    approval.call_id = "call-1";
    approval.tenant = "acme";
    approval.requester = "agent";
    approval.digest = "d1";
    approval.risk = risk;
    approval.approvals_needed = needed;
    approval.assurance_needed = assurance;
    approval.created_at = kAsked;
    approval.expires_at = kExpiry;
    return approval;
}

Vote by(std::string who, bool approve = true, Assurance assurance = Assurance::a2) {
    Vote vote;
    vote.approver = std::move(who);
    vote.approve = approve;
    vote.assurance = assurance;
    return vote;
}

Approval in_state(ApprovalState state) {
    Approval approval = asked();
    approval.state = state;
    return approval;
}

Approval approved() {
    Approval approval = asked();
    EXPECT_TRUE(vote(approval, by("bob"), kSoon));
    return approval;
}

TEST(ApprovalRules, AStateThatTheVotesDoNotBearOutIsWorthNothing) {
    const ConsumeRequest use("acme", "agent", "d1", "call-2");
    Approval flag = in_state(ApprovalState::approved);
    EXPECT_EQ(consume(flag, use, kSoon), ApprovalVerdict::tampered);
    EXPECT_EQ(flag.state, ApprovalState::approved);
    Approval own = in_state(ApprovalState::approved);
    own.votes = {by("Agent")};
    EXPECT_EQ(consume(own, use, kSoon), ApprovalVerdict::tampered);
    Approval twice = asked(2);
    twice.state = ApprovalState::approved;
    twice.votes = {by("bob"), by("user:Bob")};
    EXPECT_EQ(consume(twice, use, kSoon), ApprovalVerdict::tampered);
    Approval weak = asked(1, Assurance::a3);
    weak.state = ApprovalState::approved;
    weak.votes = {by("bob")};
    EXPECT_EQ(consume(weak, use, kSoon), ApprovalVerdict::tampered);
    Approval refused = approved();
    refused.votes.push_back(by("carol", false));
    EXPECT_EQ(consume(refused, use, kSoon), ApprovalVerdict::tampered);
}

const ConsumeRequest kUse("acme", "agent", "d1", "call-2");

TEST(ApprovalRules, OneVoteApprovesAndIsOnTheRecord) {
    Approval approval = asked();
    const auto counted = vote(approval, by("bob"), kSoon);
    ASSERT_TRUE(counted);
    EXPECT_TRUE(*counted);
    EXPECT_EQ(approval.state, ApprovalState::approved);
    ASSERT_EQ(approval.votes.size(), 1u);
    EXPECT_EQ(approval.votes[0].approver, "bob");
    EXPECT_EQ(approval.votes[0].at, kSoon);
}

TEST(ApprovalRules, AnApprovedOneIsUsedOnceByTheCallThatNamesIt) {
    Approval approval = approved();
    EXPECT_EQ(consume(approval, kUse, kSoon), ApprovalVerdict::ok);
    EXPECT_EQ(approval.state, ApprovalState::consumed);
    EXPECT_EQ(approval.consumed_by, "call-2");
    EXPECT_EQ(consume(approval, kUse, kSoon), ApprovalVerdict::consumed);
}

TEST(ApprovalRules, SeveralDistinctApproversAreNeededWhereSeveralAreAskedFor) {
    Approval approval = asked(3);
    for (const char* who : {"bob", "carol", "dave"}) {
        EXPECT_EQ(approval.state, ApprovalState::pending);
        EXPECT_TRUE(vote(approval, by(who), kSoon).value());
    }
    EXPECT_EQ(approval.state, ApprovalState::approved);
}

TEST(ApprovalRules, ASecondYesOfTheSamePersonChangesNothing) {
    for (const char* again : {"bob", "BOB", " bob ", "Bob\t", "\nbOb"}) {
        Approval approval = asked(2);
        ASSERT_TRUE(vote(approval, by("bob"), kSoon).value());
        const auto counted = vote(approval, by(again), kSoon);
        ASSERT_TRUE(counted) << again;
        EXPECT_FALSE(*counted) << again;
        EXPECT_EQ(approval.votes.size(), 1u) << again;
        EXPECT_EQ(approval.state, ApprovalState::pending) << again;
    }
}

TEST(ApprovalRules, OneNoIsFinalHoweverManySaidYes) {
    Approval approval = asked(3);
    ASSERT_TRUE(vote(approval, by("bob"), kSoon).value());
    ASSERT_TRUE(vote(approval, by("carol"), kSoon).value());
    ASSERT_TRUE(vote(approval, by("dave", false, Assurance::a1), kSoon).value());
    EXPECT_EQ(approval.state, ApprovalState::denied);
    EXPECT_EQ(code_and_reason(vote(approval, by("erin"), kSoon).error()), "approval_denied/already_decided");
    EXPECT_EQ(consume(approval, kUse, kSoon), ApprovalVerdict::denied);
}

TEST(ApprovalRules, AnApproverMayTurnAYesIntoANoWhileOthersAreAsked) {
    Approval approval = asked(2);
    ASSERT_TRUE(vote(approval, by("bob"), kSoon).value());
    ASSERT_TRUE(vote(approval, by("Bob", false), kSoon).value());
    EXPECT_EQ(approval.state, ApprovalState::denied);
}

TEST(ApprovalRules, CriticalCallsNeedASignatureOrTwoPersons) {
    Approval alone = asked(1, Assurance::a3, Risk::critical);
    ASSERT_TRUE(vote(alone, by("bob", true, Assurance::a3), kSoon).value());
    EXPECT_EQ(alone.state, ApprovalState::approved);

    Approval together = asked(1, Assurance::a3, Risk::critical);
    ASSERT_TRUE(vote(together, by("bob"), kSoon).value());
    EXPECT_EQ(together.state, ApprovalState::pending);
    EXPECT_FALSE(vote(together, by("BOB"), kSoon).value());
    EXPECT_EQ(together.state, ApprovalState::pending);
    ASSERT_TRUE(vote(together, by("carol"), kSoon).value());
    EXPECT_EQ(together.state, ApprovalState::approved);

    Approval three = asked(3, Assurance::a3, Risk::critical);
    ASSERT_TRUE(vote(three, by("bob"), kSoon).value());
    ASSERT_TRUE(vote(three, by("carol", true, Assurance::a3), kSoon).value());
    EXPECT_EQ(three.state, ApprovalState::pending);
    ASSERT_TRUE(vote(three, by("dave"), kSoon).value());
    EXPECT_EQ(three.state, ApprovalState::approved);
}

TEST(ApprovalRules, ASignatureForAnythingElseIsNotReplacedByTwoPersons) {
    Approval approval = asked(1, Assurance::a3, Risk::high);
    EXPECT_EQ(code_and_reason(vote(approval, by("bob"), kSoon).error()), "denied/assurance_too_low");
    EXPECT_EQ(code_and_reason(vote(approval, by("carol"), kSoon).error()), "denied/assurance_too_low");
    EXPECT_EQ(approval.state, ApprovalState::pending);
}

TEST(ApprovalRules, ARefusedVoteDoesNotStandInTheWayOfAValidOne) {
    Approval approval = asked(1, Assurance::a2);
    EXPECT_FALSE(vote(approval, by("bob", true, Assurance::a1), kSoon));
    EXPECT_TRUE(vote(approval, by("bob", true, Assurance::a2), kSoon).value());
    EXPECT_EQ(approval.state, ApprovalState::approved);
}

TEST(ApprovalRules, WhatIsOpenCanBeRevokedAndNothingComesOfItAnyMore) {
    for (Approval approval : {asked(), approved()}) {
        ASSERT_TRUE(revoke(approval, kSoon));
        EXPECT_EQ(approval.state, ApprovalState::revoked);
        EXPECT_EQ(code_and_reason(vote(approval, by("carol"), kSoon).error()), "denied/already_decided");
        EXPECT_EQ(consume(approval, kUse, kSoon), ApprovalVerdict::revoked);
    }
}

TEST(ApprovalRules, TimeEndsWhatIsOpenAndNothingElse) {
    struct Case {
        ApprovalState before, after;
    };
    using enum ApprovalState;
    for (const Case& c :
         {Case{pending, expired}, Case{ApprovalState::approved, expired}, Case{denied, denied},
          Case{expired, expired}, Case{consumed, consumed}, Case{revoked, revoked}}) {
        Approval approval = in_state(c.before);
        EXPECT_FALSE(expire(approval, kExpiry - 1ns));
        EXPECT_EQ(approval.state, c.before);
        EXPECT_EQ(expire(approval, kExpiry), c.before != c.after);
        EXPECT_EQ(approval.state, c.after);
    }
    EXPECT_TRUE(is_open(asked(), kExpiry - 1ns));
    EXPECT_FALSE(is_open(asked(), kExpiry));
}

TEST(ApprovalRules, AMessageSaysWhatToDo) {
    Approval approval = asked(1, Assurance::a2);
    EXPECT_EQ(
        vote(approval, by("agent"), kSoon).error().message,
        "Approval ap-1 was asked for by 'agent', who cannot decide it. Somebody else must; to withdraw the "
        "request, revoke it.");
    EXPECT_EQ(vote(approval, by("bob", true, Assurance::a1), kSoon).error().message,
              "Approval ap-1 needs a decision with assurance A2 and got A1. Decide it through a channel that "
              "gives it.");
    EXPECT_EQ(vote(approval, by("bob"), kExpiry).error().message,
              "Approval ap-1 has expired. Make the call again to ask anew.");
}

/// Something that must not work, and the answer it gets. Whatever happens, nothing may be usable afterwards.
struct Refusal {
    std::string name;
    std::string told;
    std::function<std::string()> attempt;
};

std::string told(const Result<bool>& result) {
    return result ? (*result ? "counted" : "unchanged") : code_and_reason(result.error());
}

/// A vote that is refused and leaves a pending approval as it was.
Refusal refused_vote(std::string name, std::string expected, Approval approval, Vote cast,
                     ApprovalTime when = kSoon) {
    return {std::move(name), std::move(expected), [=]() mutable {
                const auto votes = approval.votes.size();
                const std::string answer = told(vote(approval, cast, when));
                EXPECT_EQ(approval.votes.size(), votes);
                EXPECT_NE(consume(approval, kUse, when), ApprovalVerdict::ok);
                return answer;
            }};
}

Refusal refused_use(std::string name, std::string expected, Approval approval, ConsumeRequest use,
                    ApprovalTime when = kSoon) {
    return {std::move(name), std::move(expected), [=]() mutable {
                const auto state = approval.state;
                const std::string answer(to_string(consume(approval, use, when)));
                EXPECT_TRUE(approval.consumed_by.empty());
                EXPECT_TRUE(approval.state == state || approval.state == ApprovalState::expired);
                return answer;
            }};
}

Refusal refused_revoke(std::string name, std::string expected, Approval approval, ApprovalTime when = kSoon) {
    return {std::move(name), std::move(expected), [=]() mutable {
                const auto revoked = revoke(approval, when);
                return revoked ? "revoked" : code_and_reason(revoked.error());
            }};
}

std::vector<Refusal> refusals() {
    std::vector<Refusal> all;
    // Nobody approves what they asked for, however they write their name.
    for (const char* who : {"agent", "Agent", "AGENT", "aGeNt", " agent", "agent ", "\tagent\n", "  AgEnT  ",
                            "agent\r", "user:agent", "User:Agent", " user: agent"}) {
        all.push_back(refused_vote("self-approval as '" + std::string(who) + "'", "denied/self_approval",
                                   asked(), by(who)));
    }
    all.push_back(refused_vote("self-approval after a NUL", "denied/self_approval", asked(),
                               by(std::string("\0agent", 6))));
    all.push_back(refused_vote("self-approval, signed", "denied/self_approval", asked(),
                               by("agent", true, Assurance::a3)));
    all.push_back(refused_vote("self-denial", "denied/self_approval", asked(), by("agent", false)));
    Approval odd_requester = asked();
    odd_requester.requester = "  Agent ";
    all.push_back(refused_vote("self-approval, requester with spaces", "denied/self_approval", odd_requester,
                               by("agent")));

    odd_requester.requester = "user:agent";
    all.push_back(refused_vote("self-approval, requester is a user", "denied/self_approval", odd_requester,
                               by("agent")));

    for (const char* who : {"", " ", "\t\n"}) {
        all.push_back(refused_vote("a vote by nobody", "denied/approver_missing", asked(), by(who)));
        all.push_back(refused_vote("a denial by nobody", "denied/approver_missing", asked(), by(who, false)));
    }

    // Assurance cannot be talked down.
    struct Sure {
        Assurance needed, given;
        Risk risk;
    };
    for (const Sure& s :
         {Sure{Assurance::a2, Assurance::a1, Risk::low}, Sure{Assurance::a2, Assurance::a1, Risk::high},
          Sure{Assurance::a2, Assurance::a1, Risk::critical}, Sure{Assurance::a3, Assurance::a1, Risk::low},
          Sure{Assurance::a3, Assurance::a2, Risk::low}, Sure{Assurance::a3, Assurance::a2, Risk::medium},
          Sure{Assurance::a3, Assurance::a1, Risk::high}, Sure{Assurance::a3, Assurance::a2, Risk::high},
          Sure{Assurance::a3, Assurance::a1, Risk::critical}}) {
        all.push_back(refused_vote("a downgraded vote", "denied/assurance_too_low",
                                   asked(1, s.needed, s.risk), by("bob", true, s.given)));
    }

    // Too late to vote.
    all.push_back(refused_vote("a yes at the moment of expiry", "approval_expired/expired", asked(),
                               by("bob"), kExpiry));
    all.push_back(
        refused_vote("a yes after expiry", "approval_expired/expired", asked(), by("bob"), kExpiry + 24h));
    all.push_back(
        refused_vote("a no after expiry", "approval_expired/expired", asked(), by("bob", false), kExpiry));
    all.push_back(refused_vote("a second yes on one that expired when approved", "approval_expired/expired",
                               approved(), by("carol"), kExpiry));
    for (const bool approve : {true, false}) {
        using enum ApprovalState;
        all.push_back(refused_vote("a vote on a denied one", "approval_denied/already_decided",
                                   in_state(denied), by("bob", approve)));
        all.push_back(refused_vote("a vote on a consumed one", "denied/already_decided", in_state(consumed),
                                   by("bob", approve)));
        all.push_back(refused_vote("a vote on a revoked one", "denied/already_decided", in_state(revoked),
                                   by("bob", approve)));
        all.push_back(refused_vote("a vote on an expired one", "approval_expired/expired", in_state(expired),
                                   by("bob", approve)));
        // The clock was set back: what has expired stays so.
        all.push_back(refused_vote("a vote on an expired one, earlier", "approval_expired/expired",
                                   in_state(expired), by("bob", approve), kAsked));
    }

    // A use that is not exactly the call that was approved.
    all.push_back(refused_use("another tenant", "not_found", approved(), {"evil", "agent", "d1", "c"}));
    all.push_back(refused_use("no tenant", "not_found", approved(), {"", "agent", "d1", "c"}));
    all.push_back(
        refused_use("a tenant in other case", "not_found", approved(), {"ACME", "agent", "d1", "c"}));
    all.push_back(
        refused_use("a tenant with a space", "not_found", approved(), {"acme ", "agent", "d1", "c"}));
    all.push_back(refused_use("another tenant with another digest", "not_found", approved(),
                              {"evil", "agent", "d2", "c"}));
    all.push_back(refused_use("another principal", "other_call", approved(), {"acme", "mallory", "d1", "c"}));
    all.push_back(
        refused_use("the approver as principal", "other_call", approved(), {"acme", "bob", "d1", "c"}));
    all.push_back(
        refused_use("a principal in other case", "other_call", approved(), {"acme", "Agent", "d1", "c"}));
    all.push_back(refused_use("no principal", "other_call", approved(), {"acme", "", "d1", "c"}));
    all.push_back(refused_use("edited arguments", "other_call", approved(), {"acme", "agent", "d2", "c"}));
    all.push_back(
        refused_use("a digest in other case", "other_call", approved(), {"acme", "agent", "D1", "c"}));
    all.push_back(
        refused_use("a prefix of the digest", "other_call", approved(), {"acme", "agent", "d", "c"}));
    all.push_back(refused_use("a longer digest", "other_call", approved(), {"acme", "agent", "d11", "c"}));
    all.push_back(refused_use("no digest", "other_call", approved(), {"acme", "agent", "", "c"}));
    Approval unbound = approved();
    unbound.digest.clear();
    all.push_back(
        refused_use("an approval that was never bound", "other_call", unbound, {"acme", "agent", "", "c"}));

    // A use at the wrong time.
    all.push_back(refused_use("nobody has decided", "pending", asked(), kUse));
    Approval half = asked(2);
    EXPECT_TRUE(vote(half, by("bob"), kSoon));
    all.push_back(refused_use("one of two has decided", "pending", half, kUse));
    Approval one_person = asked(1, Assurance::a3, Risk::critical);
    EXPECT_TRUE(vote(one_person, by("bob"), kSoon));
    all.push_back(
        refused_use("one person without signature on a critical call", "pending", one_person, kUse));
    all.push_back(refused_use("nobody decided in time", "expired", asked(), kUse, kExpiry));
    all.push_back(
        refused_use("approved, used at the moment of expiry", "expired", approved(), kUse, kExpiry));
    all.push_back(refused_use("approved, used long after", "expired", approved(), kUse, kExpiry + 24h));
    all.push_back(refused_use("denied", "denied", in_state(ApprovalState::denied), kUse));
    all.push_back(
        refused_use("denied, and time has passed", "denied", in_state(ApprovalState::denied), kUse, kExpiry));
    all.push_back(refused_use("expired, and the clock was set back", "expired",
                              in_state(ApprovalState::expired), kUse, kAsked));
    all.push_back(refused_use("replayed", "consumed", in_state(ApprovalState::consumed), kUse));
    all.push_back(refused_use("replayed after its expiry", "consumed", in_state(ApprovalState::consumed),
                              kUse, kExpiry));
    all.push_back(refused_use("revoked", "revoked", in_state(ApprovalState::revoked), kUse));
    all.push_back(refused_use("replayed by another principal", "other_call",
                              in_state(ApprovalState::consumed), {"acme", "mallory", "d1", "c"}));

    // Nothing to take back.
    all.push_back(refused_revoke("revoke of a consumed one", "denied/already_decided",
                                 in_state(ApprovalState::consumed)));
    all.push_back(refused_revoke("revoke of a revoked one", "denied/already_decided",
                                 in_state(ApprovalState::revoked)));
    all.push_back(refused_revoke("revoke of a denied one", "approval_denied/already_decided",
                                 in_state(ApprovalState::denied)));
    all.push_back(refused_revoke("revoke of an expired one", "approval_expired/expired",
                                 in_state(ApprovalState::expired)));
    all.push_back(
        refused_revoke("revoke of a pending one, too late", "approval_expired/expired", asked(), kExpiry));
    all.push_back(refused_revoke("revoke of an approved one, too late", "approval_expired/expired",
                                 approved(), kExpiry));
    return all;
}

TEST(ApprovalRules, WhatMustNotWorkIsRefusedAndSaysWhy) {
    const std::vector<Refusal> all = refusals();
    EXPECT_GE(all.size(), 60u);
    for (const Refusal& refusal : all) EXPECT_EQ(refusal.attempt(), refusal.told) << refusal.name;
}

TEST(ApprovalRules, WithoutTheCompareAndSetAnApprovalIsUsedTwice) {
#ifdef CALLGATE_FAILPOINTS
    Approval approval = approved();
    base::guards_off() = 1u << static_cast<unsigned>(base::Guard::approval_compare_and_set);
    EXPECT_EQ(consume(approval, kUse, kSoon), ApprovalVerdict::ok);
    EXPECT_EQ(consume(approval, kUse, kSoon), ApprovalVerdict::ok);
    EXPECT_EQ(consume(approval, {"acme", "agent", "d2", "c"}, kSoon), ApprovalVerdict::other_call);
    base::guards_off() = 0;
    EXPECT_EQ(consume(approval, kUse, kSoon), ApprovalVerdict::consumed);
#else
    GTEST_SKIP() << "not in this build: its guards cannot be switched off";
#endif
}

RC_GTEST_PROP(ApprovalRules, NoOrderOfVotesUsesAndTimesBreaksTheRules, ()) {
    const auto needed = *rc::gen::inRange<std::uint32_t>(0, 4);
    const auto assurance = static_cast<Assurance>(*rc::gen::inRange(0, 3));
    const auto risk = static_cast<Risk>(*rc::gen::inRange(0, 4));
    Approval approval = asked(needed, assurance, risk);
    const std::vector<std::string> people = {"agent", "AGENT ", "bob", "Bob", "carol", "dave", ""};
    std::set<std::string> yes;  // by whom, lower case, at A2 or better or as asked
    bool no = false;
    int used = 0;
    ApprovalTime now = kAsked;
    const auto steps = *rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint8_t>>>(
        rc::gen::arbitrary<std::pair<std::uint8_t, std::uint8_t>>());
    for (const auto& [action, how] : steps) {
        if (action % 8 == 0) now += 1min;
        if (action % 8 == 1) {
            const bool was_approved = approval.state == ApprovalState::approved && now < kExpiry;
            const bool ok = consume(approval, kUse, now) == ApprovalVerdict::ok;
            RC_ASSERT(ok == was_approved);
            used += ok;
            RC_ASSERT(used <= 1);
            RC_ASSERT(!ok || (!no && yes.size() >= std::max(needed, 1u)));
        }
        if (action % 8 > 1) {
            const std::string& who = people[how % people.size()];
            const auto given = static_cast<Assurance>(how / 8 % 3);
            const bool approve = action % 8 != 7;
            if (const auto counted = vote(approval, by(who, approve, given), now); counted && *counted) {
                RC_ASSERT(!same_person(who, "agent") && !who.empty());
                RC_ASSERT(!approve || given >= assurance ||
                          (risk == Risk::critical && given == Assurance::a2));
                std::string lower = who;
                lower[0] = static_cast<char>(std::tolower(lower[0]));
                if (approve) RC_ASSERT(yes.insert(lower).second);
                no = no || !approve;
            }
        }
        if (no) RC_ASSERT(approval.state == ApprovalState::denied);
    }
}

}  // namespace
}  // namespace callgate::ledger
