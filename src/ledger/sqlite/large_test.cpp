// Much of everything: a result of fifty megabytes, and more approvals than anybody can look at.
//
// CALLGATE_MANY_APPROVALS=100000 asks for that many; without it there are fewer, for slow builds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/blocking_waiter.h"
#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

using ::testing::HasSubstr;

using Op = FaultyVfs::Op;

TEST(Large, AResultOfFiftyMegabytesIsStoredAndReplayed) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    ASSERT_FALSE(durable.claim(1, "k1").error);
    std::string bytes(50u << 20, 'x');
    for (std::size_t at = 0; at < bytes.size(); at += 4'099) bytes[at] = static_cast<char>('a' + at % 26);
    const SettleReply reply = durable.settle_with(1, Value(bytes));
    ASSERT_FALSE(reply.error) << reply.error->message;
    ASSERT_TRUE(reply.settled.accepted);

    ASSERT_FALSE(durable.open());
    const PeekReply replayed = durable.peek("k1");
    ASSERT_EQ(replayed.verdict, ClaimVerdict::replay);
    EXPECT_TRUE(replayed.row.outcome->result.value == Value(bytes));
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

TEST(Large, AResultThatIsTooLargeIsNotKeptAndTheCallHasEndedAllTheSame) {
    DurableLedger durable([](SqliteOptions& options) { options.max_record_bytes = 1u << 20; });
    ASSERT_FALSE(durable.open());
    ASSERT_FALSE(durable.claim(1, "k1").error);
    const SettleReply reply = durable.settle_with(1, Value(std::string(2u << 20, 'x')));
    EXPECT_TRUE(reply.settled.accepted);
    const PeekReply again = durable.peek("k1");
    ASSERT_EQ(again.verdict, ClaimVerdict::replay);
    EXPECT_TRUE(again.row.outcome->succeeded);
    EXPECT_THAT(std::string(again.row.outcome->result.value.as_string()), HasSubstr("too large"));
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

std::uint64_t many() {
    const char* asked = std::getenv("CALLGATE_MANY_APPROVALS");
    return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 5'000;
}

/// Opens approvals from..to, many at a time.
void open_approvals(DurableLedger& durable, std::uint64_t from, std::uint64_t to) {
    constexpr std::uint64_t kAtOnce = 100;
    for (std::uint64_t next = from; next < to; next += kAtOnce) {
        const std::uint64_t end = std::min(to, next + kAtOnce);
        std::vector<OpenApprovalReply> replies(end - next);
        std::vector<BlockingWaiter> waiters(end - next);
        for (std::uint64_t i = next; i < end; ++i) {
            OpenApprovalRequest asked;
            asked.approval.id = "a" + std::to_string(i);
            asked.approval.call_id = "c" + std::to_string(i);
            asked.approval.tenant = "acme";
            asked.approval.requester = "agent";
            asked.approval.tool = "mail/send";
            asked.approval.digest = "digest";
            asked.fingerprint = print_of(asked.approval.id);
            asked.events.push_back(event("gate.required", call_id(i)));
            durable.ledger->open_approval(std::move(asked), replies[i - next], waiters[i - next]);
        }
        for (std::uint64_t i = next; i < end; ++i) {
            waiters[i - next].wait(Io::pending);
            ASSERT_FALSE(replies[i - next].error) << replies[i - next].error->message;
        }
    }
}

TEST(Large, AHundredThousandApprovalsAreListedPageByPageAndShownAtOnce) {
    DurableLedger durable([](SqliteOptions& options) {
        options.kept.open_approvals.per_principal = options.kept.open_approvals.per_tenant = 1'000'000;
    });
    ASSERT_FALSE(durable.open());
    const std::uint64_t count = many();
    constexpr std::uint64_t kThreads = 8;
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < kThreads; ++i)
        threads.emplace_back(
            [&, i] { open_approvals(durable, i * count / kThreads, (i + 1) * count / kThreads); });
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(durable.vote("a7"));
    ASSERT_FALSE(durable.open());  // whoever looks now has nothing of it in memory

    // A page costs what is on it, not what there is.
    const auto reads = [&] { return durable.vfs.calls(Op::read); };
    constexpr std::uint64_t kReadsPerPage = 150;
    ASSERT_TRUE(durable.ledger->approval("a1"));  // a connection, its schema
    std::uint64_t before = reads();
    ASSERT_TRUE(durable.ledger->approval("a" + std::to_string(count / 2)));
    EXPECT_LT(reads() - before, 20u);

    std::set<std::string> seen;
    ApprovalQuery query;
    query.state = ApprovalState::pending;
    const auto began = std::chrono::steady_clock::now();
    std::uint64_t pages = 0;
    for (;; ++pages) {
        before = reads();
        const auto page = durable.ledger->page_of_approvals(query);
        ASSERT_TRUE(page);
        EXPECT_LT(reads() - before, kReadsPerPage) << "page " << pages;
        if (page->empty()) break;
        for (const Approval& approval : *page) EXPECT_TRUE(seen.insert(approval.id).second);
        query.before = page->back().id;
    }
    EXPECT_EQ(seen.size(), count - 1);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
    std::printf("%llu approvals in %llu pages, %.0f us each\n", static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(pages), took.count() / static_cast<double>(pages));
    EXPECT_TRUE(durable.vote("a8"));
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

TEST(Large, MoreApprovalsThanAreAllowedAreRefusedUntilSomeAreDecided) {
    DurableLedger durable([](SqliteOptions& options) { options.kept.max_open_approvals = 3; });
    ASSERT_FALSE(durable.open());
    for (const char* id : {"a", "b", "c"}) ASSERT_FALSE(durable.ask(id, 1).error);
    EXPECT_EQ(reason_of(durable.ask("d", 1).error), "approvals_full");
    EXPECT_FALSE(durable.ledger->approval("d"));
    ASSERT_TRUE(durable.vote("a", false));
    EXPECT_FALSE(durable.ask("d", 1).error);
    EXPECT_EQ(reason_of(durable.ask("e", 1).error), "approvals_full");
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(reason_of(durable.ask("e", 1).error), "approvals_full")
        << "they are counted after a start, too";
    durable.clock->advance(std::chrono::hours(1));
    EXPECT_FALSE(durable.ask("e", 1).error) << "those that have expired do not count";
}

TEST(Large, OnePrincipalAndOneTenantCannotHaveAllTheRoomForApprovals) {
    DurableLedger durable([](SqliteOptions& options) {
        options.kept.open_approvals.per_principal = 2;
        options.kept.open_approvals.per_tenant = 3;
    });
    ASSERT_FALSE(durable.open());
    for (const char* id : {"a", "b"}) ASSERT_FALSE(durable.ask(id, 1).error);
    const OpenApprovalReply refused = durable.ask("c", 1);
    EXPECT_EQ(reason_of(refused.error), "approvals_full_for_principal");
    EXPECT_EQ(refused.error->code, ErrorCode::rate_limited);
    EXPECT_FALSE(durable.ledger->approval("c"));
    EXPECT_FALSE(durable.ask("d", 1, "another").error);
    EXPECT_EQ(reason_of(durable.ask("e", 1, "a third").error), "approvals_full_for_tenant");
    EXPECT_FALSE(durable.ask("f", 1, "agent", "other tenant").error);
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(reason_of(durable.ask("c", 1).error), "approvals_full_for_principal") << "after a start, too";
    ASSERT_TRUE(durable.vote("a", false));
    EXPECT_FALSE(durable.ask("c", 1).error);
    durable.clock->advance(std::chrono::hours(1));
    EXPECT_FALSE(durable.ask("g", 1).error) << "those that have expired do not count";
}

}  // namespace
}  // namespace callgate::ledger::testing
