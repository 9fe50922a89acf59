#include <gtest/gtest.h>

#include "policy/memory.h"

namespace callgate::policy {
namespace {

constexpr std::uint32_t kLimit = 3;

TEST(LoopDetector, StopsTheSameCallWithTheSameResult) {
    LoopDetector loops;
    for (std::uint32_t i = 0; i < kLimit; ++i) {
        EXPECT_FALSE(loops.looping("run", 1, kLimit));
        loops.ended("run", 1, 100);
    }
    EXPECT_TRUE(loops.looping("run", 1, kLimit));
    EXPECT_FALSE(loops.looping("run", 2, kLimit));
    EXPECT_FALSE(loops.looping("another run", 1, kLimit));
    EXPECT_FALSE(loops.looping("run", 1, 0));
}

TEST(LoopDetector, AnotherResultStartsAnew) {
    LoopDetector loops;
    for (std::uint64_t i = 0; i < 20; ++i) {
        EXPECT_FALSE(loops.looping("run", 1, kLimit));
        loops.ended("run", 1, i);
    }
}

TEST(LoopDetector, AnotherCallWithANewResultStartsAnew) {
    LoopDetector loops;
    for (std::uint64_t i = 0; i < 20; ++i) {
        loops.ended("run", 1, 100);
        loops.ended("run", 2, i);
        EXPECT_FALSE(loops.looping("run", 1, kLimit));
    }
}

TEST(LoopDetector, SeesCallsThatTakeTurns) {
    LoopDetector loops;
    int rounds = 0;
    while (!loops.looping("run", 1, kLimit) && rounds < 20) {
        loops.ended("run", 1, 100);
        loops.ended("run", 2, 200);
        ++rounds;
    }
    EXPECT_EQ(rounds, 4);  // the first of call 2 was new
    loops.ended("run", 3, 300);
    EXPECT_FALSE(loops.looping("run", 1, kLimit));
}

TEST(LoopDetector, WithoutARunThereIsNoLoop) {
    LoopDetector loops;
    for (int i = 0; i < 10; ++i) loops.ended("", 1, 100);
    EXPECT_FALSE(loops.looping("", 1, 1));
}

TEST(LoopDetector, RemembersABoundedNumberOfRunsAndCalls) {
    LoopDetector loops;
    for (int i = 0; i < 10'000; ++i) loops.ended(std::to_string(i), 1, 100);
    EXPECT_TRUE(loops.looping("9999", 1, 1));
    EXPECT_FALSE(loops.looping("0", 1, 1));
    for (std::uint64_t call = 0; call < 100; ++call) loops.ended("run", call, 100);
    loops.ended("run", 99, 100);
    EXPECT_TRUE(loops.looping("run", 99, 2));
    loops.ended("run", 0, 100);  // forgotten, so it counts as new
    EXPECT_FALSE(loops.looping("run", 99, 1));
}

}  // namespace
}  // namespace callgate::policy
