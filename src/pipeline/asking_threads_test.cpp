// Calls that are begun, asked about, called off and drained from many threads at once. Under ThreadSanitizer.
#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <callgate/callgate.h>

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

/// Keeps questions for threads that answer them, or release them.
class Inbox final : public InputChannel {
public:
    InputAbilities abilities() const override { return {true, true, true, true}; }
    void ask(std::shared_ptr<PendingInput> question) override {
        const std::lock_guard lock(mutex_);
        open_.push_back(std::move(question));
    }
    std::shared_ptr<PendingInput> take() {
        const std::lock_guard lock(mutex_);
        if (open_.empty()) return nullptr;
        auto first = std::move(open_.front());
        open_.pop_front();
        return first;
    }

private:
    std::mutex mutex_;
    std::deque<std::shared_ptr<PendingInput>> open_;
};

/// Names, each of which is noted once.
class Noted {
public:
    void note(std::string name) {
        const std::lock_guard lock(mutex_);
        if (!names_.insert(std::move(name)).second) ++twice_;
    }
    int twice() const { return twice_; }
    /// Once nobody notes any more.
    const std::set<std::string>& names() const { return names_; }

private:
    std::mutex mutex_;
    std::set<std::string> names_;
    int twice_ = 0;
};

TEST(AskingThreads, EveryQuestionAndEveryCallEndsOnceWhoeverIsFirst) {
    constexpr int kCalls = 600;
    constexpr int kCallers = 3;
    std::atomic<int> answered{0};
    std::atomic<int> asked{0};
    std::atomic<int> done{0};
    Noted ran;
    Noted recorded;
    std::atomic<bool> over{false};
    const auto inbox = std::make_shared<Inbox>();
    {
        RuntimeOptions options;
        options.pool_threads = 8;
        options.max_suspended_calls = 6;
        Runtime runtime(options);
        runtime.tools().add_or_throw(tool("ask", "", [&](CallContext& context) {
                                         ++asked;
                                         ran.note(context.call_id());
                                         context.ask(InputRequest::roots(),
                                                     [&](const Result<InputAnswer>&) { ++answered; });
                                         return context.ask(InputRequest::roots()).has_value();
                                     }).risk(Risk::low));
        std::vector<std::jthread> threads;
        for (int i = 0; i < 2; ++i) {
            threads.emplace_back([&, i] {
                std::minstd_rand random(static_cast<unsigned>(i) + 1);
                while (!over) {
                    auto question = inbox->take();
                    if (!question) {
                        std::this_thread::yield();
                        continue;
                    }
                    question->on_withdrawn([] {});
                    if (random() % 4 != 0) (void)question->answer(InputAnswer::decline());
                }
            });
        }
        threads.emplace_back([&] {
            std::minstd_rand random(7);
            while (!over) {
                for (const RunningCall& call : runtime.running()) {
                    (void)runtime.outcome(call.call_id);
                    if (random() % 3 == 0) runtime.cancel(call.call_id);
                }
                std::this_thread::yield();
            }
        });
        std::vector<std::jthread> callers;
        for (int i = 0; i < kCallers; ++i) {
            callers.emplace_back([&, i] {
                std::minstd_rand random(static_cast<unsigned>(i) + 100);
                for (int n = 0; n < kCalls / kCallers; ++n) {
                    Context context;
                    context.input = inbox;
                    if (random() % 2 == 0) context.cancel_grace = 5ms;
                    if (random() % 8 == 0) context.timeout = 1ms;
                    Completion completion([&](const Outcome&) { ++done; });
                    completion.recorded = [&](std::string_view id) { recorded.note(std::string(id)); };
                    runtime.start(CallRequest("ask"), context, completion);
                    while (n - 50 > done) std::this_thread::yield();
                }
            });
        }
        callers.clear();
        EXPECT_EQ(runtime.drain(1h), 0u);
        over = true;
        threads.clear();
        EXPECT_EQ(runtime.stats().suspended_now, 0u);
        EXPECT_TRUE(runtime.running().empty());
    }
    EXPECT_EQ(done, kCalls);
    // One that ran out of time, or was called off, before it was claimed is on no record.
    EXPECT_EQ(recorded.twice(), 0);
    EXPECT_EQ(ran.twice(), 0);
    EXPECT_TRUE(std::ranges::includes(recorded.names(), ran.names())) << "each that ran was on the record";
    EXPECT_EQ(answered, asked) << "each question ends once";
}

TEST(AskingThreads, ADrainSeesEveryCallThatWasTaken) {
    for (int round = 0; round < 30; ++round) {
        std::atomic<int> ran{0};
        std::atomic<int> refused{0};
        std::atomic<int> begun{0};
        Runtime runtime;
        runtime.tools().add_or_throw(tool("work", "", [&] { return ++ran; }).risk(Risk::low));
        std::vector<std::jthread> callers;
        for (int i = 0; i < 3; ++i) {
            callers.emplace_back([&] {
                for (int n = 0; n < 20; ++n) {
                    ++begun;
                    if (!runtime.call("work").ok()) ++refused;
                }
            });
        }
        while (begun < 5) std::this_thread::yield();
        EXPECT_EQ(runtime.drain(1h), 0u);
        const int ran_by_then = ran;
        callers.clear();
        EXPECT_EQ(ran, ran_by_then) << "nothing begins after it";
        EXPECT_EQ(ran + refused, 60);
    }
}

}  // namespace
}  // namespace callgate::pipeline
