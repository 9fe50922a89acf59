// Calls that are made from inside a tool's body, whichever way: blocking, awaited, in a batch, through the
// runtime.
#include <callgate/async.h>

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>

#include "pipeline/async_testing.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<int> forty() {
    co_await nap();
    co_return 40;
}

/// An executor of the host's, with one thread.
struct Host {
    Host() : work(asio::make_work_guard(io)), thread([this] { io.run(); }) {}
    ~Host() {
        work.reset();
        thread.join();
    }
    asio::io_context io;
    asio::executor_work_guard<asio::io_context::executor_type> work;
    std::thread thread;
};

// Cancellation slots.

TEST(Cancelling, AnAwaitedCallHonoursItsSlotAndCompletesWithItsOutcome) {
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::total,
                            asio::cancellation_type::partial}) {
        TestRuntime node;
        auto [slow, body] = deferred("slow");
        node->tools().add_or_throw(slow.read_only());
        asio::io_context io;
        asio::cancellation_signal signal;
        std::optional<Outcome> ended;
        node->async_call(CallRequest("slow"), Context(),
                         asio::bind_cancellation_slot(
                             signal.slot(), asio::bind_executor(io.get_executor(), [&](Outcome outcome) {
                                 ended = std::move(outcome);
                             })));
        ASSERT_EQ(body->waiting(), 1u);
        signal.emit(asio::cancellation_type::none);
        signal.emit(type);
        io.run();
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->state(), State::cancelled);
    }
}

TEST(Cancelling, TheContextsOwnSignalStillWorksBesideASlot) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.read_only());
    asio::io_context io;
    asio::cancellation_signal signal;
    std::stop_source stop;
    Context context;
    context.cancel = stop.get_token();
    std::optional<Outcome> ended;
    node->async_call(CallRequest("slow"), context,
                     asio::bind_cancellation_slot(
                         signal.slot(), asio::bind_executor(io.get_executor(), [&](Outcome outcome) {
                             ended = std::move(outcome);
                         })));
    stop.request_stop();
    io.run();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->state(), State::cancelled);
    signal.emit(asio::cancellation_type::terminal);  // too late, and to nobody
}

TEST(Cancelling, ACoroutineThatIsCancelledCancelsTheCallItAwaits) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.read_only());
    asio::io_context io;
    asio::cancellation_signal signal;
    std::optional<State> seen;
    const auto waits = [&]() -> asio::awaitable<void> {
        const Outcome outcome = co_await node->async_call("slow");
        seen = outcome.state();
    };
    asio::co_spawn(io, waits, asio::bind_cancellation_slot(signal.slot(), asio::detached));
    while (body->waiting() == 0) io.poll();
    signal.emit(asio::cancellation_type::terminal);
    io.run();
    EXPECT_EQ(seen, State::cancelled);
}

// Awaited from inside.

TEST(Inside, AnAwaitedCallKeepsParentScopesDeadlineDepthAndSecrets) {
    RuntimeOptions options;
    options.max_nesting = 2;
    TestRuntime node(options);
    std::string parent;
    node->tools().add_or_throw(tool("leaf", "", [&](CallContext& context) {
                                   parent = context.call_id();
                                   return context.time_left() <= 5s && context.caller().principal == "ann";
                               }).scopes({"leaf:use"}));
    const auto middle = [](CallContext& context) -> asio::awaitable<std::string> {
        const Outcome inner = co_await async_call(context, "leaf");
        co_return inner.text() + " " + std::string(to_string(inner.state())) + " " + inner.parent_call_id();
    };
    node->tools().add_or_throw(async_tool("middle", "", middle));
    Context context;
    context.principal = "ann";
    context.scopes = {"leaf:use"};
    context.timeout = 5s;
    const Outcome outer = node->call("middle", {}, context);
    EXPECT_EQ(outer.text(), "true succeeded " + outer.call_id());
    context.scopes = {};
    EXPECT_EQ(node->call("middle", {}, context).text().substr(0, 13), " scope_denied");
    const auto again = [](CallContext& own) -> asio::awaitable<std::string> {
        const Outcome inner = co_await async_call(own, "again");
        co_return inner.ok() ? "." + inner.text() : reason_of(inner);
    };
    node->tools().add_or_throw(async_tool("again", "", again));
    EXPECT_EQ(node->call("again").text(), "..nesting_too_deep");
}

