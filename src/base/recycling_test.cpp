#include "base/recycling.h"

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace callgate::base {
namespace {

struct Large {
    std::array<char, 3000> bytes;
};

// Also under a sanitizer, where the allocator would keep nothing by itself.
using Keeping = RecyclingAllocator<Large, true>;

TEST(Recycling, GivesTheNextObjectTheMemoryOfTheLast) {
    auto first = std::allocate_shared<Large>(Keeping());
    const void* const at = first.get();
    first.reset();
    const auto second = std::allocate_shared<Large>(Keeping());
    EXPECT_EQ(second.get(), at);
}

TEST(Recycling, TakesObjectsBackOnAnyThreadAndAfterTheirThreadsEnd) {
    std::vector<std::shared_ptr<Large>> left;
    for (int round = 0; round < 4; ++round) {
        std::thread([&] {
            for (int i = 0; i < 100; ++i) left.push_back(std::allocate_shared<Large>(Keeping()));
            left.erase(left.begin(), left.begin() + 50);
        }).join();
    }
    EXPECT_EQ(left.size(), 200U);
    for (const auto& object : left) object->bytes.fill('x');
    left.clear();
}

TEST(Recycling, ManyAtOnceComeFromOrdinaryMemory) {
    Keeping allocator;
    Large* const several = allocator.allocate(3);
    several[2].bytes.fill('x');
    allocator.deallocate(several, 3);
}

}  // namespace
}  // namespace callgate::base
