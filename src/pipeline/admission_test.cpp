// What is allowed and still has to wait or to stay away: threads that are kept, resources, breakers, loops.
#include <callgate/callgate.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

TEST_WITH_EITHER_LEDGER(Runtime, AToolThatKeepsItsThreadsIsUnavailableUntilItReturnsThem) {
    std::promise<void> release;  // they outlive the tool
    std::promise<void> entered;
    bool hangs = true;
    RuntimeOptions options;
    options.max_abandoned = 1;
    TestRuntime node(options);
    ASSERT_TRUE(node->tools().add(tool("deaf", "",
                                       [&] {
                                           if (!hangs) return 2;
                                           entered.set_value();
                                           release.get_future().wait();
                                           return 1;
                                       })
                                      .read_only()
                                      .timeout(50ms)));
    ASSERT_TRUE(node->tools().add(tool("other", "", [] { return 3; }).read_only()));
    auto first = std::async(std::launch::async, [&] { return node->call("deaf"); });
    entered.get_future().wait();
    node.advance(50ms);
    EXPECT_EQ(first.get().state(), State::timed_out);
    EXPECT_EQ(node->call("deaf").error()->details.at("reason"), "abandoned_calls");
    EXPECT_TRUE(node->call("other").ok());
    EXPECT_EQ(node->stats().abandoned_now, 1u);
    hangs = false;
    release.set_value();
    while (node->stats().abandoned_now > 0) std::this_thread::yield();
    EXPECT_EQ(node->call("deaf").text(), "2");
}

TEST_WITH_EITHER_LEDGER(Runtime, CallsOnTheSameResourceTakeTurns) {
    TestRuntime node;
    auto [write, body] = deferred("write");
    write.definition.input_schema =
        Object{{"type", "object"}, {"properties", {{"path", {{"type", "string"}}}}}};
    ASSERT_TRUE(node->tools().add(write.resource_key("/path")));
    const auto a1 = node.start("write", {{"path", "a"}});
    const auto a2 = node.start("write", {{"path", "a"}});
    const auto b1 = node.start("write", {{"path", "b"}});
    EXPECT_EQ(body->waiting(), 2u);
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    ASSERT_TRUE(*a1);
    EXPECT_EQ(body->waiting(), 2u);
    body->take()->finish(ToolResult(Value(2)));
    node.calm();
    body->take()->finish(ToolResult(Value(3)));
    node.calm();
    EXPECT_TRUE(*a2);
    EXPECT_TRUE(*b1);
}

TEST_WITH_EITHER_LEDGER(Runtime, AToolMayCallAnotherOnTheResourceItHolds) {
    TestRuntime node;
    const auto on_path = [](Tool made) { return made.connector("files").resource_key("/path").run_inline(); };
    ASSERT_TRUE(node->tools().add(
        on_path(tool("inner", "", [](std::string path) { return path + "!"; }, param("path")))));
    ASSERT_TRUE(node->tools().add(on_path(tool(
        "outer", "",
        [](std::string path, CallContext& context) { return context.call("inner", {{"path", path}}).text(); },
        param("path")))));
    EXPECT_EQ(node->call("outer", {{"path", "a"}}).text(), "a!");
}

TEST_WITH_EITHER_LEDGER(Runtime, TheBreakerOpensAndRecovers) {
    TestRuntime node;
    bool broken = true;
    Tool shaky = tool("shaky", "",
                      [&]() -> int {
                          if (broken) throw std::runtime_error("down");
                          return 1;
                      })
                     .read_only()
                     .run_inline();
    shaky.contract.breaker.failures = 3;
    ASSERT_TRUE(node->tools().add(shaky));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(node->call("shaky").error()->code, ErrorCode::exception);
    EXPECT_EQ(node->call("shaky").error()->code, ErrorCode::circuit_open);
    EXPECT_EQ(node->tools().get("shaky")->health.status, HealthStatus::degraded);
    broken = false;
    node.advance(31s);
    EXPECT_TRUE(node->call("shaky").ok());
    EXPECT_TRUE(node->call("shaky").ok());
    EXPECT_EQ(node->tools().get("shaky")->health.status, HealthStatus::healthy);
}

TEST_WITH_EITHER_LEDGER(Runtime, ALoopIsFoundByItsResults) {
    TestRuntime node;
    int n = 0;
    ASSERT_TRUE(node->tools().add(tool("same", "", [] { return 1; }).read_only().run_inline()));
    ASSERT_TRUE(node->tools().add(tool("poll", "", [&] { return ++n; }).read_only().run_inline()));
    Context context;
    context.run_id = "r";
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(node->call("same", {}, context).ok());
    EXPECT_EQ(node->call("same", {}, context).error()->code, ErrorCode::loop_detected);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(node->call("poll", {}, context).ok());
}

TEST_WITH_EITHER_LEDGER(Runtime, ALoopOfOneTenantIsNotAnothers) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("same", "", [] { return 1; }).read_only().run_inline()));
    Context one;
    one.tenant = "one";
    one.run_id = "r";
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(node->call("same", {}, one).ok());
    Context two = one;
    two.tenant = "two";
    EXPECT_TRUE(node->call("same", {}, two).ok());
    EXPECT_EQ(node->call("same", {}, one).error()->code, ErrorCode::loop_detected);
}

}  // namespace
}  // namespace callgate::pipeline
