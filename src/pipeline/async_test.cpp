#include <callgate/async.h>

#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>

#include "pipeline/async_testing.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using testing::HasSubstr;

Tool add_tool() {
    return tool(
               "add", "Add two numbers", [](std::int64_t a, std::int64_t b) { return a + b; }, param("a"),
               param("b"))
        .read_only();
}

// Awaits one call on an io context of the test's own.
Outcome awaited(Runtime& runtime, std::string name, Args arguments = {}, Context context = {}) {
    asio::io_context io;
    Outcome outcome;
    bool on_own_thread = false;
    const auto caller = std::this_thread::get_id();
    const auto body = [&]() -> asio::awaitable<void> {
        outcome = co_await runtime.async_call(name, std::move(arguments), std::move(context));
        on_own_thread = std::this_thread::get_id() == caller;
    };
    asio::co_spawn(io, body, asio::detached);
    io.run();
    EXPECT_TRUE(on_own_thread) << "a call goes on where it is awaited";
    return outcome;
}

TEST(Async, ACallIsAwaitedOnTheExecutorOfWhoAwaitsIt) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(add_tool().run_inline()));
    EXPECT_EQ(awaited(runtime, "add", Args(R"({"a":5,"b":3})")).text(), "8");
    ASSERT_TRUE(runtime.tools().add(add_tool(), IfPresent::replace));
    EXPECT_EQ(awaited(runtime, "add", {{"a", 5}, {"b", 3}}).text(), "8");
    EXPECT_EQ(awaited(runtime, "none").state(), State::not_found);
}

TEST(Async, AwaitsInOneExpressionAreSafeWithTextAndNames) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(add_tool()));
    asio::io_context io;
    std::string seen;
    const auto body = [&]() -> asio::awaitable<void> {
        const Args arguments = {{"a", 1}, {"b", 2}};
        seen += (co_await runtime.async_call("add", arguments)).text();
        seen += (co_await runtime.async_call("add", Args(R"({"a":2,"b":2})"))).text();
        CallRequest request("add", std::string(R"({"a":3,"b":2})"));
        const Outcome last = co_await runtime.async_call(std::move(request), Context(), asio::use_awaitable);
        seen += last.text();
    };
    asio::co_spawn(io, body, asio::detached);
    io.run();
    EXPECT_EQ(seen, "345");
}

TEST(Async, AnyCompletionTokenWillDo) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(add_tool()));
    std::promise<Outcome> ended;
    runtime.async_call(CallRequest("add", {{"a", 1}, {"b", 1}}), Context(),
                       [&](Outcome outcome) { ended.set_value(std::move(outcome)); });
    EXPECT_EQ(ended.get_future().get().text(), "2");
}

TEST(Async, CoroutineToolsTakeTypedParametersAndTheContext) {
    Runtime runtime;
    const auto greet = [](std::string name, CallContext& context, int times) -> asio::awaitable<std::string> {
        std::string text;
        for (int i = 0; i < times; ++i) {
            co_await nap();
            context.progress("greeted", i + 1, times);
            text += "hello " + name + "! ";
        }
        co_return text + context.action();
    };
    ASSERT_TRUE(runtime.tools().add(
        async_tool("greet", "Greet", greet, param("name"), param("times").default_to(2)).read_only()));
    EXPECT_EQ(runtime.tools().get("greet")->definition.compact(), "greet(name: string, times?: integer)");
    Context context;
    std::uint64_t steps = 0;
    context.on_progress = [&](const Progress& progress) { steps = progress.sequence; };
    EXPECT_EQ(runtime.call("greet", {{"name", "ada"}}, context).text(), "hello ada! hello ada! call");
    EXPECT_EQ(steps, 2u);
    EXPECT_EQ(runtime.call("greet", {{"name", 7}}).state(), State::invalid);
}

