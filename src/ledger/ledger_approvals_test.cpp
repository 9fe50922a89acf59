#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

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
class LedgerApprovals : public ::testing::Test {};
TYPED_TEST_SUITE(LedgerApprovals, Benches);

TYPED_TEST(LedgerApprovals, AnApprovalIsUsedUpByTheClaimOrNeitherHappens) {
    TypeParam b;
    const OpenApprovalReply asked = b.ask("ap", "call-1");
    EXPECT_FALSE(asked.joined);
    EXPECT_EQ(asked.approval.state, ApprovalState::pending);
    EXPECT_EQ(asked.approval.expires_at - asked.approval.created_at, 15min);

    EXPECT_EQ(b.claim_with("ap", 1, "k").approval, ApprovalVerdict::pending);
    EXPECT_EQ(b.claim_with("nothing", 1, "k").approval, ApprovalVerdict::not_found);
    EXPECT_FALSE(b.peek("k").found);
    ASSERT_TRUE(b.approve("ap"));
    const ClaimReply claimed = b.claim_with("ap", 1, "k");
    EXPECT_EQ(claimed.approval, ApprovalVerdict::ok);
    EXPECT_EQ(claimed.verdict, ClaimVerdict::claimed);
    EXPECT_EQ(claimed.row.approval_id, "ap");
    EXPECT_EQ(b.ledger.approval("ap")->state, ApprovalState::consumed);
    EXPECT_EQ(b.ledger.approval("ap")->consumed_by, base::Uuid{call_id(1)}.to_string());
    EXPECT_EQ(b.claim_with("ap", 2, "k2").approval, ApprovalVerdict::consumed);
    EXPECT_FALSE(b.peek("k2").found);
    EXPECT_THAT(b.audit_types(), ElementsAre("gate.required", "gate.approved", "tool_call.attempted"));
}

TYPED_TEST(LedgerApprovals, AReplayNeedsNoApprovalAndUsesNoneUp) {
    TypeParam b;
    b.claim(1, "k");
    b.settle(1, AttemptEnd::succeeded);
    b.ask("ap", "call-1");
    ASSERT_TRUE(b.approve("ap"));
    EXPECT_EQ(b.claim_with("ap", 2, "k").verdict, ClaimVerdict::replay);
    EXPECT_EQ(b.ledger.approval("ap")->state, ApprovalState::approved);
}

TYPED_TEST(LedgerApprovals, AnApprovalThatDoesNotFitLeavesATakenOverCallAsItWas) {
    TypeParam b;
    b.claim_as(b.owner, 1, "k", EffectClass::keyed, false);
    b.ledger.owner_gone(b.owner);
    ClaimRequest asked = b.request(2, "k", EffectClass::keyed);
    asked.row.owner = b.other;
    asked.approval = ApprovalUse{"nothing", "digest"};
    EXPECT_EQ(b.claim(asked).approval, ApprovalVerdict::not_found);
    EXPECT_EQ(b.ledger.find(call_id(1))->epoch, 1u);
    EXPECT_EQ(b.ledger.find(call_id(1))->owner, b.owner);
}

TYPED_TEST(LedgerApprovals, AnApprovalServesOnlyItsTenantItsRequesterAndItsCall) {
    TypeParam b;
    b.ask("ap", "call-1");
    ASSERT_TRUE(b.approve("ap"));
    ClaimRequest tenant = b.request(1, "k");
    tenant.row.key.tenant = "evil";
    tenant.approval = ApprovalUse{"ap", "digest of request"};
    EXPECT_EQ(b.claim(tenant).approval, ApprovalVerdict::not_found);
    ClaimRequest principal = b.request(1, "k");
    principal.row.key.principal = "mallory";
    principal.approval = ApprovalUse{"ap", "digest of request"};
    EXPECT_EQ(b.claim(principal).approval, ApprovalVerdict::other_call);
    ClaimRequest edited = b.request(1, "k");
    edited.approval = ApprovalUse{"ap", "digest of another request"};
    EXPECT_EQ(b.claim(edited).approval, ApprovalVerdict::other_call);
    EXPECT_EQ(b.claim_with("ap", 1, "k").approval, ApprovalVerdict::ok);
}

