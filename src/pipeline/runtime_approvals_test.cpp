// Approvals: asked for, given, refused, edited and outdated; and what may only be previewed.
#include <callgate/callgate.h>

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST_WITH_EITHER_LEDGER(Runtime, AskedForApprovalItRunsOnceAPersonHasAgreed) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool(
                                      "pay", "", [&](int amount) { return amount + ++runs; }, param("amount"))
                                      .risk(Risk::high)
                                      .run_inline()));
    const Outcome asked = node->call("pay", {{"amount", 10}});
    ASSERT_EQ(asked.state(), State::needs_approval);
    ASSERT_FALSE(asked.approval_id().empty());
    EXPECT_EQ(runs, 0);

    const Outcome joined = node->call("pay", {{"amount", 10}});
    EXPECT_EQ(joined.approval_id(), asked.approval_id());
    EXPECT_EQ(node->resume(asked.call_id()).error()->code, ErrorCode::approval_required);

    EXPECT_EQ(node->approvals().approve(asked.approval_id(), "local").error().details.at("reason"),
              "self_approval");
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    node.recorder->clear();
    const Outcome done = node->resume(asked.call_id());
    ASSERT_TRUE(done.ok()) << done.error()->message;
    EXPECT_EQ(done.text(), "11");
    EXPECT_THAT(node.recorder->audit_types(),
                ElementsAre("gate.approved", "tool_call.attempted", "tool_call.succeeded"));

    EXPECT_EQ(node->resume(asked.call_id()).error()->details.at("reason"), "consumed");
    EXPECT_EQ(node->call("pay", {{"amount", 10}}).state(), State::needs_approval);
    EXPECT_EQ(runs, 1);
}

TEST_WITH_EITHER_LEDGER(Runtime, ADeniedCallNeverRuns) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [&] { return ++runs; }).risk(Risk::high)));
    const Outcome asked = node->call("pay");
    ASSERT_TRUE(node->approvals().deny(asked.approval_id(), "olga", "too much"));
    EXPECT_EQ(node->resume(asked.call_id()).error()->code, ErrorCode::approval_denied);
    EXPECT_EQ(runs, 0);
}

TEST_WITH_EITHER_LEDGER(Runtime, AnExpiredApprovalIsNoUse) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [] { return 1; }).risk(Risk::high)));
    const Outcome asked = node->call("pay");
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    node.advance(16min);
    EXPECT_EQ(node->resume(asked.call_id()).error()->code, ErrorCode::approval_expired);
}

TEST_WITH_EITHER_LEDGER(Runtime, AnApprovalIsForOneExactCall) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [](int n) { return n; }, param("n")).risk(Risk::high)));
    const Outcome asked = node->call("pay", {{"n", 1}});
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    EXPECT_EQ(node->call("pay", {{"n", 2}}).state(), State::needs_approval);
    Context other;
    other.principal = "mallory";
    EXPECT_EQ(node->resume(asked.call_id(), other).error()->details.at("reason"), "no_such_call");
    EXPECT_EQ(node->call("pay", {{"n", 1}}, other).state(), State::needs_approval);
    // The definition changes: what was approved no longer exists.
    ASSERT_TRUE(node->tools().add(
        tool("pay", "Changed", [](int n) { return n; }, param("n")).risk(Risk::high), IfPresent::replace));
    EXPECT_EQ(node->resume(asked.call_id()).error()->details.at("reason"), "other_call");
}

TEST_WITH_EITHER_LEDGER(Runtime, ARuleInsertedElsewhereVoidsNoApproval) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [] { return 1; })));
    PolicyConfig config;
    config.rules.emplace_back("", Rule::Do::confirm).tools = {"pay"};
    ASSERT_TRUE(node->policy().set(config));
    const Outcome asked = node->call("pay");
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    config.rules.insert(config.rules.begin(), Rule("", Rule::Do::deny))->tools = {"wipe"};
    ASSERT_TRUE(node->policy().set(config));
    EXPECT_EQ(node->resume(asked.call_id()).text(), "1");
}