TEST(Inside, AnAwaitedCallWorksOnALentExecutorWithOneThread) {
    Host host;
    Runtime runtime;
    use_executor(runtime, host.io.get_executor());
    runtime.tools().add_or_throw(async_tool("inner", "", forty).read_only());
    const auto outer = [](CallContext& context) -> asio::awaitable<int> {
        const Outcome inner = co_await async_call(context, "inner");
        co_return inner.ok() ? std::stoi(inner.text()) + 2 : -1;
    };
    runtime.tools().add_or_throw(async_tool("outer", "", outer).read_only());
    EXPECT_EQ(runtime.call("outer").text(), "42");
}

TEST(Inside, AnAwaitedCallEndsWithTheOneThatAwaitsIt) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.read_only());
    const auto outer = [](CallContext& context) -> asio::awaitable<std::string> {
        const Outcome inner = co_await async_call(context, "slow");
        co_return std::string(to_string(inner.state()));
    };
    node->tools().add_or_throw(async_tool("outer", "", outer).read_only());
    std::stop_source stop;
    Context context;
    context.cancel = stop.get_token();
    std::promise<Outcome> ended;
    node->start(CallRequest("outer"), context, [&](Outcome outcome) { ended.set_value(std::move(outcome)); });
    while (body->waiting() == 0) std::this_thread::yield();
    stop.request_stop();
    EXPECT_EQ(ended.get_future().get().state(), State::cancelled);
    const auto inner = body->take();
    while (!inner->context().cancelled()) std::this_thread::yield();  // it is notified, if a moment later
}

// Blocking on a thread that is needed.

TEST(Inside, ABatchInACoroutineToolDoesNotBlockTheThreadItNeeds) {
    Runtime runtime;
    runtime.tools().add_or_throw(async_tool("inner", "", forty).read_only());
    runtime.tools().add_or_throw(tool("pooled", "", [] { return 2; }).read_only());
    const auto outer = [&]() -> asio::awaitable<std::string> {
        co_await nap();
        std::vector<CallRequest> calls(40, CallRequest("inner"));
        calls.emplace_back("pooled");
        std::string all;
        for (const Outcome& outcome : runtime.call_batch(calls)) all += outcome.ok() ? "." : "x";
        co_return all;
    };
    runtime.tools().add_or_throw(async_tool("outer", "", outer).read_only());
    EXPECT_EQ(runtime.call("outer").text(), std::string(41, '.'));
}

TEST(Inside, WhatWouldBlockALentExecutorForEverIsRefusedAndSaysWhy) {
    Host host;
    Runtime runtime;
    use_executor(runtime, host.io.get_executor());
    runtime.tools().add_or_throw(async_tool("inner", "", forty));
    runtime.tools().add_or_throw(tool("pooled", "", [] { return 2; }));
    runtime.tools().add_or_throw(
        tool("through", "", [](CallContext& context) { return reason_of(context.call("inner", {})); }));
    const auto outer = [&](CallContext& context) -> asio::awaitable<std::string> {
        co_await nap();
        std::string all = reason_of(context.call("inner", {}));
        all += " " + reason_of(runtime.call("inner"));
        all += " " + reason_of(runtime.call_batch({CallRequest("inner")})[0]);
        all += " " + runtime.call("through").text();
        co_return all + " " + runtime.call("pooled").text();
    };
    runtime.tools().add_or_throw(async_tool("outer", "", outer));
    EXPECT_EQ(runtime.call("outer").text(), "would_block would_block would_block would_block 2");
    EXPECT_EQ(runtime.call("inner").text(), "40") << "from any other thread it works";

    // Not a tool's body, but the host's own code on that executor.
    std::promise<std::string> told;
    asio::post(host.io, [&] { told.set_value(reason_of(runtime.call("inner"))); });
    EXPECT_EQ(told.get_future().get(), "would_block");
}

