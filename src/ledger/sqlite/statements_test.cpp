// What SQLite makes of the statements of a call's usual way: it must neither build a table to look something
// up nor go through all calls.
#include "ledger/sqlite/statements.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/sqlite/database.h"
#include "ledger/sqlite/schema.h"

namespace callgate::ledger {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The column of each line of the answer, one after the other.
std::string answer_to(const std::string& question, int column) {
    Database database = Database::open(":memory:", Access::read_write).value();
    EXPECT_TRUE(migrate(database));
    Statement rows = database.prepare(question).value();
    std::string all;
    while (rows.step().value()) all.append(rows.text(column)).append("\n");
    return all;
}

TEST(Statements, OfEveryCallBuildNoTables) {
    for (const std::string_view statement :
         {sql::kInsertCall, sql::kInsertAttempt, sql::kStoreCall, sql::kInsertResult, sql::kEndAttempt,
          sql::kInsertEvent, sql::kInsertPayload}) {
        const std::string program = answer_to("EXPLAIN " + std::string(statement), 1);
        EXPECT_THAT(program, HasSubstr("Halt"));
        EXPECT_THAT(program, Not(HasSubstr("Ephemeral"))) << statement;
    }
}

TEST(Statements, FindOpenCallsByTheirIndex) {
    const std::string query =
        sql::select_calls("WHERE " + std::string(sql::kIsOpen) + " AND call_id > ?1 ORDER BY call_id");
    EXPECT_THAT(answer_to("EXPLAIN QUERY PLAN " + query, 3), HasSubstr("USING INDEX calls_open"));
}

}  // namespace
}  // namespace callgate::ledger