TEST_WITH_EITHER_LEDGER(Runtime, AStaleApprovalNeverBlocks) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [&] { return ++runs; })));
    PolicyConfig config;
    config.rules.emplace_back("", Rule::Do::confirm).tools = {"pay"};
    ASSERT_TRUE(node->policy().set(config));
    const Outcome before = node->call("pay");
    ASSERT_TRUE(node->approvals().approve(before.approval_id(), "olga"));
    config.rules[0].approvals = 2;
    ASSERT_TRUE(node->policy().set(config));

    EXPECT_EQ(node->resume(before.call_id()).error()->details.at("reason"), "other_call");
    const Outcome after = node->call("pay");
    EXPECT_EQ(after.state(), State::needs_approval);
    EXPECT_NE(after.approval_id(), before.approval_id());
    const auto old = node->approvals().get(before.approval_id());
    EXPECT_EQ(old->state, ApprovalState::superseded);
    EXPECT_EQ(old->superseded_by, after.approval_id());
    const Outcome resumed = node->resume(before.call_id());
    EXPECT_EQ(resumed.error()->details.at("reason"), "superseded");
    EXPECT_EQ(resumed.error()->details.at("superseded_by"), Value(after.approval_id()));
    ASSERT_TRUE(node->approvals().approve(after.approval_id(), "olga"));
    EXPECT_EQ(node->resume(after.call_id()).error()->code, ErrorCode::approval_required);
    ASSERT_TRUE(node->approvals().approve(after.approval_id(), "petra"));
    EXPECT_EQ(node->resume(after.call_id()).text(), "1");
    EXPECT_EQ(runs, 1);
}

// A rule with a name keeps it, whatever becomes of it: how many must agree is bound by itself.
TEST_WITH_EITHER_LEDGER(Runtime, AnApprovalBySomeIsNoneWhenMoreAreAskedFor) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [] { return 1; })));
    PolicyConfig config;
    config.rules.emplace_back("money", Rule::Do::confirm).tools = {"pay"};
    ASSERT_TRUE(node->policy().set(config));
    const Outcome asked = node->call("pay");
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    config.rules[0].approvals = 2;
    ASSERT_TRUE(node->policy().set(config));
    EXPECT_EQ(node->resume(asked.call_id()).error()->details.at("reason"), "other_call");
    EXPECT_NE(node->call("pay").approval_id(), asked.approval_id());
}

TEST_WITH_EITHER_LEDGER(Runtime, AnEditedApprovalIsANewCall) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(
        tool("pay", "", [](int n) { return n; }, param("n").maximum(100)).risk(Risk::high)));
    const Outcome asked = node->call("pay", {{"n", 50}});
    EXPECT_EQ(node->approvals().approve_edited(asked.approval_id(), {{"n", 500}}, "olga").error().code,
              ErrorCode::invalid_arguments);
    EXPECT_EQ(node->approvals().get(asked.approval_id())->state, ApprovalState::pending);
    const auto edited = node->approvals().approve_edited(asked.approval_id(), {{"n", 20}}, "olga");
    ASSERT_TRUE(edited) << edited.error().message;
    EXPECT_EQ(edited->state, ApprovalState::approved);
    EXPECT_EQ(node->approvals().get(asked.approval_id())->state, ApprovalState::revoked);
    EXPECT_EQ(node->resume(asked.call_id()).error()->details.at("reason"), "revoked");
    EXPECT_EQ(node->resume(edited->call_id).text(), "20");
}

