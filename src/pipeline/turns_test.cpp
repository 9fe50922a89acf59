// Calls that wait their turn where a limit on concurrency queues.
#include <future>

#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

UseLimits one_at_a_time() {
    UseLimits limits;
    limits.concurrent = 1;
    limits.queue = true;
    return limits;
}

std::shared_ptr<Attempt> next(DeferredBody& body) {
    for (;;) {
        if (auto attempt = body.take()) return attempt;
        std::this_thread::yield();
    }
}

std::future<Outcome> begin(const TestRuntime& node, std::string tool, Context context = {}) {
    auto ended = std::make_shared<std::promise<Outcome>>();
    node->start(CallRequest(std::move(tool)), std::move(context),
                [ended](Outcome outcome) { ended->set_value(std::move(outcome)); });
    node.calm();
    return ended->get_future();
}

TEST_WITH_EITHER_LEDGER(Turns, ACallOverTheLimitWaitsInsteadOfBeingRefused) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.limits(one_at_a_time()));
    std::vector<std::future<Outcome>> calls;
    for (int i = 0; i < 3; ++i) calls.push_back(begin(node, "slow"));
    int number = 0;
    for (auto& call : calls) {
        next(*body)->finish(ToolResult(Value(number)));
        EXPECT_EQ(call.get().text(), std::to_string(number++)) << "first come first served";
    }
    EXPECT_EQ(body->entered(), 3);
}

TEST_WITH_EITHER_LEDGER(Turns, AWaitEndsAtTheDeadlineAndWithACancelAndLeavesNoHole) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.limits(one_at_a_time()).timeout(1h));
    auto first = begin(node, "slow");
    Context brief;
    brief.timeout = 1s;
    auto late = begin(node, "slow", brief);
    std::stop_source stop;
    Context cancelled;
    cancelled.cancel = stop.get_token();
    auto off = begin(node, "slow", cancelled);
    auto last = begin(node, "slow");
    node.advance(2s);
    const Outcome told = late.get();
    EXPECT_EQ(told.state(), State::timed_out);
    EXPECT_EQ(told.attempts(), 0u);
    stop.request_stop();
    EXPECT_EQ(off.get().state(), State::cancelled);
    next(*body)->finish(ToolResult(Value(1)));
    EXPECT_EQ(first.get().text(), "1");
    next(*body)->finish(ToolResult(Value(2)));
    EXPECT_EQ(last.get().text(), "2");
    EXPECT_EQ(body->entered(), 2);
}

TEST_WITH_EITHER_LEDGER(Turns, ABatchLargerThanTheLimitRunsAllItsCalls) {
    TestRuntime node;
    std::atomic<int> now{0};
    std::atomic<int> most{0};
    node->tools().add_or_throw(tool("work", "", [&] {
                                   const int running = ++now;
                                   if (running > most) most = running;
                                   std::this_thread::yield();
                                   --now;
                                   return 1;
                               }).limits(one_at_a_time()));
    std::vector<CallRequest> calls(40, CallRequest("work"));
    for (const Outcome& outcome : node->call_batch(calls)) EXPECT_EQ(outcome.state(), State::succeeded);
    EXPECT_EQ(most, 1);
}

TEST_WITH_EITHER_LEDGER(Turns, AToolThatCallsItselfDoesNotWaitForItself) {
    TestRuntime node;
    node->tools().add_or_throw(tool(
                                   "count", "",
                                   [](int n, CallContext& context) -> int {
                                       if (n == 0) return 0;
                                       const Outcome inner = context.call("count", {{"n", n - 1}});
                                       return inner.ok() ? 1 + std::stoi(inner.text()) : -100;
                                   },
                                   param("n"))
                                   .limits(one_at_a_time()));
    EXPECT_EQ(node->call("count", {{"n", 3}}).text(), "3");
}

TEST_WITH_EITHER_LEDGER(Turns, ThePolicysLimitsQueueToo) {
    TestRuntime node;
    auto config =
        policy_from_json(*json::parse(R"({"limits":{"per_principal":{"concurrent":1,"queue":true}}})"));
    ASSERT_TRUE(config);
    ASSERT_TRUE(node->policy().set(*config));
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow);
    auto first = begin(node, "slow");
    auto second = begin(node, "slow");
    Context other;
    other.principal = "other";
    auto third = begin(node, "slow", other);
    for (const int number : {1, 2, 3}) next(*body)->finish(ToolResult(Value(number)));
    EXPECT_EQ(first.get().text(), "1");
    EXPECT_EQ(third.get().text(), "2");
    EXPECT_EQ(second.get().text(), "3");
    EXPECT_FALSE(policy_from_json(*json::parse(R"({"limits":{"per_tool":{"queue":1}}})")));
}

}  // namespace
}  // namespace callgate::pipeline
