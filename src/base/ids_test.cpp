#include "base/ids.h"

#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::base {
namespace {

using namespace std::chrono_literals;

TEST(Ids, AreUuidsOfVersion7ThatTellWhenTheyWereMade) {
    ManualClock clock;
    SeededRng rng(1);
    IdGenerator ids(clock, rng);
    clock.advance(1234567us);
    const auto id = ids.next();
    EXPECT_EQ(id.version(), 7);
    EXPECT_EQ(id.bytes[8] >> 6, 2);
    EXPECT_EQ(id.time(), std::chrono::floor<std::chrono::milliseconds>(clock.wall_now()));
    EXPECT_THAT(id.to_string(), testing::StartsWith("019b76da-acd2-7"));  // 1767225601234
}

TEST(Ids, IncreaseWithinAMillisecondAndWhenTheClockStepsBack) {
    ManualClock clock;
    SeededRng rng(2);
    IdGenerator ids(clock, rng);
    auto last = ids.next();
    for (int i = 0; i < 10'000; ++i) {
        if (i == 5'000) {
            clock.set_wall(ManualClock::kStart - 1h);
        }
        const auto id = ids.next();
        ASSERT_LT(last, id);
        ASSERT_LT(last.to_string(), id.to_string());
        last = id;
    }
}

TEST(Ids, KeepTheirOrderAndFormWhenAMillisecondIsUsedUp) {
    ManualClock clock;
    SeededRng rng(3);
    IdGenerator ids(clock, rng);
    auto last = ids.next();
    for (int i = 0; i < 40'000; ++i) {
        const auto id = ids.next();
        ASSERT_LT(last, id);
        ASSERT_EQ(id.version(), 7);
        ASSERT_EQ(id.bytes[8] >> 6, 2);
        last = id;
    }
    EXPECT_GT(last.time(), std::chrono::floor<std::chrono::milliseconds>(clock.wall_now()));
    clock.advance(1s);
    EXPECT_EQ(ids.next().time(), std::chrono::floor<std::chrono::milliseconds>(clock.wall_now()));
}

TEST(Ids, OfTwoGeneratorsDiffer) {
    ManualClock clock;
    SeededRng rng(4);
    IdGenerator one(clock, rng);
    IdGenerator other(clock, rng);
    for (int i = 0; i < 1'000; ++i) ASSERT_NE(one.next(), other.next());
}

TEST(Ids, OfManyThreadsAreDistinct) {
    ManualClock clock;
    SystemRng rng;
    IdGenerator ids(clock, rng);
    std::vector<std::vector<Uuid>> made(4);
    {
        std::vector<std::jthread> threads;
        for (auto& list : made) {
            threads.emplace_back([&ids, &list] {
                for (int i = 0; i < 1000; ++i) {
                    list.push_back(ids.next());
                }
            });
        }
    }
    std::set<Uuid> all;
    for (const auto& list : made) {
        all.insert(list.begin(), list.end());
    }
    EXPECT_EQ(all.size(), 4000u);
}

TEST(Ids, TextThatIsNoUuidIsRefusedWithASentence) {
    for (const auto* text :
         {"", "01234567", "0123456789ab7cde8f0123456789abcd", "0123456g-89ab-7cde-8f01-23456789abcd",
          "01234567_89ab-7cde-8f01-23456789abcd", "01234567-89ab-7cde-8f01-23456789abcd ",
          "{1234567-89ab-7cde-8f01-23456789abcd", "0123456-789ab-7cde-8f01-23456789abcd"}) {
        const auto parsed = parse_uuid(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().code, ErrorCode::invalid_arguments);
        EXPECT_THAT(parsed.error().message, testing::HasSubstr("36 characters"));
    }
    EXPECT_EQ(parse_uuid("01234567-89AB-7CDE-8F01-23456789ABCD")->to_string(),
              "01234567-89ab-7cde-8f01-23456789abcd");
}

RC_GTEST_PROP(Ids, TextRoundTrips, (const std::array<std::uint8_t, 16>& bytes)) {
    const Uuid id{bytes};
    const auto parsed = parse_uuid(id.to_string());
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(*parsed == id);
}

}  // namespace
}  // namespace callgate::base