TEST(Async, CoroutineToolsMayReturnNothingOrThrow) {
    Runtime runtime;
    int ran = 0;
    const auto quiet = [&]() -> asio::awaitable<void> {
        co_await nap();
        ++ran;
    };
    const auto broken = []() -> asio::awaitable<int> {
        co_await nap();
        throw std::runtime_error("boom");
    };
    const auto refusing = []() -> asio::awaitable<Result<int>> {
        co_await nap();
        co_return fail(ErrorCode::tool_error, "not today");
    };
    ASSERT_TRUE(runtime.tools().add(async_tool("quiet", "", quiet)));
    ASSERT_TRUE(runtime.tools().add(async_tool("broken", "", broken)));
    ASSERT_TRUE(runtime.tools().add(async_tool("refusing", "", refusing)));
    EXPECT_TRUE(runtime.call("quiet").ok());
    EXPECT_EQ(ran, 1);
    const Outcome failed = runtime.call("broken");
    EXPECT_EQ(failed.state(), State::failed);
    EXPECT_EQ(failed.error()->code, ErrorCode::exception);
    EXPECT_EQ(failed.error()->message, "boom");
    EXPECT_EQ(runtime.call("refusing").error()->message, "not today");
}

TEST(Async, ADeadlineEndsTheCallAndWhatItsCoroutineWaitsFor) {
    TestRuntime node;
    StuckCoroutine stuck;
    ASSERT_TRUE(node->tools().add(async_tool("stuck", "", stuck.body()).timeout(50ms)));
    std::promise<Outcome> ended;
    node->start(CallRequest("stuck"), Context(),
                [&](Outcome outcome) { ended.set_value(std::move(outcome)); });
    stuck.wait_until_entered();
    node.timers->advance(50ms);
    const Outcome outcome = ended.get_future().get();
    EXPECT_EQ(outcome.state(), State::unknown) << "a coroutine that may have done something";
    EXPECT_EQ(outcome.error()->code, ErrorCode::timed_out);
    stuck.wait_until_left();
}

TEST(Async, CancellingACoroutineDoesNotSettleWhatItDid) {
    TestRuntime node;
    StuckCoroutine stuck;
    ASSERT_TRUE(node->tools().add(async_tool("stuck", "", stuck.body())));
    std::stop_source stop;
    Context context;
    context.idempotency_key = "k";
    context.cancel = stop.get_token();
    std::promise<Outcome> ended;
    node->start(CallRequest("stuck"), context, [&](Outcome outcome) { ended.set_value(std::move(outcome)); });
    stuck.wait_until_entered();
    stop.request_stop();
    EXPECT_EQ(ended.get_future().get().state(), State::unknown);
    stuck.wait_until_left();
    // What the io thread was doing then is done after this.
    std::promise<void> idle;
    asio::post(executor_of(*node.runtime), [&] { idle.set_value(); });
    idle.get_future().wait();
    context.cancel = {};
    EXPECT_EQ(node->call("stuck", {}, context).error()->code, ErrorCode::outcome_unknown);
}

TEST(Async, ACoroutineThatNeverEndsGoesWithTheRuntime) {
    auto runtime = std::make_unique<Runtime>();
    std::promise<void> entered;
    const auto deaf = [&]() -> asio::awaitable<void> {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        entered.set_value();
        co_await forever();
    };
    ASSERT_TRUE(runtime->tools().add(async_tool("deaf", "", deaf)));
    std::promise<Outcome> ended;
    runtime->start(CallRequest("deaf"), Context(),
                   [&](Outcome outcome) { ended.set_value(std::move(outcome)); });
    entered.get_future().wait();
    runtime.reset();
    EXPECT_EQ(ended.get_future().get().error()->code, ErrorCode::cancelled);
}

// Notices and stop requests of a coroutine may be released after the runtime.
TEST(Async, AnExecutorMayBeHeldLongerThanItsRuntime) {
    auto runtime = std::make_unique<Runtime>();
    const auto executor = executor_of(*runtime);
    const auto strand = asio::make_strand(executor);
    const auto work = asio::make_work_guard(executor);
    const auto held = std::make_shared<int>(0);
    asio::steady_timer timer(executor, asio::steady_timer::time_point::max());
    timer.async_wait([held](const boost::system::error_code&) { ++*held; });
    runtime.reset();
    EXPECT_EQ(held.use_count(), 1) << "what waited in it went with it";
    asio::post(executor, [held] { ++*held; });
    asio::post(strand, [held] { ++*held; });
    asio::post(asio::make_strand(executor), [held] { ++*held; });
    EXPECT_EQ(held.use_count(), 1) << "and what comes too late goes at once";
    EXPECT_EQ(*held, 0);
}

