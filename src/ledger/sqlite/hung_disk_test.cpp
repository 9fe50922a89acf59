// A disk that hangs: nothing new is begun, what ends is written when it goes on, who only reads is answered.
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

using namespace std::chrono_literals;

/// A disk that hangs while one claim is written, and is known to.
struct LedgerOnHungDisk : DurableLedger {
    void hang() {
        vfs.stop();
        ASSERT_EQ(ledger->claim(request(90, "hangs"), hanging, turn), Io::pending);
        vfs.until_somebody_hangs();
        EXPECT_FALSE(ledger->ready_to_record());
        watch->advance(2'001ms);
        EXPECT_TRUE(ledger->ready_to_record());
    }
    void go_on() {
        vfs.go_on();
        turn.wait_for(Io::pending);
    }
    ClaimReply hanging;
};

TEST(HungDisk, NothingNewIsBegunUntilItGoesOn) {
    LedgerOnHungDisk durable;
    ASSERT_FALSE(durable.open());
    durable.hang();
    ClaimReply refused;
    Turn answered;
    answered.wait_for(durable.ledger->claim(durable.request(1, "k"), refused, answered));
    EXPECT_EQ(reason_of(refused.error), "disk_hung");
    EXPECT_TRUE(refused.error->retryable);
    EXPECT_EQ(reason_of(durable.record("tool_call.succeeded", 2)), "disk_hung");
    durable.go_on();
    EXPECT_FALSE(durable.hanging.error) << "it took long, and was done";
    while (durable.ledger->ready_to_record()) std::this_thread::yield();
    EXPECT_EQ(durable.claim(durable.request(1, "k")).verdict, ClaimVerdict::claimed)
        << "without being told to";
    EXPECT_EQ(must(durable.ledger->stats()).at("writer").at("hangs"), 1);
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

TEST(HungDisk, HowCallsHaveEndedIsTakenAndWrittenWhenItGoesOn) {
    LedgerOnHungDisk durable;
    ASSERT_FALSE(durable.open());
    ASSERT_EQ(durable.claim(durable.request(1, "k")).verdict, ClaimVerdict::claimed);
    durable.hang();
    SettleRequest ended;
    ended.call_id = call_id(1);
    ended.attempt = 1;
    ended.end = AttemptEnd::succeeded;
    ended.outcome = outcome(true);
    SettleReply settled;
    Turn answered;
    ASSERT_EQ(durable.ledger->settle(std::move(ended), settled, answered), Io::pending);
    EXPECT_FALSE(settled.ready.load());
    durable.go_on();
    answered.wait_for(Io::pending);
    EXPECT_TRUE(settled.settled.accepted);
    EXPECT_EQ(durable.state_of(1), CallState::succeeded);
}

TEST(HungDisk, WhoOnlyReadsIsAnswered) {
    LedgerOnHungDisk durable;
    ASSERT_FALSE(durable.open());
    ASSERT_EQ(durable.claim(durable.request(1, "k")).verdict, ClaimVerdict::claimed);
    durable.hang();
    PeekReply peeked;
    Turn answered;
    answered.wait_for(durable.ledger->peek(key_of("k"), print_of("request"), peeked, answered));
    EXPECT_EQ(peeked.verdict, ClaimVerdict::in_progress);
    EXPECT_EQ(must(durable.ledger->list({})).size(), 1u);
    EXPECT_FALSE(must(durable.ledger->audit({})).empty()) << "what is on the disk";
    EXPECT_TRUE(durable.ledger->read_audit());
    const Object stats = must(durable.ledger->stats());
    EXPECT_GT(stats.at("writer").at("hung_ms").as_int64(), 0);
    EXPECT_EQ(stats.at("trouble").at("details").at("reason"), "disk_hung");
    EXPECT_EQ(reason_of(durable.vote("none").error()), "disk_hung") << "who writes is told why not";
    durable.go_on();
}

TEST(HungDisk, WhatWaitsIsBoundedInBytes) {
    DurableLedger durable([](SqliteOptions& options) { options.writer.max_waiting_bytes = 3u << 20; });
    ASSERT_FALSE(durable.open());
    durable.vfs.stop();
    const auto large = [&](std::uint64_t call) {
        ClaimRequest asked = durable.request(call, "k" + std::to_string(call));
        asked.row.arguments = std::make_shared<const Value>(Object{{"text", std::string(1u << 20, 'x')}});
        return asked;
    };
    std::vector<ClaimReply> replies(20);
    Turn answered;
    for (std::uint64_t i = 0; i < replies.size(); ++i)
        ASSERT_EQ(durable.ledger->claim(large(i + 1), replies[i], answered), Io::pending);
    EXPECT_LE(must(durable.ledger->stats()).at("writer").at("waiting_bytes").to_number<std::uint64_t>(),
              3u << 20);
    durable.vfs.go_on();
    for (std::size_t i = 0; i < replies.size(); ++i) answered.wait_for(Io::pending);
    std::size_t refused = 0;
    for (const ClaimReply& reply : replies) {
        if (!reply.error) continue;
        ++refused;
        EXPECT_EQ(reason_of(reply.error), "ledger_busy");
        EXPECT_EQ(reply.error->details.at("of"), "bytes");
    }
    EXPECT_GE(refused, 17u);
    EXPECT_LT(refused, 20u);
    EXPECT_EQ(durable.claim(large(50)).verdict, ClaimVerdict::claimed) << "there is room again";
}

}  // namespace
}  // namespace callgate::ledger::testing
