#include <atomic>
#include <barrier>
#include <condition_variable>
#include <deque>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/memory.h"

namespace callgate::policy {
namespace {

using Hold = ResourceQueue::Hold;

// Waits until its turn has come.
Hold acquire_blocking(ResourceQueue& queue, const std::string& resource, std::uint64_t ticket) {
    std::mutex mutex;
    std::condition_variable changed;
    bool turn = false;
    auto hold = queue.acquire(resource, ticket, [&] {
        const std::scoped_lock lock(mutex);
        turn = true;
        changed.notify_one();
    });
    while (!hold) {
        {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return turn; });
        }
        hold = queue.acquire(resource, ticket, [] {});
        EXPECT_TRUE(hold) << "ready was called before the turn had come";
    }
    return std::move(*hold);
}

TEST(ResourceQueueThreads, OneAtATime) {
    constexpr int kTakers = 8;
    constexpr int kTurns = 200;
    ResourceQueue queue;
    std::barrier start(kTakers);
    std::atomic<int> inside[2] = {0, 0};
    std::atomic<int> overlaps{0};
    int unguarded[2] = {0, 0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kTakers; ++t) {
        threads.emplace_back([&, t] {
            start.arrive_and_wait();
            for (int i = 0; i < kTurns; ++i) {
                const int which = (t + i) % 2;
                const Hold hold = acquire_blocking(queue, which == 0 ? "a" : "b",
                                                   static_cast<std::uint64_t>(t * kTurns + i));
                if (++inside[which] != 1) ++overlaps;
                ++unguarded[which];
                --inside[which];
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(overlaps.load(), 0);
    EXPECT_EQ(unguarded[0] + unguarded[1], kTakers * kTurns);
}

TEST(ResourceQueueThreads, FirstComeFirstServed) {
    constexpr std::uint64_t kWaiting = 16;
    ResourceQueue queue;
    std::optional<Hold> first = queue.acquire("db", 0, [] {});
    std::mutex mutex;
    std::vector<std::uint64_t> order;
    std::deque<std::atomic<bool>> turns(kWaiting + 1);
    std::vector<std::thread> threads;
    for (std::uint64_t ticket = 1; ticket <= kWaiting; ++ticket) {
        std::atomic<bool>& turn = turns[ticket];
        ASSERT_FALSE(queue.acquire("db", ticket, [&turn] {
            turn = true;
            turn.notify_one();
        }));
        threads.emplace_back([&, ticket] {
            turns[ticket].wait(false);
            const auto hold = queue.acquire("db", ticket, [] {});
            EXPECT_TRUE(hold);
            const std::scoped_lock lock(mutex);
            order.push_back(ticket);
        });
    }
    first.reset();
    for (std::thread& thread : threads) thread.join();
    std::vector<std::uint64_t> expected(kWaiting);
    for (std::uint64_t i = 0; i < kWaiting; ++i) expected[i] = i + 1;
    EXPECT_EQ(order, expected);
}

TEST(ResourceQueueThreads, NobodyIsLeftWaitingWhenOthersGiveUp) {
    constexpr int kTakers = 8;
    constexpr int kTurns = 200;
    ResourceQueue queue;
    std::barrier start(kTakers);
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kTakers; ++t) {
        threads.emplace_back([&, t] {
            start.arrive_and_wait();
            for (int i = 0; i < kTurns; ++i) {
                const auto ticket = static_cast<std::uint64_t>(t * kTurns + i);
                if (t % 2 == 0) {
                    const Hold hold = acquire_blocking(queue, "db", ticket);
                    ++done;
                } else if (!queue.acquire("db", ticket, [] {})) {
                    queue.forget("db", ticket);
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(done.load(), kTakers / 2 * kTurns);
    EXPECT_TRUE(queue.acquire("db", 1'000'000, [] {}));
}

}  // namespace
}  // namespace callgate::policy
