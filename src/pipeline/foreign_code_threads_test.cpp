// Foreign code (observers, `done`, progress functions) may block, throw and call the runtime: nobody else
// waits for it, and each call's comes in order.
#include <atomic>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include <callgate/callgate.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

Tool pooled(std::string name, ToolFunction run) {
    return schema_tool(ToolDefinition(std::move(name), "", Object{{"type", "object"}}), std::move(run));
}

/// Holds whoever comes through it until it is opened.
class Gate {
public:
    void pass() {
        arrived_.store(true);
        arrived_.notify_all();
        opened_.get_future().wait();
    }
    void wait_for_arrival() { arrived_.wait(false); }
    void open() { opened_.set_value(); }

private:
    std::atomic<bool> arrived_{false};
    std::promise<void> opened_;
};

/// Blocks in the telemetry that ends calls of one tool.
class BlockingObserver final : public Observer {
public:
    explicit BlockingObserver(std::string tool) : tool_(std::move(tool)) {}
    void on_telemetry(const TelemetryEvent& event) override {
        const bool ends =
            event.name == TelemetryEvent::Name::stop || event.name == TelemetryEvent::Name::exception;
        if (ends && event.tool == tool_) gate.pass();
    }
    Gate gate;

private:
    std::string tool_;
};

std::future<Outcome> started(Runtime& runtime, std::string tool, Context context = {}) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    auto outcome = promise->get_future();
    runtime.start(CallRequest(std::move(tool)), std::move(context),
                  [promise](Outcome ended) { promise->set_value(std::move(ended)); });
    return outcome;
}

TEST_WITH_EITHER_LEDGER(ForeignCode, AnObserverThatBlocksDelaysNobodysDeadline) {
    TestRuntime node;
    const auto observer = std::make_shared<BlockingObserver>("first");
    node->observe(observer);
    auto first_tool = deferred("first");
    auto second_tool = deferred("second");
    ASSERT_TRUE(node->tools().add(std::move(first_tool.first.timeout(100ms))));
    ASSERT_TRUE(node->tools().add(std::move(second_tool.first.timeout(200ms))));
    auto first = started(*node.runtime, "first");
    auto second = started(*node.runtime, "second");
    node.calm();
    node.timers->advance(150ms);
    observer->gate.wait_for_arrival();
    node.timers->advance(100ms);
    EXPECT_EQ(second.get().error()->code, ErrorCode::timed_out);
    observer->gate.open();
    EXPECT_EQ(first.get().error()->code, ErrorCode::timed_out);
}

TEST(ForeignCode, DoneOfATimedOutCallMayCallTheRuntimeAndItsDeadlinesHold) {
    Runtime runtime;
    std::promise<void> go_on;
    const std::shared_future<void> released = go_on.get_future().share();
    ASSERT_TRUE(runtime.tools().add(pooled("deaf", [released](const Object&, CallContext&) -> ToolReturn {
                                        released.wait();
                                        return ToolResult(Value("at last"));
                                    }).timeout(20ms)));
    std::promise<Outcome> inner;
    runtime.start(CallRequest("deaf"), {}, [&](Outcome) { inner.set_value(runtime.call("deaf")); });
    EXPECT_EQ(inner.get_future().get().error()->code, ErrorCode::timed_out);
    go_on.set_value();
}

TEST(ForeignCode, AToolIsToldToStopWhileOthersCallbacksBlock) {
    RuntimeOptions options;
    options.callback_threads = 1;
    Runtime runtime(std::move(options));
    // Else it may end while start() has this thread, and `done` would be run here.
    std::promise<void> has_started;
    ASSERT_TRUE(runtime.tools().add(pooled("quick", [&](const Object&, CallContext&) -> ToolReturn {
        has_started.get_future().wait();
        return ToolResult(Value(1));
    })));
    std::atomic<bool> entered{false};
    std::promise<void> told;
    ASSERT_TRUE(runtime.tools().add(pooled("obeys", [&](const Object&, CallContext& context) -> ToolReturn {
                                        entered = true;
                                        while (!context.cancelled()) std::this_thread::yield();
                                        told.set_value();
                                        return ToolResult(Value(1));
                                    }).timeout(20ms)));
    Gate gate;
    runtime.start(CallRequest("quick"), {}, [&](Outcome) { gate.pass(); });
    has_started.set_value();
    gate.wait_for_arrival();
    do {  // on a busy machine its time may be over before it begins, and then nobody has to stop
        EXPECT_EQ(runtime.call("obeys").error()->code, ErrorCode::timed_out);
    } while (!entered);
    told.get_future().wait();
    gate.open();
}

TEST_WITH_EITHER_LEDGER(ForeignCode, WhatDoneThrowsIsCountedAndEndsNothing) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(
        pooled("work", [](const Object&, CallContext&) -> ToolReturn { return ToolResult(Value(1)); })));
    ASSERT_TRUE(node->tools().add(pooled("here", [](const Object&, CallContext&) -> ToolReturn {
                                      return ToolResult(Value(1));
                                  }).run_inline()));
    node->start(CallRequest("work"), {}, [](Outcome) { throw std::runtime_error("from a pool"); });
    node->start(CallRequest("here"), {}, [](Outcome) { throw 7; });
    while (node->stats().observer_faults < 2) std::this_thread::yield();
    EXPECT_TRUE(node->call("work").ok());
}

