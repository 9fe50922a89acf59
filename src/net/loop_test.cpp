#include "net/loop.h"

#include <future>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/thread_role.h"

namespace callgate::net {
namespace {

TEST(Loop, RunsWorkInOrderOnTheThreadItIsGivenTo) {
    Loop loop(2);
    EXPECT_EQ(loop.threads(), 2u);
    std::vector<int> ran;
    std::promise<bool> there;
    for (int i = 0; i < 100; ++i) loop.executor(1)([&ran, i] { ran.push_back(i); });
    loop.executor(1)([&] {
        there.set_value(loop.here() && loop.here(1) && !loop.here(0) && loop.thread(1)->here() &&
                        base::on_our_thread());
    });
    EXPECT_TRUE(there.get_future().get());
    ASSERT_EQ(ran.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
    EXPECT_FALSE(loop.here());
}

TEST(Loop, WorkGivenOnItsOwnThreadRunsLater) {
    Loop loop(0);
    EXPECT_EQ(loop.threads(), 1u);
    bool outer_is_over = false;
    std::promise<bool> later;
    loop.executor()([&] {
        loop.executor()([&] { later.set_value(outer_is_over); });
        outer_is_over = true;
    });
    EXPECT_TRUE(later.get_future().get());
}

TEST(Loop, WhatWaitsWhenItEndsIsDroppedWithWhatItHolds) {
    const auto held = std::make_shared<int>();
    auto loop = std::make_unique<Loop>();
    const Executor executor = loop->executor();
    const std::shared_ptr<LoopThread> thread = loop->thread();
    // Gives itself to the loop again for as long as that takes it, so that something waits there at the end;
    // it holds the thread, and the thread holds what waits.
    struct Again {
        std::shared_ptr<LoopThread> on;
        std::shared_ptr<int> holds;
        void operator()() const { on->post(*this); }
    };
    ASSERT_TRUE(thread->post(Again{thread, held}));
    loop.reset();
    EXPECT_EQ(held.use_count(), 1);
    executor([held] { FAIL(); });
    EXPECT_FALSE(thread->post([held] { FAIL(); }));
    EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace callgate::net
