// What never began has not happened: a call that ends while it waits for a thread leaves nothing behind.
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include <callgate/callgate.h>

#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

RuntimeOptions one_thread() {
    RuntimeOptions options;
    options.pool_threads = 1;
    return options;
}

/// A runtime whose only thread for tools is held by `hold` until it is called off or the test says so.
struct HeldPool {
    explicit HeldPool(RuntimeOptions options = one_thread()) : node(std::move(options)) {
        const Object schema{{"type", "object"}};
        EXPECT_TRUE(node->tools().add(schema_tool(
            ToolDefinition("hold", "", schema), [this](const Object&, CallContext& context) -> ToolReturn {
                std::unique_lock lock(mutex);
                held.set_value();
                changed.wait(lock, context.cancel(), [this] { return released; });
                return ToolResult(Value("held"));
            })));
        EXPECT_TRUE(node->tools().add(schema_tool(ToolDefinition("send", "", schema),
                                                  [this](const Object&, CallContext&) -> ToolReturn {
                                                      ++entered;
                                                      return ToolResult(Value("sent"));
                                                  })
                                          .open_arguments()));
        holder = std::make_shared<std::optional<Outcome>>();
        node->start(CallRequest("hold"), {}, [kept = holder](Outcome ended) { *kept = std::move(ended); });
        held.get_future().wait();
    }
    ~HeldPool() { release(); }
    HeldPool(const HeldPool&) = delete;
    HeldPool& operator=(const HeldPool&) = delete;

    void release() {
        {
            const std::lock_guard lock(mutex);
            released = true;
        }
        changed.notify_all();
    }
    Ended start(const std::string& key, std::chrono::milliseconds timeout = 600ms,
                std::stop_token stop = {}) {
        CallRequest request("send");
        request.timeout = timeout;
        Context context = with_key(key);
        context.cancel = std::move(stop);
        return node.start(std::move(request), std::move(context));
    }

    std::mutex mutex;
    std::condition_variable_any changed;
    bool released = false;
    std::promise<void> held;
    std::atomic<int> entered = 0;
    TestRuntime node;
    Ended holder;
};

TEST_WITH_EITHER_LEDGER(NeverBegan, ADeadlineInTheQueueEndsAsTimedOutAndTheKeyIsFree) {
    HeldPool host;
    const Ended ended = host.start("k");
    host.node.advance(700ms);
    ASSERT_TRUE(*ended);
    EXPECT_EQ((*ended)->state(), State::timed_out);
    EXPECT_EQ(reason_of(**ended), "queued");
    EXPECT_FALSE((*ended)->data().dispatched);
    EXPECT_EQ((*ended)->attempts(), 0u);
    EXPECT_EQ(host.entered, 0);
    EXPECT_EQ(host.node->tools().get("send")->health.consecutive_errors, 0u);

    host.release();
    EXPECT_TRUE(host.node->call("send", {}, with_key("k")).ok());
    EXPECT_EQ(host.entered, 1);
}

TEST_WITH_EITHER_LEDGER(NeverBegan, ACancelInTheQueueEndsAsCancelledAndTheKeyIsFree) {
    HeldPool host;
    std::stop_source stop;
    const Ended ended = host.start("k", 600ms, stop.get_token());
    stop.request_stop();
    host.node.calm();
    ASSERT_TRUE(*ended);
    EXPECT_EQ((*ended)->state(), State::cancelled);
    EXPECT_EQ(reason_of(**ended), "queued");
    host.release();
    EXPECT_TRUE(host.node->call("send", {}, with_key("k")).ok());
    EXPECT_EQ(host.entered, 1);
}

TEST_WITH_EITHER_LEDGER(NeverBegan, AnOrderlyShutdownWithAQueueLeavesNothingUnknown) {
    std::vector<Ended> ended;
    std::shared_ptr<ledger::MemoryLedger> ledger;
    {
        HeldPool host;
        ledger = host.node.ledger;
        for (int i = 0; i < 50; ++i) ended.push_back(host.start("k" + std::to_string(i)));
        host.node.runtime.reset();
        EXPECT_EQ(host.entered, 0);
    }
    for (const Ended& one : ended) {
        ASSERT_TRUE(*one);
        EXPECT_EQ((*one)->state(), State::cancelled);
        EXPECT_EQ(reason_of(**one), "queued");
    }
    const auto unknown = ledger->list(ledger::CallState::unknown);
    ASSERT_TRUE(unknown);
    for (const ledger::CallRow& row : *unknown) EXPECT_EQ(row.key.tool, "hold");
}

TEST_WITH_EITHER_LEDGER(NeverBegan, AFullQueueRefusesBeforeAnythingHappenedAndSaysTryAgain) {
    RuntimeOptions options = one_thread();
    options.max_queued_calls = 2;
    HeldPool host(options);
    const Ended first = host.start("k1");
    const Ended second = host.start("k2");
    const Ended third = host.start("k3");
    EXPECT_FALSE(*first);
    EXPECT_FALSE(*second);
    ASSERT_TRUE(*third);
    EXPECT_EQ((*third)->state(), State::unavailable);
    EXPECT_EQ(reason_of(**third), "queue_full");
    EXPECT_TRUE((*third)->error()->retryable);
    host.release();
    EXPECT_TRUE(host.node->call("send", {}, with_key("k1")).ok());  // waits for the first
    EXPECT_TRUE(host.node->call("send", {}, with_key("k2")).ok());
    EXPECT_TRUE(host.node->call("send", {}, with_key("k3")).ok());
}

TEST(NeverBegan, TheBytesOfQueuedArgumentsAreBounded) {
    RuntimeOptions options = one_thread();
    options.max_queued_bytes = 10'000;
    HeldPool host(options);
    const auto send = [&] {
        Args args = {{"text", std::string(6'000, 'x')}};
        return host.node.start(CallRequest("send", std::move(args)));
    };
    const Ended first = send();
    const Ended second = send();
    EXPECT_FALSE(*first);
    ASSERT_TRUE(*second);
    EXPECT_EQ(reason_of(**second), "queue_full");
}

TEST(NeverBegan, BlockingToolsGetThreadsByDemandNotByProcessors) {
    constexpr int kBlocking = 48;
    Runtime runtime;
    std::atomic<int> inside = 0;
    std::promise<void> all;
    std::shared_future<void> everybody = all.get_future().share();
    ASSERT_TRUE(runtime.tools().add(schema_tool(ToolDefinition("block", "", Object{{"type", "object"}}),
                                                [&](const Object&, CallContext&) -> ToolReturn {
                                                    if (++inside == kBlocking) all.set_value();
                                                    everybody.wait();
                                                    return ToolResult(Value("met"));
                                                })));
    std::vector<std::future<Outcome>> outcomes;
    for (int i = 0; i < kBlocking; ++i) {
        auto promise = std::make_shared<std::promise<Outcome>>();
        outcomes.push_back(promise->get_future());
        runtime.start(CallRequest("block"), {},
                      [promise](Outcome ended) { promise->set_value(std::move(ended)); });
    }
    for (auto& outcome : outcomes) EXPECT_TRUE(outcome.get().ok());
}

}  // namespace
}  // namespace callgate::pipeline
