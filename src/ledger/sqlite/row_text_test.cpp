#include "ledger/sqlite/row_text.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "ledger/sqlite/database.h"

namespace callgate::ledger {
namespace {

RowText row_of(const std::string& values) {
    auto database = Database::open(":memory:", Access::read_write).value();
    auto row = database.prepare("SELECT " + values).value();
    EXPECT_TRUE(row.step().value());
    RowText text;
    return text.read("calls", row.raw());
}

TEST(RowText, ByHandIsWhatSqliteShows) {
    const RowText shown = row_of("x'00ff', NULL, '', 'text', -7, 9223372036854775807, NULL, NULL");
    RowText made("calls");
    made.blob(std::string_view("\0\xff", 2)).null().text("").text("text").integer(-7);
    made.integer(std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(made.hashed(), shown.hashed()) << "the nulls at its end are no part of it";
    EXPECT_NE(RowText("votes").integer(1).hashed(), RowText("calls").integer(1).hashed());
    EXPECT_NE(row_of("1").hashed(), row_of("'1'").hashed());
    EXPECT_NE(row_of("'ab', 'c'").hashed(), row_of("'a', 'bc'").hashed());
    EXPECT_NE(row_of("NULL, 1").hashed(), row_of("1").hashed());
}

TEST(RowText, AChangedRowIsMadeFromTheOneBefore) {
    const RowText before = row_of("'id', 'claimed', NULL, 3");
    RowText after("calls");
    after.same(before, 0).text("succeeded").same(before, 2).same(before, 3);
    EXPECT_EQ(after.hashed(), row_of("'id', 'succeeded', NULL, 3").hashed());
}

TEST(RowText, EveryColumnIsPartOfItHoweverManyThereAre) {
    std::string many = "0";
    for (std::size_t i = 0; i < RowText::kMostColumns; ++i) many += ", 0";
    EXPECT_NE(row_of(many + ", 1").hashed(), row_of(many + ", 2").hashed());
}

}  // namespace
}  // namespace callgate::ledger
