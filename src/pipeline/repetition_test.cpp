// A call that is made again: the same key, answers that come late, unknown outcomes, retries.
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

TEST_WITH_EITHER_LEDGER(Runtime, TheSameKeyRunsOnceAndIsReplayed) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(
        tool(
            "send", "", [&](std::string to) { return to + std::to_string(++runs); }, param("to"))
            .run_inline()));
    const Outcome first = node->call("send", {{"to", "ann"}}, with_key("k1"));
    const Outcome second = node->call("send", {{"to", "ann"}}, with_key("k1"));
    EXPECT_EQ(first.text(), "ann1");
    EXPECT_EQ(second.text(), "ann1");
    EXPECT_TRUE(second.replayed());
    EXPECT_EQ(runs, 1);
    const Outcome other = node->call("send", {{"to", "bob"}}, with_key("k1"));
    EXPECT_EQ(other.error()->code, ErrorCode::key_reused);
    EXPECT_TRUE(other.safe_new_key());
    EXPECT_EQ(runs, 1);
}

TEST_WITH_EITHER_LEDGER(Runtime, AConcurrentDuplicateWaitsForTheFirst) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto first = node.start("slow", {}, with_key("k"));
    const auto second = node.start("slow", {}, with_key("k"));
    EXPECT_EQ(body->entered(), 1);
    EXPECT_FALSE(*second);
    body->take()->finish(ToolResult(Value(7)));
    node.calm();
    ASSERT_TRUE(*first);
    ASSERT_TRUE(*second);
    EXPECT_EQ((*first)->state(), State::succeeded);
    EXPECT_EQ((*second)->state(), State::replayed);
    EXPECT_EQ((*second)->text(), "7");
}

TEST_WITH_EITHER_LEDGER(Runtime, ADuplicateThatRunsOutOfTimeIsToldItIsInProgress) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow.timeout(60s)));
    const auto first = node.start("slow", {}, with_key("k"));
    Context brief = with_key("k");
    brief.timeout = 10ms;
    const auto second = node.start("slow", {}, brief);
    node.advance(10ms);
    ASSERT_TRUE(*second);
    EXPECT_EQ((*second)->state(), State::in_progress);
    EXPECT_FALSE(*first);
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    EXPECT_TRUE((*first)->ok());
}

TEST_WITH_EITHER_LEDGER(Runtime, ALateAnswerSettlesAnUnknownOutcome) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto first = node.start("slow", {}, with_key("k"));
    ASSERT_EQ(body->waiting(), 1u);
    node.advance(30s);
    ASSERT_TRUE(*first);
    EXPECT_EQ((*first)->state(), State::unknown);
    EXPECT_EQ((*first)->error()->code, ErrorCode::timed_out);
    EXPECT_FALSE((*first)->safe_new_key());
    EXPECT_EQ(node->call("slow", {}, with_key("k")).error()->code, ErrorCode::outcome_unknown);

    body->take()->finish(ToolResult(Value("done after all")));

    node.calm();
    const Outcome again = node->call("slow", {}, with_key("k"));
    EXPECT_EQ(again.state(), State::replayed);
    EXPECT_TRUE(again.ok());
    EXPECT_EQ(again.text(), "done after all");
    EXPECT_EQ(body->entered(), 1);
    EXPECT_THAT(node.recorder->audit_types(),
                ElementsAre("tool_call.attempted", "tool_call.unknown", "tool_call.unknown",
                            "tool_call.resolved", "tool_call.deduped"));
}

TEST_WITH_EITHER_LEDGER(Runtime, AnUnknownOutcomeIsResolvedByAPerson) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto call = node.start("slow", {}, with_key("k"));
    node.advance(31s);
    ASSERT_EQ((*call)->state(), State::unknown);
    ASSERT_TRUE(node->resolve((*call)->call_id(), true, "olga", "seen in the bank's log"));
    EXPECT_TRUE(node->call("slow", {}, with_key("k")).ok());
    EXPECT_FALSE(node->resolve((*call)->call_id(), false, "olga", ""));
}

TEST_WITH_EITHER_LEDGER(Runtime, ARetryHappensOnlyWhereNothingCanHaveHappened) {
    TestRuntime node;
    int tries = 0;
    ASSERT_TRUE(node->tools().add(schema_tool(ToolDefinition("flaky", "", Object{{"type", "object"}}),
                                              [&](const Object&, CallContext&) -> ToolReturn {
                                                  if (++tries < 3)
                                                      return tl::unexpected(
                                                          ToolFailure::unreachable("no route"));
                                                  return ToolResult(Value(tries));
                                              })
                                      .retries(RetryPolicy(2))
                                      .run_inline()));
    const auto call = node.start("flaky");
    for (int i = 0; i < 10 && !*call; ++i) node.advance(1s);
    ASSERT_TRUE(*call);
    EXPECT_TRUE((*call)->ok());
    EXPECT_EQ((*call)->attempts(), 3u);

    ASSERT_TRUE(node->tools().add(schema_tool(ToolDefinition("lossy", "", Object{{"type", "object"}}),
                                              [&](const Object&, CallContext&) -> ToolReturn {
                                                  ++tries;
                                                  return tl::unexpected(ToolFailure::lost("pipe broken"));
                                              })
                                      .retries(RetryPolicy(5))
                                      .run_inline()));
    tries = 0;
    const Outcome lost = node->call("lossy");
    EXPECT_EQ(lost.state(), State::unknown);
    EXPECT_EQ(tries, 1);
}

}  // namespace
}  // namespace callgate::pipeline
