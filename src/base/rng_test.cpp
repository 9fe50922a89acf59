#include "base/rng.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::base {
namespace {

TEST(SeededRng, RepeatsItselfForTheSameSeedOnly) {
    SeededRng a(7);
    SeededRng b(7);
    SeededRng c(8);
    const auto first = a.next_u64();
    EXPECT_EQ(first, b.next_u64());
    EXPECT_NE(first, c.next_u64());
    EXPECT_NE(first, a.next_u64());
}

TEST(SeededRng, GivesTheSameBytesOnEveryMachine) {
    SeededRng rng(0);
    std::array<std::byte, 8> bytes;
    rng.fill(bytes);
    // The first output of SplitMix64 from 0 is 0xe220a8397b1dcdaf.
    EXPECT_EQ(std::to_integer<int>(bytes[0]), 0xaf);
    EXPECT_EQ(std::to_integer<int>(bytes[7]), 0xe2);
}

TEST(SystemRng, FillsWithBytesThatDiffer) {
    SystemRng rng;
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 100; ++i) {
        seen.insert(rng.next_u64());
    }
    EXPECT_EQ(seen.size(), 100u);
    std::vector<std::byte> large(100'000);
    rng.fill(large);
    EXPECT_NE(std::vector<std::byte>(100, std::byte{}),
              std::vector<std::byte>(large.end() - 100, large.end()));
    rng.fill({});
}

RC_GTEST_PROP(Rng, BelowStaysBelow, (std::uint64_t seed, std::uint64_t bound)) {
    SeededRng rng(seed);
    const auto value = rng.below(bound);
    RC_ASSERT((bound == 0 ? value == 0 : value < bound));
}

TEST(Rng, BelowReachesEveryValue) {
    SeededRng rng(1);
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) {
        seen.insert(rng.below(6));
    }
    EXPECT_EQ(seen.size(), 6u);
}

TEST(DrawnAhead, GivesWhatItsSourceGivesAndNoByteTwice) {
    SeededRng source(7);
    std::array<std::byte, 480> all;
    source.fill(all);
    SeededRng same(7);
    DrawnAhead drawn(same);
    for (std::size_t at = 0; at < 96; at += 16) {
        std::array<std::byte, 16> some;
        drawn.fill(some);
        EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + static_cast<std::ptrdiff_t>(at)));
    }
    std::array<std::byte, 40> most;
    drawn.fill(most);  // 8 are left of these
    std::array<std::byte, 16> more;
    drawn.fill(more);
    EXPECT_FALSE(std::equal(more.begin(), more.begin() + 8, most.begin() + 32));
    EXPECT_TRUE(std::equal(more.begin(), more.end(), all.begin() + 144));
    std::array<std::byte, 100> many;
    drawn.fill(many);
    EXPECT_TRUE(std::equal(many.begin(), many.end(), all.begin() + 192));
}

}  // namespace
}  // namespace callgate::base
