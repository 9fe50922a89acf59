#include "os/error_lines.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace callgate::os {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Log {
    base::ManualClock clock;
    std::vector<std::string> seen;

    ErrorLines lines(ErrorLineLimits limits = {}) {
        return ErrorLines(clock, [this](std::string_view line) { seen.emplace_back(line); }, limits);
    }
};

TEST(ErrorLines, ComeAsTheyWereWrittenWhateverThePieces) {
    Log log;
    ErrorLines lines = log.lines();
    for (const char c : std::string("one\r\n\ntwo\nthree")) lines.add({&c, 1});
    EXPECT_THAT(log.seen, ElementsAre("one", "", "two"));
    lines.finish();
    EXPECT_THAT(log.seen, ElementsAre("one", "", "two", "three"));
    EXPECT_EQ(lines.last(), "one\r\n\ntwo\nthree");
}

TEST(ErrorLines, AreCutWhereTheyAreTooLong) {
    Log log;
    ErrorLineLimits limits;
    limits.line_bytes = 5;
    ErrorLines lines = log.lines(limits);
    lines.add("1234567");
    lines.add("89\nabcde\n");
    EXPECT_THAT(log.seen, ElementsAre("12345 [4 more bytes]", "abcde"));
}

TEST(ErrorLines, ThatComeTooFastAreDroppedAndCounted) {
    Log log;
    ErrorLineLimits limits;
    limits.lines_at_once = 2;
    limits.lines_per_second = 1;
    ErrorLines lines = log.lines(limits);
    lines.add("1\n2\n3\n4\n5\n");
    EXPECT_THAT(log.seen, ElementsAre("1", "2"));
    log.clock.advance(1s);
    lines.add("6\n7\n");
    EXPECT_THAT(log.seen, ElementsAre("1", "2", "[3 lines came too fast and were dropped]", "6"));
    lines.finish();
    EXPECT_EQ(log.seen.back(), "[1 lines came too fast and were dropped]");
    EXPECT_EQ(lines.dropped_lines(), 4u);
}

TEST(ErrorLines, TakeABoundedAmountOfMemoryForGigabytes) {
    Log log;
    ErrorLines lines = log.lines();
    const std::string block(64 << 10, 'x');
    for (int i = 0; i < 16'384; ++i) lines.add(block);
    EXPECT_THAT(log.seen, IsEmpty());
    EXPECT_EQ(lines.bytes(), 1u << 30);
    EXPECT_EQ(lines.last().size(), ErrorLineLimits().kept_bytes);
}

TEST(ErrorLines, TheLastOnesAreKept) {
    Log log;
    ErrorLineLimits limits;
    limits.kept_bytes = 10;
    ErrorLines lines = log.lines(limits);
    for (int i = 0; i < 1'000; ++i) lines.add("line " + std::to_string(i) + "\n");
    EXPECT_EQ(lines.last(), "line 999\n");
}

}  // namespace
}  // namespace callgate::os
