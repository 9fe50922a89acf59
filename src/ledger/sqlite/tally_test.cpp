#include "ledger/sqlite/tally.h"

#include <gtest/gtest.h>

#include "ledger/sqlite/database.h"

namespace callgate::ledger {
namespace {

/// A file with one table that counts and one that does not.
class TallyTest : public ::testing::Test {
protected:
    TallyTest() {
        run("CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID");
        run("CREATE TABLE tombstones(key TEXT, until INTEGER)");
        run("CREATE TABLE audit(seq INTEGER PRIMARY KEY, hash BLOB)");
        tally_.watch(database_);
    }

    void run(const std::string& sql) { ASSERT_TRUE(database_.execute(sql.c_str())); }
    static RowText row(std::string_view key, std::int64_t until) {
        return RowText("tombstones").text(key).integer(until);
    }

    Database database_ = Database::open(":memory:", Access::read_write).value();
    const base::SealKey key_ = base::SealKey::random();
    Tally tally_{key_, "chain"};
};

TEST_F(TallyTest, ByHandIsWhatTheHookCounts) {
    run("INSERT INTO tombstones VALUES('a', 1)");
    run("UPDATE tombstones SET until = 2 WHERE key = 'a'");
    const TallySum by_hook = tally_.sums().rows;
    run("DELETE FROM tombstones");
    EXPECT_EQ(tally_.sums().rows, TallySum());
    {
        Tally::ByHand counted(tally_);
        run("INSERT INTO tombstones VALUES('a', 1)");
        counted.inserted(row("a", 1));
    }
    {
        Tally::ByHand counted(tally_);
        run("UPDATE tombstones SET until = 2");
        counted.replaced(row("a", 1), row("a", 2));
    }
    EXPECT_EQ(tally_.sums().rows, by_hook);
    run("DELETE FROM tombstones");
    EXPECT_EQ(tally_.sums().rows, TallySum()) << "the hook is asked again";
}

TEST_F(TallyTest, WhatIsNotCountedLeavesTheSumsAsTheyAre) {
    {
        const Tally::NotCounted uncounted(tally_);
        run("INSERT INTO audit VALUES(1, x'00')");
    }
    EXPECT_EQ(tally_.sums().rows, TallySum());
    run("INSERT INTO tombstones VALUES('a', 1)");
    EXPECT_NE(tally_.sums().rows, TallySum());
}

#ifdef CALLGATE_FAILPOINTS
using TallyDeathTest = TallyTest;

TEST_F(TallyDeathTest, AStatementThatSaysTheWrongThingIsFoundInTestBuilds) {
    EXPECT_DEATH(
        {
            Tally::ByHand counted(tally_);
            run("INSERT INTO tombstones VALUES('a', 1)");
            counted.inserted(row("a", 2));
        },
        "is not what SQLite saw");
    EXPECT_DEATH(
        {
            const Tally::NotCounted uncounted(tally_);
            run("INSERT INTO tombstones VALUES('a', 1)");
        },
        "wrote a row that counts");
}
#endif

}  // namespace
}  // namespace callgate::ledger
