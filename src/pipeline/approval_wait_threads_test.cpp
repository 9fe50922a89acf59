// Whoever waits for a decision hears of it, whenever it comes; nobody is called after the handle has gone.
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "os/scratch_dir.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

Tool pay() {
    return tool("pay", "", [](std::int64_t n) { return n; }, param("n")).risk(Risk::high);
}

// Decided just before, while and just after somebody begins to wait.
void decide_while_others_wait(Runtime& runtime, int rounds) {
    ASSERT_TRUE(runtime.tools().add(pay()));
    for (int i = 0; i < rounds; ++i) {
        const Outcome asked = runtime.call("pay", {{"n", i}});
        ASSERT_EQ(asked.state(), State::needs_approval);
        std::atomic<int> ready{0};
        const auto together = [&] {
            ++ready;
            while (ready < 3) std::this_thread::yield();
        };
        auto one = std::async(std::launch::async, [&] {
            together();
            return runtime.approvals().wait(asked.approval_id());
        });
        auto decides = std::async(std::launch::async, [&] {
            together();
            return runtime.approvals().approve(asked.approval_id(), "olga");
        });
        std::promise<Result<Approval>> other;
        together();
        runtime.approvals().when_decided(
            asked.approval_id(), [&](Result<Approval> decided) { other.set_value(std::move(decided)); });
        ASSERT_TRUE(decides.get());
        const auto waited = one.get();
        ASSERT_TRUE(waited);
        EXPECT_EQ(waited->state, ApprovalState::approved);
        EXPECT_EQ(other.get_future().get()->state, ApprovalState::approved);
    }
}

TEST(ApprovalWaitThreads, NoDecisionIsMissedInMemory) {
    Runtime runtime;
    decide_while_others_wait(runtime, 100);
}

TEST(ApprovalWaitThreads, NoDecisionIsMissedInADurableLedger) {
    const os::ScratchDir directory;
    RuntimeOptions options;
    options.ledger_dir = directory.path() + "/ledger";
    options.ledger_mark_dir = directory.path();
    auto opened = Runtime::open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    decide_while_others_wait(**opened, 20);
}

TEST(ApprovalWaitThreads, ADecisionATimeoutAndACancelGiveOneAnswer) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(pay()));
    for (int i = 0; i < 100; ++i) {
        const Outcome asked = runtime.call("pay", {{"n", i}});
        std::stop_source stop;
        std::atomic<int> answers{0};
        std::promise<void> answered;
        runtime.approvals().when_decided(
            asked.approval_id(),
            [&](const Result<Approval>&) {
                ++answers;
                answered.set_value();
            },
            1ms, stop.get_token());
        auto cancels = std::async(std::launch::async, [&] { stop.request_stop(); });
        EXPECT_TRUE(runtime.approvals().approve(asked.approval_id(), "olga"));
        cancels.get();
        answered.get_future().wait();
        EXPECT_EQ(answers, 1);
    }
}

TEST(ApprovalWaitThreads, TheEndOfTheRuntimeEndsAllWaits) {
    for (int i = 0; i < 20; ++i) {
        auto runtime = std::make_unique<Runtime>();
        ASSERT_TRUE(runtime->tools().add(pay()));
        const Outcome asked = runtime->call("pay", {{"n", i}});
        const auto core = runtime->core();
        constexpr int kWaits = 4;
        std::atomic<int> ended{0};
        std::vector<std::future<Result<Approval>>> blocked;
        // Through the core's own: a runtime must not be used any more once its destructor has begun.
        std::atomic<int> begun{0};
        for (int j = 0; j < kWaits; ++j) {
            runtime->approvals().when_decided(asked.approval_id(), [&](const Result<Approval>& decided) {
                EXPECT_FALSE(decided);
                ++ended;
            });
            blocked.push_back(std::async(std::launch::async, [&, &approvals = runtime->approvals()] {
                ++begun;
                return approvals.wait(asked.approval_id());
            }));
        }
        while (begun < kWaits) std::this_thread::yield();
        core->close();
        for (auto& one : blocked) EXPECT_EQ(one.get().error().code, ErrorCode::cancelled);
        runtime.reset();
        EXPECT_EQ(ended, kWaits);
    }
}

TEST(ApprovalWaitThreads, ListenersComeAndGoWhileApprovalsChange) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(pay()));
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            while (!over) {
                auto heard = std::make_shared<std::atomic<int>>(0);
                const auto handle =
                    runtime.approvals().on_change([heard](const ApprovalChange&) { ++*heard; });
                EXPECT_TRUE(handle);
                while (!over && *heard == 0) std::this_thread::yield();
            }
        });
    }
    // One that stays hears of everything, in order.
    std::mutex mutex;
    std::map<std::string, std::vector<ApprovalChange::What>> seen;
    std::promise<void> all;
    constexpr std::size_t kAsked = 200;
    std::size_t decided = 0;
    auto handle = runtime.approvals().on_change([&](const ApprovalChange& change) {
        const std::lock_guard lock(mutex);
        seen[change.approval.id].push_back(change.what);
        if (change.what == ApprovalChange::What::decided && ++decided == kAsked) all.set_value();
    });
    std::vector<std::thread> askers;
    for (int t = 0; t < 4; ++t) {
        askers.emplace_back([&, t] {
            for (std::size_t i = 0; i < kAsked / 4; ++i) {
                Context context;
                context.principal = "agent" + std::to_string(t);
                const Outcome asked =
                    runtime.call("pay", {{"n", static_cast<std::int64_t>(i)}}, std::move(context));
                EXPECT_TRUE(runtime.approvals().deny(asked.approval_id(), "olga"));
            }
        });
    }
    for (auto& one : askers) one.join();
    all.get_future().wait();
    over = true;
    for (auto& one : threads) one.join();
    handle.value().reset();
    EXPECT_EQ(seen.size(), kAsked);
    const std::vector order{ApprovalChange::What::opened, ApprovalChange::What::decided};
    for (const auto& [id, whats] : seen) EXPECT_EQ(whats, order) << id;
}

// Counts the calls it is notified of; several threads make them while it is attached and taken away.
struct CountingObserver final : Observer {
    void on_telemetry(const TelemetryEvent& event) override {
        if (event.name == TelemetryEvent::Name::start) ++starts;
    }
    std::atomic<int> starts{0};
};

TEST(ObserverThreads, ComeAndGoWhileCallsRun) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(tool("here", "", [] { return 1; }).read_only().run_inline()));
    ASSERT_TRUE(runtime.tools().add(tool("pool", "", [] { return 1; }).read_only()));
    std::atomic<bool> over{false};
    std::vector<std::thread> callers;
    for (int t = 0; t < 3; ++t) {
        callers.emplace_back([&, t] {
            while (!over) EXPECT_TRUE(runtime.call(t == 0 ? "pool" : "here").ok());
        });
    }
    std::vector<std::weak_ptr<CountingObserver>> gone;
    for (int i = 0; i < 50; ++i) {
        auto observer = std::make_shared<CountingObserver>();
        runtime.observe(observer);
        while (observer->starts == 0) std::this_thread::yield();
        EXPECT_TRUE(runtime.unobserve(observer));
        gone.push_back(observer);
    }
    over = true;
    for (auto& one : callers) one.join();
    for (const auto& one : gone) {
        while (!one.expired()) std::this_thread::yield();  // a thread of the pool releases its call last
    }
}

}  // namespace
}  // namespace callgate::pipeline