TEST(Async, WhatACoroutinePostsToItsOwnExecutorDoesNotRunAtOnce) {
    Runtime runtime;
    const auto body = []() -> asio::awaitable<bool> {
        const auto executor = co_await asio::this_coro::executor;
        const auto ran = std::make_shared<bool>(false);
        asio::post(executor, [ran] { *ran = true; });
        co_return *ran;
    };
    ASSERT_TRUE(runtime.tools().add(async_tool("posts", "", body).read_only()));
    const Outcome outcome = awaited(runtime, "posts");
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome.content(), Value(false));
}

TEST(Async, ToolsRunOnTheExecutorTheHostLends) {
    asio::io_context io;
    auto work = asio::make_work_guard(io);
    std::thread host([&] { io.run(); });
    {
        Runtime runtime;
        use_executor(runtime, io.get_executor());
        const auto where = []() -> asio::awaitable<bool> {
            co_await nap();
            co_return true;
        };
        std::thread::id ran_on;
        const auto noting = [&]() -> asio::awaitable<bool> {
            const bool done = co_await where();
            ran_on = std::this_thread::get_id();
            co_return done;
        };
        ASSERT_TRUE(runtime.tools().add(async_tool("noting", "", noting).read_only()));
        EXPECT_TRUE(runtime.call("noting").ok());
        EXPECT_EQ(ran_on, host.get_id());
    }
    work.reset();
    host.join();
}

TEST(Async, ACoroutineThatHadNotBegunHasNotHappened) {
    asio::io_context io;  // which nobody runs until the call is over
    TestRuntime node;
    use_executor(*node.runtime, io.get_executor());
    int entered = 0;
    const auto pay = [&]() -> asio::awaitable<int> { co_return ++entered; };
    ASSERT_TRUE(node->tools().add(async_tool("pay", "", pay)));
    Context context;
    context.idempotency_key = "k";
    context.timeout = 1s;
    auto call = std::async(std::launch::async, [&] { return node->call("pay", {}, context); });
    while (call.wait_for(0s) != std::future_status::ready) node.timers->advance(100ms);
    const Outcome outcome = call.get();
    EXPECT_EQ(outcome.state(), State::timed_out);
    EXPECT_EQ(outcome.error()->details.at("reason"), "queued");
    io.run();
    EXPECT_EQ(entered, 0) << "it was given up";
    io.restart();
    const auto work = asio::make_work_guard(io);
    auto again = std::async(std::launch::async, [&] { return node->call("pay", {}, context); });
    while (again.wait_for(0s) != std::future_status::ready) io.run_one_for(1ms);
    EXPECT_EQ(again.get().text(), "1") << "the key is free";
}

TEST(Async, ACoroutineThatEndsWithoutWaitingMayBeCancelledMeanwhile) {
    Runtime runtime;
    std::stop_source stop;
    const auto stops = [&]() -> asio::awaitable<int> {
        stop.request_stop();
        co_return 1;
    };
    ASSERT_TRUE(runtime.tools().add(async_tool("stops", "", stops).read_only()));
    for (int i = 0; i < 50; ++i) {
        stop = std::stop_source();
        Context context;
        context.cancel = stop.get_token();
        const State state = runtime.call("stops", {}, context).state();
        EXPECT_TRUE(state == State::succeeded || state == State::cancelled) << to_string(state);
    }
}

TEST(Async, ACoroutineToolMayCallWithoutAwaitingOnTheRuntimesOwnThread) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(add_tool()));  // on a thread of the pool
    const auto inner = []() -> asio::awaitable<int> {
        co_await nap();
        co_return 40;
    };
    ASSERT_TRUE(runtime.tools().add(async_tool("inner", "", inner).read_only()));
    const auto outer = [](CallContext& context) -> asio::awaitable<std::string> {
        co_await nap();
        const std::string one = context.call("inner", {}).text();
        const Args arguments = {{"a", 1}, {"b", 1}};
        co_return one + " " + context.call("add", arguments).text();
    };
    ASSERT_TRUE(runtime.tools().add(async_tool("outer", "", outer).read_only()));
    const auto outermost = [&]() -> asio::awaitable<std::string> { co_return runtime.call("outer").text(); };
    ASSERT_TRUE(runtime.tools().add(async_tool("outermost", "", outermost).read_only()));
    EXPECT_EQ(runtime.call("outermost").text(), "40 2");
}

}  // namespace
}  // namespace callgate::pipeline