TYPED_TEST(LedgerApprovals, AnApprovalExpiresWhetherApprovedOrNot) {
    TypeParam b;
    b.ask("one", "call-1", {}, "request");
    b.ask("two", "call-2", {}, "request 2");
    ASSERT_TRUE(b.approve("one"));
    b.clock.advance(15min);
    EXPECT_EQ(b.claim_with("one", 1, "k").approval, ApprovalVerdict::expired);
    EXPECT_EQ(code_and_reason(b.approve("two").error()), "approval_expired/expired");
    EXPECT_EQ(must(b.ledger.approvals(ApprovalState::expired)).size(), 2u);
    EXPECT_THAT(must(b.ledger.approvals(ApprovalState::pending)), IsEmpty());
}

TYPED_TEST(LedgerApprovals, AClockThatWasAheadAndIsSetBackLetsNoneLiveLonger) {
    TypeParam b;
    const base::WallTime right = b.clock.wall_now();
    b.ask("before", "call-1");
    b.clock.set_wall(right + 24h);
    b.ask("ahead", "call-2", "other");
    b.clock.set_wall(right);
    EXPECT_EQ(b.ledger.approval("before")->state, ApprovalState::expired) << "early, to be safe";
    EXPECT_EQ(b.ledger.approval("ahead")->state, ApprovalState::pending);
    b.clock.advance(14min);
    EXPECT_EQ(b.ledger.approval("ahead")->state, ApprovalState::pending);
    b.clock.advance(2min);
    EXPECT_EQ(b.ledger.approval("ahead")->state, ApprovalState::expired);
}

TYPED_TEST(LedgerApprovals, ARepeatOfTheSameRequestJoinsTheOpenApproval) {
    TypeParam b;
    b.ask("ap", "call-1");
    const OpenApprovalReply repeat = b.ask("ap2", "call-2");
    EXPECT_TRUE(repeat.joined);
    EXPECT_EQ(repeat.approval.id, "ap");
    EXPECT_EQ(repeat.approval.call_id, "call-1");
    EXPECT_EQ(must(approval_of_call(b.ledger, "call-1"))->id, "ap");
    EXPECT_EQ(must(approval_of_call(b.ledger, "call-2"))->id, "ap");
    EXPECT_EQ(b.open_approval_for("acme", "agent", print_of("request"), "")->id, "ap");
    EXPECT_THAT(b.audit_types(), ElementsAre("gate.required"));
    ASSERT_TRUE(b.approve("ap"));
    EXPECT_TRUE(b.ask("ap3", "call-3").joined);
}

TYPED_TEST(LedgerApprovals, AnotherRequesterRequestOrKeyOpensItsOwnApproval) {
    TypeParam b;
    b.ask("ap", "call-1", "k");
    EXPECT_FALSE(b.ask("ap2", "call-2", "k2").joined);
    EXPECT_FALSE(b.ask("ap3", "call-3", "").joined);
    EXPECT_FALSE(b.ask("ap4", "call-4", "k", "another request").joined);
    EXPECT_FALSE(b.ask("ap5", "call-5", "k", "request", "another agent").joined);
    EXPECT_FALSE(b.open_approval_for("acme", "agent", print_of("request"), "k9"));
    EXPECT_FALSE(b.open_approval_for("evil", "agent", print_of("request"), "k"));
    std::vector<std::string> listed;
    for (const Approval& approval : must(b.ledger.approvals({}))) listed.push_back(approval.id);
    EXPECT_THAT(listed, ElementsAre("ap", "ap2", "ap3", "ap4", "ap5"));
}

