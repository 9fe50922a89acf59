#include "pipeline/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

class Task final : public PoolTask {
public:
    explicit Task(std::function<void()> work) : work_(std::move(work)) {}
    void run() override { work_(); }
    void drop() override {}

private:
    std::function<void()> work_;
};

bool taken(WorkerPool& pool, std::shared_ptr<PoolTask> task) {
    return pool.submit(std::move(task)) == WorkerPool::Submitted::taken;
}

WorkerPool::Options one_thread() {
    WorkerPool::Options options;
    options.threads = 1;
    return options;
}

TEST(WorkerPool, TheLastTaskMayTakeThePoolWithIt) {
    auto pool = std::make_shared<WorkerPool>(one_thread());
    std::promise<void> let_go;
    std::promise<void> gone;
    // As the last call of a runtime holds the runtime's pool.
    std::shared_ptr<void> last(nullptr, [pool, &gone](void*) mutable {
        pool.reset();
        gone.set_value();
    });
    const std::weak_ptr<WorkerPool> seen = pool;
    ASSERT_TRUE(taken(
        *pool, std::make_shared<Task>([held = std::move(last), &let_go] { let_go.get_future().wait(); })));
    pool.reset();
    EXPECT_FALSE(seen.expired());
    let_go.set_value();
    gone.get_future().wait();
    EXPECT_TRUE(seen.expired());
}

TEST(WorkerPool, AThreadThatWaitsMakesRoomForAnotherAndCountsAgainWhenItHasSomethingToDo) {
    WorkerPool pool(one_thread());
    std::promise<void> entered;
    std::promise<void> busy;
    std::promise<void> second;
    std::promise<void> third;
    std::promise<void> done;
    ASSERT_TRUE(taken(pool, std::make_shared<Task>([&] {
                          entered.set_value();
                          WorkerPool::Waiting waiting;
                          second.get_future().wait();  // only comes if there is another thread for it
                          waiting.interrupt([&] { busy.get_future().wait(); });
                          third.get_future().wait();
                          done.set_value();
                      })));
    entered.get_future().wait();
    ASSERT_TRUE(taken(pool, std::make_shared<Task>([&] { second.set_value(); })));
    busy.set_value();
    ASSERT_TRUE(taken(pool, std::make_shared<Task>([&] { third.set_value(); })));
    done.get_future().wait();
    EXPECT_LE(pool.counts().threads, 2u);
}

class Sized final : public PoolTask {
public:
    explicit Sized(std::size_t bytes) : bytes_(bytes) {}
    void run() override { ++ran; }
    void drop() override { ++dropped; }
    std::size_t bytes() const noexcept override { return bytes_; }

    std::atomic<int> ran = 0;
    std::atomic<int> dropped = 0;

private:
    std::size_t bytes_;
};

// One thread that is busy until the test lets it go on.
struct BusyPool {
    explicit BusyPool(WorkerPool::Options options) : pool(options) {
        EXPECT_TRUE(taken(pool, std::make_shared<Task>([this] {
                              entered.set_value();
                              go_on.get_future().wait();
                          })));
        entered.get_future().wait();
    }
    std::promise<void> entered;
    std::promise<void> go_on;
    WorkerPool pool;
};

TEST(WorkerPool, ItsQueueIsBoundedInTasksAndInBytes) {
    WorkerPool::Options options = one_thread();
    options.max_queued = 3;
    options.max_queued_bytes = 100;
    BusyPool busy(options);
    EXPECT_EQ(busy.pool.submit(std::make_shared<Sized>(60)), WorkerPool::Submitted::taken);
    EXPECT_EQ(busy.pool.submit(std::make_shared<Sized>(41)), WorkerPool::Submitted::queue_full);
    EXPECT_EQ(busy.pool.submit(std::make_shared<Sized>(40)), WorkerPool::Submitted::taken);
    EXPECT_EQ(busy.pool.submit(std::make_shared<Sized>(0)), WorkerPool::Submitted::taken);
    EXPECT_EQ(busy.pool.submit(std::make_shared<Sized>(0)), WorkerPool::Submitted::queue_full);
    EXPECT_TRUE(busy.pool.full());
    EXPECT_EQ(busy.pool.counts().queued_bytes, 100u);
    busy.go_on.set_value();
}

