// A rule's predicate in a running program: what it decides, what of it is on the record, and what a new
// version does to open approvals.
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Tool refund() {
    return tool("refund", "Pays money back", [](std::int64_t cents) { return cents; }, param("cents"));
}

bool is_large(const CallView& call) {
    return call.arguments.at("cents").as_int64() > 10'000;
}

PolicyConfig rule_with(std::string version, Predicate::Function function = is_large,
                       Rule::Do what = Rule::Do::confirm) {
    PolicyConfig config;
    config.rules.emplace_back("refunds", what).when_true("is_large", std::move(version), std::move(function));
    return config;
}

std::string detail_of(const TestRuntime& node, std::string_view type) {
    for (const AuditEvent& event : node.recorder->audit()) {
        if (event.type == type) return std::string(event.detail);
    }
    return "no such event";
}

TEST_WITH_EITHER_LEDGER(PredicateRule, AsksAPersonOnlyWhereTheFunctionSaysSo) {
    const TestRuntime node;
    ASSERT_TRUE(node->tools().add(refund()));
    ASSERT_TRUE(node->policy().set(rule_with("1")));
    EXPECT_EQ(node->call("refund", {{"cents", 500}}).text(), "500");
    const Outcome asked = node->call("refund", {{"cents", 50'000}});
    EXPECT_EQ(asked.state(), State::needs_approval);
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    EXPECT_EQ(node->resume(asked.call_id()).text(), "50000");
}

TEST_WITH_EITHER_LEDGER(PredicateRule, SeesTheCallsIdWhereTheContextHasNoTraceId) {
    const TestRuntime node;
    ASSERT_TRUE(node->tools().add(refund()));
    std::vector<std::string> seen;
    const auto look = [&seen](const CallView& call) {
        seen.emplace_back(call.trace_id);
        return false;
    };
    ASSERT_TRUE(node->policy().set(rule_with("1", look)));
    const Outcome plain = node->call("refund", {{"cents", 5}});
    Context named;
    named.trace_id = "mine";
    node->call("refund", {{"cents", 6}}, named);
    EXPECT_EQ(seen, (std::vector<std::string>{plain.call_id(), "mine"}));
}

TEST_WITH_EITHER_LEDGER(PredicateRule, StandsByNameAndVersionInTheApprovalAndOnTheRecord) {
    const TestRuntime node;
    ASSERT_TRUE(node->tools().add(refund()));
    ASSERT_TRUE(node->policy().set(rule_with("3")));
    const Outcome asked = node->call("refund", {{"cents", 50'000}});
    const auto named = AllOf(HasSubstr("is_large"), HasSubstr("version '3'"));
    EXPECT_THAT(node->approvals().get(asked.approval_id())->why, named);
    EXPECT_THAT(detail_of(node, "gate.required"), named);

    ASSERT_TRUE(node->policy().set(rule_with("4", is_large, Rule::Do::deny)));
    const Outcome denied = node->call("refund", {{"cents", 60'000}});
    EXPECT_EQ(denied.state(), State::denied);
    EXPECT_EQ(denied.error()->details.at("predicate"), "is_large");
    EXPECT_EQ(denied.error()->details.at("predicate_version"), "4");
    EXPECT_THAT(std::string(node.recorder->audit().back().detail), HasSubstr("version '4'"));
}

TEST_WITH_EITHER_LEDGER(PredicateRule, ThatAllowsIsOnTheRecordToo) {
    RuntimeOptions options;
    options.audit_allowed = true;
    const TestRuntime node(options);
    ASSERT_TRUE(node->tools().add(refund().risk(Risk::medium)));
    ASSERT_TRUE(node->tools().add(tool("look", "", [] { return 1; }).read_only().risk(Risk::medium)));
    ASSERT_TRUE(node->policy().set(rule_with("3", [](const CallView&) { return true; }, Rule::Do::allow)));
    EXPECT_TRUE(node->call("refund", {{"cents", 1}}).ok());
    EXPECT_THAT(detail_of(node, "gate.allowed"), HasSubstr("version '3'"));
    EXPECT_THAT(detail_of(node, "tool_call.attempted"), HasSubstr("version '3'"));
    node.recorder->clear();
    EXPECT_TRUE(node->call("look").ok());
    EXPECT_THAT(detail_of(node, "gate.allowed"), HasSubstr("version '3'"));
    EXPECT_THAT(detail_of(node, "tool_call.succeeded"), HasSubstr("version '3'"));
}

TEST_WITH_EITHER_LEDGER(PredicateRule, OfANewVersionTakesOpenApprovalsWithIt) {
    const TestRuntime node;
    ASSERT_TRUE(node->tools().add(refund()));
    ASSERT_TRUE(node->policy().set(rule_with("1")));
    const Outcome before = node->call("refund", {{"cents", 50'000}});
    ASSERT_TRUE(node->approvals().approve(before.approval_id(), "olga"));
    ASSERT_TRUE(node->policy().set(rule_with("2")));

    EXPECT_EQ(node->resume(before.call_id()).error()->details.at("reason"), "other_call");
    const Outcome after = node->call("refund", {{"cents", 50'000}});
    EXPECT_EQ(after.state(), State::needs_approval);
    EXPECT_NE(after.approval_id(), before.approval_id());
    EXPECT_EQ(node->approvals().get(before.approval_id())->state, ApprovalState::superseded);
    ASSERT_TRUE(node->approvals().approve(after.approval_id(), "olga"));
    EXPECT_EQ(node->resume(after.call_id()).text(), "50000");
}

TEST_WITH_EITHER_LEDGER(PredicateRule, ThatIsLoadedAgainVoidsNothing) {
    const TestRuntime node;
    ASSERT_TRUE(node->tools().add(refund()));
    ASSERT_TRUE(node->policy().set(rule_with("1")));
    const Outcome asked = node->call("refund", {{"cents", 50'000}});
    ASSERT_TRUE(node->policy().set(rule_with("1", [](const CallView& call) { return is_large(call); })));
    const Outcome joined = node->call("refund", {{"cents", 50'000}});
    EXPECT_EQ(joined.approval_id(), asked.approval_id());
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    EXPECT_EQ(node->resume(asked.call_id()).text(), "50000");
}

TEST_WITH_EITHER_LEDGER(PredicateRule, ThatThrowsClosesTheGateAndIsCountedWithoutItsWords) {
    const TestRuntime node;
    ASSERT_TRUE(node->tools().add(refund()));
    ASSERT_TRUE(node->policy().set(
        rule_with("1", [](const CallView&) -> bool { throw std::runtime_error("hunter2"); })));
    const Outcome asked = node->call("refund", {{"cents", 1}});
    EXPECT_EQ(asked.state(), State::needs_approval);
    EXPECT_THAT(node->approvals().get(asked.approval_id())->why,
                HasSubstr("failed, which counts as matching"));
    EXPECT_EQ(node->stats().counters.at("gate.predicate_faults"), 1u);
    for (const AuditEvent& event : node.recorder->audit())
        EXPECT_THAT(std::string(event.detail), testing::Not(HasSubstr("hunter2")));
}

TEST_WITH_EITHER_LEDGER(PredicateRule, IsAskedByExplainAndRunsNothingElse) {
    const TestRuntime node;
    std::atomic<int> asked{0};
    ASSERT_TRUE(node->tools().add(refund()));
    ASSERT_TRUE(node->policy().set(rule_with("1", [&](const CallView& call) {
        ++asked;
        return is_large(call);
    })));
    const CallExplanation thought = node->explain(CallRequest("refund", {{"cents", 50'000}}));
    ASSERT_TRUE(thought.decision);
    EXPECT_EQ(thought.decision->gate, Gate::confirm);
    ASSERT_EQ(thought.decision->predicates.size(), 1u);
    EXPECT_EQ(thought.decision->predicates[0].version, "1");
    EXPECT_EQ(asked, 1);
    EXPECT_TRUE(node->approvals().list()->empty());
    EXPECT_EQ(node->stats().counters.at("gate.predicate_faults"), 0u);
}

}  // namespace
}  // namespace callgate::pipeline