TYPED_TEST(LedgerApprovals, ADecidedUsedExpiredOrRevokedApprovalIsNotJoined) {
    TypeParam b;
    b.ask("denied", "c1");
    ASSERT_TRUE(b.approve("denied", "bob", false));
    EXPECT_FALSE(b.ask("used", "c2").joined);
    ASSERT_TRUE(b.approve("used"));
    b.claim_with("used", 1, "k");
    EXPECT_FALSE(b.ask("revoked", "c3").joined);
    ASSERT_TRUE(b.ledger.revoke("revoked", "bob", unseen(event("gate.revoked"))));
    EXPECT_FALSE(b.ask("expired", "c4").joined);
    b.clock.advance(15min);
    EXPECT_FALSE(b.open_approval_for("acme", "agent", print_of("request"), ""));
    EXPECT_FALSE(b.ask("new", "c5").joined);
}

TYPED_TEST(LedgerApprovals, AnApprovalThatWouldNotBeHonouredNowIsSupersededOnTheRecord) {
    TypeParam b;
    const auto ask = [&b](std::string id, std::string binding) {
        OpenApprovalRequest asked;
        asked.approval.id = std::move(id);
        asked.approval.tenant = "acme";
        asked.approval.requester = "agent";
        asked.approval.digest = "digest of " + binding;
        asked.approval.binding = std::move(binding);
        asked.fingerprint = print_of("request");
        asked.events.push_back(event("gate.required"));
        OpenApprovalReply reply;
        b.wait_for(b.ledger.open_approval(std::move(asked), reply, b.waiter));
        return reply;
    };
    ask("old", "one rule");
    ASSERT_TRUE(b.approve("old"));
    EXPECT_TRUE(ask("same", "one rule").joined);
    const OpenApprovalReply opened = ask("new", "another rule");
    EXPECT_FALSE(opened.joined);
    EXPECT_EQ(opened.approval.id, "new");
    EXPECT_EQ(b.ledger.approval("old")->state, ApprovalState::superseded);
    EXPECT_EQ(b.ledger.approval("old")->superseded_by, "new");
    EXPECT_THAT(b.audit_types(),
                ElementsAre("gate.required", "gate.approved", "approval.superseded", "gate.required"));
    // Nothing can be done with it any more, and whoever tries learns what to do.
    const Error refused = b.approve("old", "carol").error();
    EXPECT_EQ(code_and_reason(refused), "denied/superseded");
    EXPECT_EQ(refused.details.at("superseded_by"), "new");
    EXPECT_NE(refused.message.find("new"), std::string::npos);
    EXPECT_EQ(code_and_reason(b.ledger.revoke("old", "bob", unseen(event("x"))).error()),
              "denied/superseded");
    ClaimRequest use = b.request(1, "k");
    use.approval = ApprovalUse{"old", "digest of one rule"};
    EXPECT_EQ(b.claim(std::move(use)).approval, ApprovalVerdict::superseded);
    EXPECT_EQ(b.open_approval_for("acme", "agent", print_of("request"), "")->id, "new");
    EXPECT_TRUE(ask("joins", "another rule").joined);
}

TYPED_TEST(LedgerApprovals, OnlyAVoteThatCountsIsOnTheRecord) {
    TypeParam b;
    OpenApprovalRequest asked;
    asked.approval.id = "ap";
    asked.approval.requester = "agent";
    asked.approval.approvals_needed = 2;
    OpenApprovalReply reply;
    b.wait_for(b.ledger.open_approval(asked, reply, b.waiter));
    EXPECT_EQ(code_and_reason(b.approve("nothing").error()), "denied/not_found");
    EXPECT_EQ(code_and_reason(b.approve("ap", "Agent").error()), "denied/self_approval");
    EXPECT_TRUE(b.approve("ap", "bob"));
    EXPECT_TRUE(b.approve("ap", "bob"));
    EXPECT_EQ(b.approve("ap", "carol")->state, ApprovalState::approved);
    EXPECT_EQ(code_and_reason(b.approve("ap", "dave").error()), "denied/already_decided");
    EXPECT_THAT(b.audit_types(), ElementsAre("gate.approved", "gate.approved"));
}

