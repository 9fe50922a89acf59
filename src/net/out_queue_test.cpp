#include "net/out_queue.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace callgate::net {
namespace {

std::string all_of(const OutQueue& queue) {
    std::array<iovec, 64> room{};
    std::string all;
    for (const iovec& piece : queue.front(room))
        all.append(static_cast<char*>(piece.iov_base), piece.iov_len);
    return all;
}

TEST(OutQueue, GivesEveryByteInOrderHoweverItIsTaken) {
    for (const std::size_t step : {1u, 3u, 1'000u, 5'000u, 9'000u}) {
        OutQueue queue;
        std::string expected;
        std::string taken;
        for (std::size_t i = 0; i < 30; ++i) {
            const std::string piece(i % 3 == 0 ? 5'000 : i, static_cast<char>('a' + i % 26));
            expected += piece;
            queue.add(piece);
            if (queue.bytes() <= step) continue;
            taken += all_of(queue).substr(0, step);
            queue.taken(step);
        }
        EXPECT_EQ(taken + all_of(queue), expected);
        EXPECT_EQ(queue.bytes(), expected.size() - taken.size());
        queue.taken(queue.bytes());
        EXPECT_TRUE(queue.empty());
    }
}

TEST(OutQueue, AQueueThatNeverGetsEmptyDoesNotGrow) {
    OutQueue queue;
    const std::string piece(OutQueue::kJoined + 1, 'x');
    queue.add(piece);
    for (int i = 0; i < 10'000; ++i) {
        queue.add(piece);
        queue.taken(piece.size());
    }
    EXPECT_EQ(queue.bytes(), piece.size());
    EXPECT_LE(queue.room(), 32u);
}

}  // namespace
}  // namespace callgate::net
