// What a call was called with, as its row keeps it for a probe: whatever a host's limits let through is read
// again, and a row that cannot be read keeps nobody from opening the ledger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

using ::testing::HasSubstr;

Value nested(int depth) {
    Value value = 1;
    for (int i = 0; i < depth; ++i) value = Array{std::move(value)};
    return value;
}

/// A call that its program leaves in doubt, as the next one finds it.
std::vector<CallRow> left_in_doubt(DurableLedger& durable, Value argument) {
    EXPECT_FALSE(durable.open());
    ClaimRequest asked = durable.request(1, "k", EffectClass::verify);
    asked.row.arguments = std::make_shared<const Value>(Object{{"a", std::move(argument)}});
    EXPECT_FALSE(durable.claim(std::move(asked)).error);
    const auto trouble = durable.open();
    EXPECT_FALSE(trouble) << trouble->message;
    if (trouble) return {};
    auto rows = durable.ledger->in_doubt();
    EXPECT_TRUE(rows) << rows.error().message;
    return rows ? *rows : std::vector<CallRow>();
}

TEST(CallArguments, OfAnySizeAreReadAgain) {
    const std::vector<std::pair<std::string, Value>> large = {
        {"deep", nested(999)},
        {"many", Array(110'000, 1)},
        {"long", Value(std::string(5u << 20, 'x'))},
    };
    for (const auto& [name, argument] : large) {
        SCOPED_TRACE(name);
        DurableLedger durable;
        const auto rows = left_in_doubt(durable, argument);
        ASSERT_EQ(rows.size(), 1u);
        ASSERT_TRUE(rows[0].arguments);
        EXPECT_TRUE(rows[0].arguments->at("a") == argument);
    }
}

TEST(CallArguments, ThatCannotBeReadKeepNobodyFromOpeningTheLedger) {
    DurableLedger durable;
    const auto rows = left_in_doubt(durable, nested(10'500));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_FALSE(rows[0].arguments);
    EXPECT_EQ(durable.claim(2, "k", EffectClass::verify).row.state, CallState::reconciling);
    EXPECT_THAT(faults_of(*durable.ledger), HasSubstr("the arguments of call"));
}

}  // namespace
}  // namespace callgate::ledger::testing
