#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/memory.h"

namespace callgate::policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Hold = ResourceQueue::Hold;

class ResourceQueueTest : public testing::Test {
protected:
    std::optional<Hold> acquire(std::uint64_t ticket, const std::string& resource = "db") {
        return queue_.acquire(resource, ticket, [this, ticket] { ready_.push_back(ticket); });
    }

    ResourceQueue queue_;
    std::vector<std::uint64_t> ready_;
};

TEST_F(ResourceQueueTest, AFreeResourceIsHadAtOnce) {
    const auto hold = acquire(1);
    ASSERT_TRUE(hold);
    EXPECT_TRUE(hold->held());
    EXPECT_TRUE(acquire(2, "another"));
    EXPECT_THAT(ready_, IsEmpty());
}

TEST_F(ResourceQueueTest, TheOthersComeInTheirOrder) {
    auto hold = acquire(1);
    EXPECT_FALSE(acquire(2));
    EXPECT_FALSE(acquire(3));
    EXPECT_FALSE(acquire(2));  // asking again keeps the place
    EXPECT_THAT(ready_, IsEmpty());
    hold.reset();
    EXPECT_THAT(ready_, ElementsAre(2));
    EXPECT_FALSE(acquire(3));
    EXPECT_FALSE(acquire(4));  // it is kept for whose turn it is
    hold = acquire(2);
    EXPECT_TRUE(hold);
    hold.reset();
    EXPECT_THAT(ready_, ElementsAre(2, 3));
    hold = acquire(3);
    hold.reset();
    hold = acquire(4);
    EXPECT_TRUE(hold);
    hold.reset();
    EXPECT_THAT(ready_, ElementsAre(2, 3, 4));
    EXPECT_TRUE(acquire(5));
}

TEST_F(ResourceQueueTest, WhoNoLongerWaitsIsPassedOver) {
    auto hold = acquire(1);
    EXPECT_FALSE(acquire(2));
    EXPECT_FALSE(acquire(3));
    queue_.forget("db", 2);
    queue_.forget("db", 99);
    queue_.forget("nothing", 1);
    hold.reset();
    EXPECT_THAT(ready_, ElementsAre(3));
    EXPECT_FALSE(acquire(4));
    queue_.forget("db", 3);  // although its turn had come
    EXPECT_THAT(ready_, ElementsAre(3, 4));
    EXPECT_TRUE(acquire(4));
}

TEST_F(ResourceQueueTest, TheHolderMayTakeItAgain) {
    auto hold = acquire(1);
    auto nested = acquire(1);
    EXPECT_TRUE(nested);
    EXPECT_FALSE(acquire(2));
    hold.reset();
    EXPECT_THAT(ready_, IsEmpty());
    nested.reset();
    EXPECT_THAT(ready_, ElementsAre(2));
}

TEST_F(ResourceQueueTest, ForgettingDoesNotTakeItFromItsHolder) {
    auto hold = acquire(1);
    queue_.forget("db", 1);
    EXPECT_FALSE(acquire(2));
    hold.reset();
    EXPECT_THAT(ready_, ElementsAre(2));
}

TEST_F(ResourceQueueTest, ReadyMayAskAtOnce) {
    auto hold = acquire(1);
    std::optional<Hold> next;
    EXPECT_FALSE(queue_.acquire("db", 2, [&] { next = queue_.acquire("db", 2, [] {}); }));
    hold.reset();
    ASSERT_TRUE(next);
    EXPECT_TRUE(next->held());
}

TEST_F(ResourceQueueTest, AHoldMayOutliveTheQueue) {
    std::optional<Hold> hold;
    {
        ResourceQueue queue;
        hold = queue.acquire("db", 1, [] {});
    }
    ASSERT_TRUE(hold);
    Hold moved = std::move(*hold);
    EXPECT_TRUE(moved.held());
    EXPECT_FALSE(hold->held());
}

}  // namespace
}  // namespace callgate::policy
