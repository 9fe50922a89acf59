#include "pipeline/timers.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

base::MonotonicTime in(std::chrono::milliseconds time) {
    return std::chrono::steady_clock::now() + time;
}

// The thread sleeps for the first of them, and one that is due sooner must still wake it.
TEST(ThreadTimers, OneThatIsSetLaterAndDueSoonerFires) {
    ThreadTimers timers;
    const TimerId gone = timers.at(in(1h), [] {});
    timers.cancel(gone);
    const TimerId last = timers.at(in(2h), [] {});
    std::promise<void> fired;
    timers.at(in(1ms), [&] { fired.set_value(); });
    fired.get_future().get();
    timers.cancel(last);
    timers.cancel(last);  // a time too many does no harm
}

TEST(ThreadTimers, FireInOrderAndNotAfterTheyWereCancelled) {
    ThreadTimers timers;
    std::vector<int> order;
    std::promise<void> done;
    const auto soon = in(50ms);
    timers.at(soon + 2ms, [&] { order.push_back(3), done.set_value(); });
    const TimerId never = timers.at(soon + 1ms, [&] { order.push_back(0); });
    timers.at(soon, [&] { order.push_back(1); });
    timers.at(soon, [&] { order.push_back(2); });
    timers.cancel(never);
    done.get_future().get();
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

// As many callers do: each is there for a moment only.
TEST(ThreadTimers, ManyThreadsSetAndCancelAndEveryOneThatStaysFires) {
    constexpr int kThreads = 4;
    constexpr int kEach = 500;
    ThreadTimers timers;
    std::atomic<int> fired{0};
    std::promise<void> all;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&] {
            for (int i = 0; i < kEach; ++i) {
                const TimerId passing = timers.at(in(1h), [] {});
                timers.at(in(std::chrono::milliseconds(i % 5)), [&] {
                    if (++fired == kThreads * kEach) all.set_value();
                });
                timers.cancel(passing);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    all.get_future().get();
    EXPECT_EQ(fired, kThreads * kEach);
}

}  // namespace
}  // namespace callgate::pipeline