TEST(WorkerPool, WhatLeavesTheQueueNeverRunsAndMakesRoom) {
    WorkerPool::Options options = one_thread();
    options.max_queued = 2;
    BusyPool busy(options);
    const auto first = std::make_shared<Sized>(10);
    const auto second = std::make_shared<Sized>(10);
    EXPECT_TRUE(taken(busy.pool, first));
    EXPECT_TRUE(taken(busy.pool, second));
    EXPECT_FALSE(busy.pool.abandon(first));
    EXPECT_FALSE(busy.pool.abandon(first));
    EXPECT_EQ(busy.pool.counts().queued, 1u);
    std::promise<void> last;
    EXPECT_TRUE(taken(busy.pool, std::make_shared<Task>([&] { last.set_value(); })));
    busy.go_on.set_value();
    last.get_future().wait();
    EXPECT_EQ(first->ran, 0);
    EXPECT_EQ(second->ran, 1);
}

// If each had to be looked for, this would take minutes, and the test's time would be over.
TEST(WorkerPool, LeavingALongQueueCostsNoMoreThanLeavingAShortOne) {
    constexpr std::size_t kTasks = 200'000;
    BusyPool busy(one_thread());
    std::vector<std::shared_ptr<Sized>> tasks(kTasks);
    for (auto& task : tasks) {
        task = std::make_shared<Sized>(0);
        ASSERT_TRUE(taken(busy.pool, task));
    }
    std::ranges::reverse(tasks);
    std::rotate(tasks.begin(), tasks.begin() + kTasks / 2, tasks.end());  // from the middle, too
    for (const auto& task : tasks) EXPECT_FALSE(busy.pool.abandon(task));
    EXPECT_EQ(busy.pool.counts().queued, 0u);
    busy.go_on.set_value();
}

TEST(WorkerPool, ClosingDropsWhatHasNotBegun) {
    const auto queued = std::make_shared<Sized>(1);
    {
        BusyPool busy(one_thread());
        EXPECT_TRUE(taken(busy.pool, queued));
        std::thread closer([&] { busy.pool.close(std::chrono::seconds(20)); });
        while (queued->dropped == 0) std::this_thread::yield();
        busy.go_on.set_value();
        closer.join();
        EXPECT_EQ(busy.pool.submit(queued), WorkerPool::Submitted::no_thread);
    }
    EXPECT_EQ(queued->ran, 0);
    EXPECT_EQ(queued->dropped, 1);
}

// Its thread may come to it only after it was given up and the pool closed: then nothing else would let it
// go.
TEST(WorkerPool, WhatIsGivenUpBeforeItsThreadCameToItIsLetGo) {
    struct Holds final : PoolTask {
        explicit Holds(std::shared_ptr<WorkerPool> held) : pool(std::move(held)) {}
        void run() override {}
        void drop() override {}
        const std::shared_ptr<WorkerPool> pool;
    };
    for (int i = 0; i < 100; ++i) {
        auto pool = std::make_shared<WorkerPool>(WorkerPool::Options());
        const std::weak_ptr<WorkerPool> seen = pool;
        {
            const auto task = std::make_shared<Holds>(pool);
            ASSERT_EQ(pool->submit(task), WorkerPool::Submitted::taken);
            pool->abandon(task);
        }
        pool->close(std::chrono::milliseconds(0));
        pool = nullptr;
        while (!seen.expired()) std::this_thread::yield();
    }
}

TEST(WorkerPool, AThreadWithoutWorkGoesAfterAWhile) {
    WorkerPool::Options options = one_thread();
    options.linger = std::chrono::milliseconds(0);
    WorkerPool pool(options);
    for (int i = 0; i < 3; ++i) {
        std::promise<void> ran;
        ASSERT_TRUE(taken(pool, std::make_shared<Task>([&] { ran.set_value(); })));
        ran.get_future().wait();
    }
    EXPECT_TRUE(pool.close(std::chrono::seconds(20)));
}

TEST(WorkerPool, AThreadOfNoPoolMayWaitToo) {
    WorkerPool::Waiting waiting;
    bool worked = false;
    waiting.interrupt([&] { worked = true; });
    EXPECT_TRUE(worked);
}

}  // namespace
}  // namespace callgate::pipeline