TEST_WITH_EITHER_LEDGER(ForeignCode, ProgressComesOnTheThreadThatWaitsForTheCall) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(pooled("work", [](const Object&, CallContext& context) -> ToolReturn {
        for (int i = 1; i <= 5; ++i) context.progress("step", i, 5);
        return ToolResult(Value("done"));
    })));
    std::vector<std::uint64_t> numbers;
    std::set<std::thread::id> threads;
    Context context;
    context.on_progress = [&](const Progress& progress) {
        numbers.push_back(progress.sequence);
        threads.insert(std::this_thread::get_id());
    };
    EXPECT_TRUE(node->call("work", {}, context).ok());
    EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4, 5));
    EXPECT_THAT(threads, ElementsAre(std::this_thread::get_id()));
}

TEST_WITH_EITHER_LEDGER(ForeignCode, ProgressThatNobodyTakesIsMergedAndTheLastIsThere) {
    TestRuntime node;
    constexpr int kTold = 10'000;
    Gate gate;
    ASSERT_TRUE(node->tools().add(pooled("work", [&](const Object&, CallContext& context) -> ToolReturn {
        context.progress("begins");
        gate.wait_for_arrival();
        for (int i = 0; i < kTold; ++i) context.progress("step", i);
        gate.open();
        return ToolResult(Value("done"));
    })));
    std::size_t heard = 0;
    std::optional<double> last;
    Context context;
    context.on_progress = [&](const Progress& progress) {
        if (++heard == 1) gate.pass();
        last = progress.done;
    };
    EXPECT_TRUE(node->call("work", {}, context).ok());
    EXPECT_LT(heard, 1'000u);
    EXPECT_EQ(last, kTold - 1);
}

/// One line for each thing it is notified of.
class SequenceObserver final : public Observer {
public:
    void on_telemetry(const TelemetryEvent& event) override { add(std::string(to_string(event.name))); }
    void on_progress(const Progress& progress) override {
        add("progress " + std::to_string(progress.sequence));
    }
    bool wants_audit() const override { return false; }
    bool wants_log() const override { return false; }
    void add(std::string line) {
        const std::lock_guard lock(mutex);
        lines.push_back(std::move(line));
    }
    std::mutex mutex;
    std::vector<std::string> lines;
};

TEST_WITH_EITHER_LEDGER(ForeignCode, OfOneCallComesInOrderWhicheverThreadsItEndsOn) {
    for (int round = 0; round < 50; ++round) {
        TestRuntime node;
        const auto observer = std::make_shared<SequenceObserver>();
        node->observe(observer);
        ASSERT_TRUE(node->tools().add(pooled("work", [](const Object&, CallContext& context) -> ToolReturn {
            context.progress("one");
            context.progress("two");
            return ToolResult(Value("done"));
        })));
        std::promise<void> done;
        node->start(CallRequest("work"), {}, [&](Outcome) {
            observer->add("done");
            done.set_value();
        });
        done.get_future().wait();
        node.calm();
        EXPECT_THAT(observer->lines, ElementsAre("start", "progress 1", "progress 2", "stop", "done"));
    }
}

TEST_WITH_EITHER_LEDGER(ForeignCode, WhoLetsGoOfAResourceDoesNotWaitForTheNextInLine) {
    TestRuntime node;
    const auto observer = std::make_shared<BlockingObserver>("second");
    node->observe(observer);
    Gate inside;
    const auto tool = [](std::string name, ToolFunction run) {
        Tool made = schema_tool(
            ToolDefinition(
                std::move(name), "",
                Object{{"type", "object"}, {"properties", Object{{"door", Object{{"type", "string"}}}}}}),
            std::move(run));
        made.resource_key("/door").connector("doors").run_inline();
        return made;
    };
    ASSERT_TRUE(node->tools().add(tool("first", [&](const Object&, CallContext&) -> ToolReturn {
        inside.pass();
        return ToolResult(Value(1));
    })));
    ASSERT_TRUE(node->tools().add(
        tool("second", [](const Object&, CallContext&) -> ToolReturn { return ToolResult(Value(2)); })));
    std::future<Outcome> first =
        std::async(std::launch::async, [&] { return node->call("first", {{"door", "north"}}); });
    inside.wait_for_arrival();
    std::promise<Outcome> second;
    node->start(CallRequest("second", {{"door", "north"}}), {},
                [&](Outcome ended) { second.set_value(std::move(ended)); });
    inside.open();
    EXPECT_TRUE(first.get().ok());
    observer->gate.wait_for_arrival();
    observer->gate.open();
    EXPECT_TRUE(second.get_future().get().ok());
}

TEST_WITH_EITHER_LEDGER(ForeignCode, ARuntimeMayEndWhileAnObserverBlocks) {
    const auto observer = std::make_shared<BlockingObserver>("work");
    std::promise<Outcome> ended;
    std::thread opener([&] {
        observer->gate.wait_for_arrival();
        observer->gate.open();
    });
    {
        TestRuntime node;
        node->observe(observer);
        ASSERT_TRUE(node->tools().add(
            pooled("work", [](const Object&, CallContext&) -> ToolReturn { return ToolResult(Value(1)); })));
        node->start(CallRequest("work"), {}, [&](Outcome outcome) { ended.set_value(std::move(outcome)); });
    }
    opener.join();
    (void)ended.get_future().get();
}

}  // namespace
}  // namespace callgate::pipeline