TEST_WITH_EITHER_LEDGER(Runtime, AnApprovalThatIsOverCannotBeEdited) {
    for (const char* over : {"denied", "revoked", "approved", "consumed", "expired"}) {
        SCOPED_TRACE(over);
        TestRuntime node;
        int runs = 0;
        ASSERT_TRUE(node->tools().add(
            tool("pay", "", [&](int n) { return ++runs, n; }, param("n")).risk(Risk::high)));
        Approvals& approvals = node->approvals();
        const Outcome asked = node->call("pay", {{"n", 50}});
        const std::string state = over;
        if (state == "denied") {
            ASSERT_TRUE(approvals.deny(asked.approval_id(), "olga"));
        } else if (state == "revoked") {
            ASSERT_TRUE(approvals.revoke(asked.approval_id(), "olga"));
        } else if (state == "expired") {
            node.advance(std::chrono::hours(1));
        } else {
            ASSERT_TRUE(approvals.approve(asked.approval_id(), "olga"));
            if (state == "consumed") {
                EXPECT_TRUE(node->resume(asked.call_id()).ok());
            }
        }
        const int before = runs;
        for (const int n : {50, 51}) {
            const auto edited = approvals.approve_edited(asked.approval_id(), {{"n", n}}, "petra");
            ASSERT_FALSE(edited) << n;
            EXPECT_EQ(edited.error().details.at("approval_id").as_string(), asked.approval_id());
        }
        EXPECT_EQ(runs, before);
        EXPECT_TRUE(must(approvals.list()).empty()) << "nothing new is left";
    }
}

TEST_WITH_EITHER_LEDGER(Runtime, ARefusedEditLeavesTheRequestsAsTheyWere) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [](int n) { return n; }, param("n")).risk(Risk::high)));
    Approvals& approvals = node->approvals();
    const Outcome asked = node->call("pay", {{"n", 50}});
    const Outcome other = node->call("pay", {{"n", 60}});
    const auto refusal = [&](int n, const char* who, Assurance how) {
        const auto edited = approvals.approve_edited(asked.approval_id(), {{"n", n}}, who, how);
        return edited ? std::string("approved")
                      : std::string(edited.error().details.at("reason").as_string());
    };
    for (const int n : {50, 51, 60}) {
        EXPECT_EQ(refusal(n, "olga", Assurance::a1), "assurance_too_low") << n;
        EXPECT_EQ(refusal(n, Context().principal.c_str(), Assurance::a2), "self_approval") << n;
    }
    const auto open = must(approvals.list());
    EXPECT_EQ(open.size(), 2u);
    for (const Approval& one : open) EXPECT_TRUE(one.votes.empty());
    ASSERT_TRUE(approvals.approve_edited(asked.approval_id(), {{"n", 60}}, "olga"));
    EXPECT_EQ(approvals.get(other.approval_id())->state, ApprovalState::approved)
        << "the same call was asked for";
}

TEST_WITH_EITHER_LEDGER(Runtime, AtA0OnlyAPreviewIsMade) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(
        node->tools().add(tool("wipe", "", [&] { return ++runs; }).preview([](const Object&, CallContext&) {
            return Result<Preview>(Preview("would wipe it all"));
        })));
    Context watching;
    watching.autonomy = Autonomy::a0;
    const Outcome seen = node->call("wipe", {}, watching);
    EXPECT_EQ(seen.state(), State::previewed);
    EXPECT_EQ(seen.preview()->summary, "would wipe it all");
    EXPECT_TRUE(seen.approval_id().empty());
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(node->preview("wipe").preview()->summary, "would wipe it all");
    EXPECT_EQ(runs, 0);
}

TEST_WITH_EITHER_LEDGER(Runtime, WhatWasApprovedIsOnlyPreviewedOnceTheLevelIsA0) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [&] { return ++runs; }).risk(Risk::high)));
    const Outcome asked = node->call("pay");
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    Context watching;
    watching.autonomy = Autonomy::a0;
    EXPECT_EQ(node->resume(asked.call_id(), watching).state(), State::previewed);
    EXPECT_EQ(runs, 0);
    EXPECT_TRUE(node->resume(asked.call_id()).ok());
}

}  // namespace
}  // namespace callgate::pipeline
