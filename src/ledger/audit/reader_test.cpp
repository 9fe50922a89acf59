#include "ledger/audit/reader.h"

#include <gtest/gtest.h>

#include "ledger/audit/audit_testing.h"

namespace callgate::ledger {
namespace {

TEST(RestoreHead, FindsTheEndOfAStoredChain) {
    for (const std::uint64_t size : {0u, 1u, 2u, 255u, 256u, 257u, 511u, 512u, 1'000u, 4'096u}) {
        TestLog log(size);
        const auto head = restore_head(log.stored);
        ASSERT_TRUE(head) << size << ": " << head.error().message;
        EXPECT_EQ(*head, log.chain.head()) << size;
    }
}

TEST(RestoreHead, GoesDownThroughTheLevelsOfTiles) {
    TestLog log(65'536 + 3 * 256 + 5);
    EXPECT_EQ(log.stored.nodes(16, 0, 9)->size(), 1u);
    const auto head = restore_head(log.stored);
    ASSERT_TRUE(head);
    EXPECT_EQ(*head, log.chain.head());
    // The events under a stored node are not looked at.
    log.stored.all_rows().erase(log.stored.all_rows().begin(), log.stored.all_rows().begin() + 66'000);
    EXPECT_EQ(restore_head(log.stored).value(), *head);
}

TEST(RestoreHead, LetsTheChainGoOnAsIfItHadNeverStopped) {
    TestLog log(300);
    TestLog straight(310);
    base::SeededRng rng(2);
    AuditChain again("test-chain", "boot-1", restore_head(log.stored).value(), rng);
    for (int i = 0; i < 10; ++i) {
        const DraftedEvent event = again.draft(usual_facts());
        again.append(event.text, usual_facts().at, std::chrono::microseconds(again.head().size()));
    }
    EXPECT_EQ(again.head(), straight.chain.head());
}

TEST(RestoreHead, SaysWhatIsMissing) {
    TestLog log(700);
    log.stored.all_nodes().erase({8, 1});
    auto head = restore_head(log.stored);
    ASSERT_FALSE(head);
    EXPECT_EQ(head.error().code, ErrorCode::audit_failure);
    EXPECT_EQ(head.error().details.at("reason"), "node_missing");
    EXPECT_EQ(head.error().details.at("index"), 1);

    TestLog cut(700);
    cut.stored.all_rows().erase(cut.stored.all_rows().end() - 3);
    head = restore_head(cut.stored);
    ASSERT_FALSE(head);
    EXPECT_EQ(head.error().details.at("reason"), "row_missing");
}

}  // namespace
}  // namespace callgate::ledger
