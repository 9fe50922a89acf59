#include <thread>

#include <gtest/gtest.h>

#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

TEST(AuditCheckpoints, EveryStartGoesOnWithTheLogOfTheLast) {
    DurableLedger durable;
    for (std::uint64_t start = 1; start <= 3; ++start) {
        ASSERT_FALSE(durable.open());
        ASSERT_FALSE(durable.claim(start, "k" + std::to_string(start)).error);
        EXPECT_EQ(faults_of(*durable.ledger), "");
    }
    std::vector<std::string> types;
    for (const AuditEvent& event : must(durable.ledger->audit({}))) types.emplace_back(event.type);
    EXPECT_EQ(std::ranges::count(types, "audit.opened"), 1);
    EXPECT_EQ(types.front(), "audit.opened");
    EXPECT_EQ(std::ranges::count(types, "ledger.opened"), 2);
}

TEST(AuditCheckpoints, ACheckpointInTheCommitOfARotationWaitsForBothKeys) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    Holding holding;
    ClaimReply first;
    durable.ledger->claim(durable.request(1, "k1"), first, holding);
    holding.until_held();
    // Both wait for the writer, in this order, so they are one commit.
    std::thread rotates([&] { EXPECT_TRUE(durable.ledger->rotate_audit_key("bob")); });
    while (durable.ledger->stats()->at("writer").at("waiting").to_number<int>() < 1)
        std::this_thread::yield();
    std::thread signs([&] { EXPECT_TRUE(durable.ledger->checkpoint()); });
    while (durable.ledger->stats()->at("writer").at("waiting").to_number<int>() < 2)
        std::this_thread::yield();
    holding.let_go();
    rotates.join();
    signs.join();
    EXPECT_EQ(durable.ledger->stats()->at("writer").at("largest_batch").to_number<int>(), 2);
    EXPECT_EQ(faults_of(*durable.ledger), "");
    ASSERT_FALSE(durable.open());
    ASSERT_FALSE(durable.claim(2, "k2").error);
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

}  // namespace
}  // namespace callgate::ledger::testing
