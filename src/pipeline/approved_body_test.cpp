// An approval is for what would run: another body, connector or configuration is another call.
#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

Tool pay(int& runs) {
    return tool("pay", "", [&runs] { return ++runs; }).risk(Risk::high);
}

TEST_WITH_EITHER_LEDGER(ApprovedBody, AnotherVersionConnectorOrConfigurationNeedsAnotherApproval) {
    int runs = 0;
    const std::vector<std::function<void(Tool&)>> changes{
        [](Tool& one) { one.version("2"); },
        [](Tool& one) { one.connector("bank-b"); },
        [](Tool& one) { one.contract.config_ref = "bank/b.toml"; },
    };
    for (const auto& change : changes) {
        TestRuntime node;
        Tool before = pay(runs).version("1").connector("bank-a");
        before.contract.config_ref = "bank/a.toml";
        node->tools().add_or_throw(before);
        const Outcome asked = node->call("pay");
        ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
        Tool after = before;
        change(after);
        node->tools().add_or_throw(after, IfPresent::replace);
        const Outcome refused = node->resume(asked.call_id());
        EXPECT_EQ(refused.error()->code, ErrorCode::denied);
        EXPECT_EQ(refused.error()->details.at("reason"), "other_call");
        EXPECT_EQ(runs, 0);
        node->tools().add_or_throw(before, IfPresent::replace);
        EXPECT_TRUE(node->resume(asked.call_id()).ok()) << "as it was when it was approved";
        EXPECT_EQ(std::exchange(runs, 0), 1);
    }
}

TEST_WITH_EITHER_LEDGER(ApprovedBody, OfTheSameVersionIsTheSameAndAKeyIsNotBoundToIt) {
    TestRuntime node;
    int runs = 0;
    node->tools().add_or_throw(pay(runs).version("1"));
    Context context;
    context.idempotency_key = "k";
    const Outcome asked = node->call("pay", {}, context);
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    node->tools().add_or_throw(pay(runs).version("1"), IfPresent::replace);
    EXPECT_TRUE(node->resume(asked.call_id()).ok());
    node->tools().add_or_throw(pay(runs).version("2"), IfPresent::replace);
    EXPECT_EQ(node->call("pay", {}, context).state(), State::replayed);
    EXPECT_EQ(runs, 1);
}

TEST(ApprovedBody, AStaleRequestIsSupersededEvenWhereNoMoreMayBeOpen) {
    const auto clock = std::make_shared<base::ManualClock>();
    ledger::MemoryLedger::Options kept;
    kept.open_approvals.per_principal = 1;
    TestRuntime node({}, std::make_shared<ledger::MemoryLedger>(*clock, kept), clock);
    int runs = 0;
    node->tools().add_or_throw(pay(runs).version("1"));
    const Outcome asked = node->call("pay");
    ASSERT_EQ(asked.state(), State::needs_approval);
    node->tools().add_or_throw(pay(runs).version("2"), IfPresent::replace);
    const Outcome again = node->call("pay");
    ASSERT_EQ(again.state(), State::needs_approval);
    EXPECT_NE(again.approval_id(), asked.approval_id());
    node->tools().add_or_throw(tool("other", "", [] { return 1; }).risk(Risk::high));
    const Outcome refused = node->call("other");
    EXPECT_EQ(refused.state(), State::limited);
    EXPECT_EQ(refused.error()->details.at("reason"), "approvals_full_for_principal");
}

}  // namespace
}  // namespace callgate::pipeline
