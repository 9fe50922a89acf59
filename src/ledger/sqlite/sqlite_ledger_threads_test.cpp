#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

TEST(SqliteLedgerThreads, OfManyWhoRaceForAKeyOneGetsItAndTheOthersSeeIts) {
    constexpr std::uint64_t kThreads = 8;
    constexpr std::uint64_t kKeys = 25;
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    std::array<std::atomic<int>, kKeys> claimed{};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            Turn turn;
            for (std::uint64_t k = 0; k < kKeys; ++k) {
                ClaimReply reply;
                const std::uint64_t call = 1 + t * kKeys + k;
                turn.wait_for(
                    durable.ledger->claim(durable.request(call, "k" + std::to_string(k)), reply, turn));
                ASSERT_FALSE(reply.error);
                if (reply.verdict != ClaimVerdict::claimed) continue;
                ++claimed[k];
                SettleRequest told;
                told.call_id = call_id(call);
                told.attempt = 1;
                told.end = AttemptEnd::succeeded;
                told.outcome = outcome(true);
                told.events.push_back(event("tool_call.succeeded", told.call_id));
                SettleReply settled;
                turn.wait_for(durable.ledger->settle(std::move(told), settled, turn));
                EXPECT_TRUE(settled.settled.accepted);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& count : claimed) EXPECT_EQ(count, 1);
    EXPECT_EQ(faults_of(*durable.ledger), "");
    const auto stats = durable.ledger->stats();
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->at("calls").at("succeeded"), static_cast<std::int64_t>(kKeys));
}

TEST(SqliteLedgerThreads, OperatorsLookWhileCallersWriteAndReadersAreRecorded) {
    constexpr std::uint64_t kCalls = 60;
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    std::atomic<bool> stop{false};
    std::thread operator_thread([&] {
        while (!stop) {
            EXPECT_TRUE(durable.ledger->stats());
            EXPECT_TRUE(durable.ledger->page_of_calls({}));
            (void)durable.ledger->in_doubt();
            EXPECT_TRUE(durable.ledger->read_audit());
        }
    });
    std::vector<std::thread> readers;
    for (int r = 0; r < 2; ++r) {
        readers.emplace_back([&] {
            Turn turn;
            for (std::uint64_t i = 0; i < kCalls; ++i) {
                AuditEvent read = event("tool_call.succeeded", call_id(1'000 + i));
                Reply reply;
                turn.wait_for(durable.ledger->record(read, reply, turn));
                EXPECT_FALSE(reply.error);
            }
        });
    }
    for (std::uint64_t call = 1; call <= kCalls; ++call) {
        EXPECT_EQ(durable.claim(call, "").verdict, ClaimVerdict::claimed);
        EXPECT_TRUE(durable.settle(call).settled.accepted);
    }
    for (auto& thread : readers) thread.join();
    stop = true;
    operator_thread.join();
    EXPECT_EQ(faults_of(*durable.ledger), "");
    EXPECT_EQ(must(durable.ledger->audit({})).size(), 1 + 2 * kCalls + 2 * kCalls);
}

}  // namespace
}  // namespace callgate::ledger::testing