TYPED_TEST(LedgerApprovals, AnApprovalLivesADayAtMostAndHasAnIdOfItsOwn) {
    TypeParam b;
    OpenApprovalRequest asked;
    asked.approval.id = "ap";
    asked.lifetime = 48h;
    OpenApprovalReply reply;
    b.wait_for(b.ledger.open_approval(asked, reply, b.waiter));
    EXPECT_EQ(reply.approval.expires_at - reply.approval.created_at, 24h);
    EXPECT_EQ(code_and_reason(*b.ask("ap", "c1").error), "internal/bad_approval_id");
    EXPECT_EQ(code_and_reason(*b.ask("", "c1").error), "internal/bad_approval_id");
}

/// What a sink hears of.
class HeardChanges final : public ApprovalSink {
public:
    void changed(const ApprovalChange& change) override {
        const std::lock_guard lock(mutex_);
        lines_.push_back(change.approval.id + ' ' + std::string(to_string(change.what)));
        last_ = change.approval;
    }
    std::vector<std::string> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(lines_, {});
    }
    Approval last() {
        const std::lock_guard lock(mutex_);
        return last_;
    }

private:
    std::mutex mutex_;
    std::vector<std::string> lines_;
    Approval last_;
};

TYPED_TEST(LedgerApprovals, WhatChangesAboutThemIsHeardInOrderBeforeItIsAnswered) {
    TypeParam b;
    const auto heard = std::make_shared<HeardChanges>();
    b.ledger.watch_approvals(heard);
    b.ask("one", "call-1");
    EXPECT_THAT(heard->take(), ElementsAre("one opened"));
    b.ask("two", "call-2");
    EXPECT_THAT(heard->take(), IsEmpty()) << "it joined the first";
    ASSERT_TRUE(b.approve("one"));
    EXPECT_THAT(heard->take(), ElementsAre("one decided"));
    ASSERT_EQ(heard->last().votes.size(), 1u);
    EXPECT_EQ(heard->last().votes[0].approver, "bob");
    EXPECT_FALSE(b.approve("one", "carl"));
    EXPECT_THAT(heard->take(), IsEmpty()) << "refused";
    EXPECT_EQ(b.claim_with("one", 1, "k").verdict, ClaimVerdict::claimed);
    EXPECT_THAT(heard->take(), ElementsAre("one consumed"));
    b.ask("three", "call-3");
    ASSERT_TRUE(b.approve("three", "bob", false));
    b.ask("four", "call-4");
    ASSERT_TRUE(b.ledger.revoke("four", "bob", unseen(event("approval.revoked"))));
    EXPECT_THAT(heard->take(), ElementsAre("three opened", "three decided", "four opened", "four revoked"));
}

TYPED_TEST(LedgerApprovals, NobodyHearsOfThemWhoHasGone) {
    TypeParam b;
    auto gone = std::make_shared<HeardChanges>();
    const auto stays = std::make_shared<HeardChanges>();
    b.ledger.watch_approvals(gone);
    b.ledger.watch_approvals(stays);
    gone = nullptr;
    b.ask("one", "call-1");
    EXPECT_THAT(stays->take(), ElementsAre("one opened"));
}

TYPED_TEST(LedgerApprovals, EndByTheClockThatTheLedgerTells) {
    TypeParam b;
    const auto ends = b.ask("one", "call-1").approval.expires_at;
    EXPECT_EQ(ends - b.ledger.approval_time(), 15min);
    b.clock.advance(15min - 1us);
    EXPECT_EQ(b.ledger.approval("one")->state, ApprovalState::pending);
    b.clock.advance(1us);
    EXPECT_EQ(b.ledger.approval_time(), ends);
    EXPECT_EQ(b.ledger.approval("one")->state, ApprovalState::expired);
}

}  // namespace
}  // namespace callgate::ledger::testing
