// A backup while others write: it ends, and is a ledger.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "ledger/sqlite/database.h"
#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

/// As many bytes as make a copy of several steps.
void fill(DurableLedger& durable) {
    ASSERT_FALSE(durable.open());
    ASSERT_FALSE(durable.claim(1, "large").error);
    ASSERT_FALSE(durable.settle_with(1, Value(std::string(20u << 20, 'x'))).error);
}

TEST(Backup, EndsThoughTwoCallersWriteBetweenAnyTwoOfItsSteps) {
    DurableLedger durable;
    fill(durable);
    const std::string path = durable.scratch.file("copy.db");
    std::uint64_t steps = 0;
    std::uint64_t pages = 0;
    const auto made = durable.ledger->backup(path, [&](std::uint64_t, std::uint64_t total) {
        pages = total;
        ++steps;
        EXPECT_FALSE(durable.claim(2 * steps, "a" + std::to_string(steps)).error);
        EXPECT_FALSE(durable.claim(2 * steps + 1, "b" + std::to_string(steps)).error);
        EXPECT_FALSE(durable.settle(2 * steps).error);
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
    DurableLedger durable([](SqliteOptions& options) {
        options.writer.checkpoint_pages = 10;
        options.writer.checkpoint_pages_max = 20;  // while there is more to write, too
    });
    fill(durable);
    std::uint64_t call = 1;
    const auto write = [&] {
        ++call;
        EXPECT_FALSE(durable.claim(call, "k" + std::to_string(call)).error);
        return call < 50;
    };
    ASSERT_TRUE(durable.ledger->backup(durable.scratch.file("copy.db"), [&](auto, auto) { return write(); }));
    for (int i = 0; i < 40; ++i) write();
    ASSERT_TRUE(durable.ledger->flush());
    EXPECT_LT(durable.ledger->stats()->at("wal_pages").to_number<int>(), 40);
}

TEST(Backup, CanBeCalledOffAndLeavesNothing) {
    DurableLedger durable;
    fill(durable);
    const std::string path = durable.scratch.file("copy.db");
    const auto made = durable.ledger->backup(path, [](auto, auto) { return false; });
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::cancelled);
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Backup, OnAFullDiskSaysWhichAndLeavesNothing) {
    DurableLedger durable;
    fill(durable);
    const std::string path = durable.scratch.file("copy.db");
    for (std::uint64_t write = 1; write <= 8; ++write) {
        durable.vfs.inject(FaultyVfs::Op::write, FaultyVfs::File::database, FaultyVfs::Fault::full, write,
                           true);
        const auto made = durable.ledger->backup(path, {});
        durable.vfs.clear();
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().details.at("reason"), "disk_full");
        EXPECT_NE(made.error().message.find("'" + path + "'"), std::string::npos) << made.error().message;
        EXPECT_EQ(made.error().message.find("by itself"), std::string::npos);
        for (const auto& left : std::filesystem::directory_iterator(durable.scratch.path()))
            EXPECT_FALSE(left.path().filename().string().starts_with("copy.db")) << left.path();
    }
}

}  // namespace
}  // namespace callgate::ledger::testing
