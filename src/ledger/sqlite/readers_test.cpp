// Looking things up: by a few connections however many ask, and never an error that looks like emptiness.
#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include "ledger/blocking_waiter.h"
#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

using Op = FaultyVfs::Op;
using File = FaultyVfs::File;
using Fault = FaultyVfs::Fault;

struct Woken final : Waiter {
    void wake() override { ++times; }
    std::atomic<int> times{0};
};

/// With one call that runs and one that waits for a person.
void fill(DurableLedger& durable) {
    ASSERT_FALSE(durable.open());
    ASSERT_EQ(durable.claim(durable.request(1, "k")).verdict, ClaimVerdict::claimed);
    ASSERT_FALSE(durable.ask("ap", 2).error);
}

TEST(SqliteReaders, AnErrorIsNeverAnEmptyList) {
    DurableLedger durable;
    fill(durable);
    durable.vfs.inject(Op::open, File::database, Fault::error, 1, true);  // no descriptors are left, say
    EXPECT_FALSE(durable.ledger->list({}));
    EXPECT_FALSE(durable.ledger->approvals({}));
    EXPECT_FALSE(durable.ledger->in_doubt());
    EXPECT_FALSE(durable.ledger->audit({}));
    const auto call = durable.ledger->find(call_id(1));
    ASSERT_FALSE(call);
    EXPECT_FALSE(is_not_found(call.error())) << "it is there, and could not be read";
    const auto approval = durable.ledger->approval("ap");
    ASSERT_FALSE(approval);
    EXPECT_FALSE(is_not_found(approval.error()));
    durable.vfs.clear();
    EXPECT_EQ(must(durable.ledger->list({})).size(), 1u);
    EXPECT_EQ(must(durable.ledger->approvals({})).size(), 1u);
    EXPECT_TRUE(is_not_found(durable.ledger->find(call_id(9)).error()));
    EXPECT_TRUE(is_not_found(durable.ledger->approval("other").error()));
}

TEST(SqliteReaders, WhatACallLooksUpSaysThatItCouldNotBeRead) {
    DurableLedger durable;
    fill(durable);
    durable.vfs.inject(Op::open, File::database, Fault::error, 1, true);
    PeekReply peeked;
    durable.turn.wait_for(durable.ledger->peek(key_of("k"), print_of("request"), peeked, durable.turn));
    EXPECT_TRUE(peeked.error);
    ApprovalReply open;
    durable.turn.wait_for(
        durable.ledger->open_approval_for("acme", "agent", print_of("ap"), "", open, durable.turn));
    EXPECT_TRUE(open.error) << "not: there is none, open another";
    EXPECT_FALSE(approval_of_call(*durable.ledger, "call of ap"));
    const auto ended = std::make_shared<Woken>();
    WaitReply wait;
    durable.turn.wait_for(durable.ledger->wait_for_end(key_of("k"), ended, wait, durable.turn));
    EXPECT_TRUE(wait.error);
    EXPECT_EQ(ended.use_count(), 1) << "nobody holds on to who does not wait";
    durable.vfs.clear();
    EXPECT_EQ(must(approval_of_call(*durable.ledger, "call of ap"))->id, "ap");
}

TEST(SqliteReaders, HoweverManyLookAtOnceAFewConnectionsAnswerThemAll) {
    constexpr std::size_t kCallers = 2'000;
    DurableLedger durable([](SqliteOptions& options) { options.readers.threads = 3; });
    fill(durable);
    const std::uint64_t before = durable.vfs.calls(Op::open, File::database);
    std::vector<PeekReply> replies(kCallers);
    Turn answered;
    for (PeekReply& reply : replies)
        ASSERT_EQ(durable.ledger->peek(key_of("k"), print_of("request"), reply, answered), Io::pending)
            << "the caller's thread does not wait for the disk";
    for (std::size_t i = 0; i < kCallers; ++i) answered.wait_for(Io::pending);
    for (const PeekReply& reply : replies) {
        ASSERT_FALSE(reply.error);
        ASSERT_EQ(reply.verdict, ClaimVerdict::in_progress);
    }
    EXPECT_LE(durable.vfs.calls(Op::open, File::database) - before, 3u);
}

TEST(SqliteReaders, WhatWaitsToBeLookedUpIsBounded) {
    DurableLedger durable([](SqliteOptions& options) {
        options.readers.threads = 1;
        options.readers.max_waiting = 2;
    });
    fill(durable);
    // The one reader is kept by who it woke.
    Holding holding;
    PeekReply first;
    ASSERT_EQ(durable.ledger->peek(key_of("k"), print_of("request"), first, holding), Io::pending);
    holding.until_held();
    PeekReply two[2];
    Turn answered;
    for (PeekReply& reply : two) durable.ledger->peek(key_of("k"), print_of("request"), reply, answered);
    PeekReply refused;
    answered.wait_for(durable.ledger->peek(key_of("k"), print_of("request"), refused, answered));
    EXPECT_EQ(reason_of(refused.error), "ledger_busy");
    holding.let_go();
    for (PeekReply& reply : two) {
        answered.wait_for(Io::pending);
        EXPECT_FALSE(reply.error);
    }
}

TEST(SqliteReaders, AReaderThatCannotOpenTheFileLeavesItToOneThatCould) {
    DurableLedger durable([](SqliteOptions& options) { options.readers.threads = 2; });
    fill(durable);
    PeekReply first;
    durable.turn.wait_for(durable.ledger->peek(key_of("k"), print_of("request"), first, durable.turn));
    ASSERT_FALSE(first.error);
    durable.vfs.inject(Op::open, File::database, Fault::error, 1, true);
    std::vector<PeekReply> replies(50);
    Turn answered;
    for (PeekReply& reply : replies) durable.ledger->peek(key_of("k"), print_of("request"), reply, answered);
    for (std::size_t i = 0; i < replies.size(); ++i) answered.wait_for(Io::pending);
    for (const PeekReply& reply : replies) EXPECT_FALSE(reply.error);
}

}  // namespace
}  // namespace callgate::ledger::testing