TEST(Inside, ALentPoolWithAThreadLeftIsUsed) {
    asio::thread_pool pool(2);
    Runtime runtime;
    use_executor(runtime, pool.get_executor());
    runtime.tools().add_or_throw(async_tool("inner", "", forty));
    const auto outer = [](CallContext& context) -> asio::awaitable<std::string> {
        co_return context.call("inner", {}).text();
    };
    runtime.tools().add_or_throw(async_tool("outer", "", outer));
    EXPECT_EQ(runtime.call("outer").text(), "40");
    pool.join();
}

// Through the runtime instead of the context.

Tool caller(std::string name, std::function<std::string()> body) {
    return tool(std::move(name), "", std::move(body));
}

TEST_WITH_EITHER_LEDGER(Inside, ACallOfTheRuntimeItselfCountsAsNestedWhicheverWayItIsMade) {
    RuntimeOptions options;
    options.max_nesting = 3;
    TestRuntime node(options);
    const auto said = [](const Outcome& outcome) {
        return outcome.ok() ? "." + outcome.text() : reason_of(outcome);
    };
    node->tools().add_or_throw(caller("call", [&] { return said(node->call("call")); }));
    node->tools().add_or_throw(caller("inlined", [&] { return said(node->call("inlined")); }).run_inline());
    node->tools().add_or_throw(
        caller("batch", [&] { return said(node->call_batch({CallRequest("batch")})[0]); }));
    node->tools().add_or_throw(caller("start", [&] {
        std::promise<Outcome> ended;
        node->start(CallRequest("start"), Context(),
                    [&](Outcome outcome) { ended.set_value(std::move(outcome)); });
        return said(ended.get_future().get());
    }));
    const auto awaits = [&]() -> asio::awaitable<std::string> {
        co_await nap();
        co_return said(co_await node->async_call("awaits"));
    };
    node->tools().add_or_throw(async_tool("awaits", "", awaits));
    for (const char* name : {"call", "inlined", "batch", "start", "awaits"})
        EXPECT_EQ(node->call(name).text(), "...nesting_too_deep") << name;
}

TEST_WITH_EITHER_LEDGER(Inside, ACallOfTheRuntimeItselfNeedNotWaitForWhatItsParentHolds) {
    TestRuntime node;
    const auto on_path = [](Tool made) { return made.resource_key("/path").open_arguments(); };
    node->tools().add_or_throw(on_path(tool("inner", "", [](const Object&) { return 1; })));
    std::string parent;
    node->tools().add_or_throw(on_path(tool("outer", "", [&](const Object&) {
        const Outcome inner = node->call("inner", {{"path", "/a"}});
        parent = inner.parent_call_id();
        return inner.text();
    })));
    const Outcome outer = node->call("outer", {{"path", "/a"}});
    EXPECT_EQ(outer.text(), "1");
    EXPECT_EQ(parent, outer.call_id());
}

TEST(Inside, ACallOfTheRuntimeItselfKeepsItsOwnContext) {
    TestRuntime node;
    node->tools().add_or_throw(
        tool("who", "", [](CallContext& context) { return context.caller().principal; }));
    node->tools().add_or_throw(tool("asks", "", [&] {
        Context other;
        other.principal = "bob";
        return node->call("who", {}, other).text() + node->call("who").text();
    }));
    Context ann;
    ann.principal = "ann";
    EXPECT_EQ(node->call("asks", {}, ann).text(), "boblocal");
}

TEST(Inside, WhatACallbackCallsIsNotInsideTheToolThatEnded) {
    TestRuntime node;
    node->tools().add_or_throw(tool("t", "", [] { return 1; }).run_inline());
    const auto body = []() -> asio::awaitable<int> {
        co_await nap();
        co_return 1;
    };
    node->tools().add_or_throw(async_tool("coroutine", "", body));
    for (const char* name : {"t", "coroutine"}) {
        std::promise<std::string> parent;
        node->start(CallRequest(name), Context(),
                    [&](const Outcome&) { parent.set_value(node->call("t").parent_call_id()); });
        EXPECT_EQ(parent.get_future().get(), "") << name;
    }
    TestRuntime other;
    other->tools().add_or_throw(tool("t", "", [] { return 1; }));
    node->tools().add_or_throw(tool("elsewhere", "", [&] { return other->call("t").parent_call_id(); }));
    EXPECT_EQ(node->call("elsewhere").text(), "") << "another runtime knows nothing of this one's calls";
}

}  // namespace
}  // namespace callgate::pipeline
