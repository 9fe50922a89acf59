#include <chrono>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

#include "base/interruptible_wait.h"

namespace callgate::base {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(InterruptibleWait, EndsByItselfWhenNobodyStopsIt) {
    const std::stop_source source;
    EXPECT_TRUE(wait_unless_stopped(source.get_token(), milliseconds(1)));
    EXPECT_TRUE(wait_unless_stopped(source.get_token(), milliseconds(0)));
    EXPECT_TRUE(wait_unless_stopped(std::stop_token(), milliseconds(1))) << "nobody can ever stop it";
}

TEST(InterruptibleWait, DoesNotBeginWhenItIsStoppedAlready) {
    std::stop_source source;
    source.request_stop();
    EXPECT_FALSE(wait_unless_stopped(source.get_token(), hours(1)));
}

TEST(InterruptibleWait, EndsWhenAnotherThreadStopsItHoweverCloseToItsBegin) {
    for (int i = 0; i < 200; ++i) {
        std::stop_source source;
        std::jthread other([&] { source.request_stop(); });
        EXPECT_FALSE(wait_unless_stopped(source.get_token(), hours(1)));
    }
}

}  // namespace

}  // namespace callgate::base
