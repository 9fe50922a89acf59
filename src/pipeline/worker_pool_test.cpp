#include "pipeline/worker_pool.h"

#include <functional>
#include <future>

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
    ASSERT_TRUE(pool->submit(
        std::make_shared<Task>([held = std::move(last), &let_go] { let_go.get_future().wait(); })));
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
    ASSERT_TRUE(pool.submit(std::make_shared<Task>([&] {
        entered.set_value();
        WorkerPool::Waiting waiting;
        second.get_future().wait();  // only comes if there is another thread for it
        waiting.interrupt([&] { busy.get_future().wait(); });
        third.get_future().wait();
        done.set_value();
    })));
    entered.get_future().wait();
    ASSERT_TRUE(pool.submit(std::make_shared<Task>([&] { second.set_value(); })));
    busy.set_value();
    ASSERT_TRUE(pool.submit(std::make_shared<Task>([&] { third.set_value(); })));
    done.get_future().wait();
    EXPECT_LE(pool.counts().threads, 2u);
}

TEST(WorkerPool, AThreadOfNoPoolMayWaitToo) {
    WorkerPool::Waiting waiting;
    bool worked = false;
    waiting.interrupt([&] { worked = true; });
    EXPECT_TRUE(worked);
}

}  // namespace
}  // namespace callgate::pipeline
