// A backup while others write: it ends, and is a ledger.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "ledger/sqlite/database.h"
#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

/// As many bytes as make a copy of several steps.
void fill(Desk& desk) {
    ASSERT_FALSE(desk.open());
    ASSERT_FALSE(desk.claim(1, "large").error);
    ASSERT_FALSE(desk.settle_with(1, Value(std::string(20u << 20, 'x'))).error);
}

TEST(Backup, EndsThoughTwoCallersWriteBetweenAnyTwoOfItsSteps) {
    Desk desk;
    fill(desk);
    const std::string path = desk.scratch.file("copy.db");
    std::uint64_t steps = 0;
    std::uint64_t pages = 0;
    const auto made = desk.ledger->backup(path, [&](std::uint64_t, std::uint64_t total) {
        pages = total;
        ++steps;
        EXPECT_FALSE(desk.claim(2 * steps, "a" + std::to_string(steps)).error);
        EXPECT_FALSE(desk.claim(2 * steps + 1, "b" + std::to_string(steps)).error);
        EXPECT_FALSE(desk.settle(2 * steps).error);
        return steps < 50;
    });
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_GT(steps, 2u) << "nobody could write between them";
    EXPECT_LE(steps, pages / 1'000 + 1);
    auto copy = Database::open(path, Access::read_only);
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->text_of("PRAGMA integrity_check").value(), "ok");
    EXPECT_EQ(copy->integer_of("SELECT count(*) FROM calls").value(), 1) << "as it was when the copy began";
}

TEST(Backup, TheLogIsMovedIntoTheFileAgainOnceItHasEnded) {
    Desk desk([](SqliteOptions& options) {
        options.writer.checkpoint_pages = 10;
        options.writer.checkpoint_pages_max = 20;  // while there is more to write, too
    });
    fill(desk);
    std::uint64_t call = 1;
    const auto write = [&] {
        ++call;
        EXPECT_FALSE(desk.claim(call, "k" + std::to_string(call)).error);
        return call < 50;
    };
    ASSERT_TRUE(desk.ledger->backup(desk.scratch.file("copy.db"), [&](auto, auto) { return write(); }));
    for (int i = 0; i < 40; ++i) write();
    ASSERT_TRUE(desk.ledger->flush());
    EXPECT_LT(desk.ledger->stats()->at("wal_pages").to_number<int>(), 40);
}

TEST(Backup, CanBeCalledOffAndLeavesNothing) {
    Desk desk;
    fill(desk);
    const std::string path = desk.scratch.file("copy.db");
    const auto made = desk.ledger->backup(path, [](auto, auto) { return false; });
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::cancelled);
    EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace callgate::ledger::testing
