#include "ledger/memory_ledger.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"
#include "ledger/ledger_testing.h"

namespace callgate::ledger::testing {
namespace {

using namespace std::chrono_literals;

// Room

TEST(MemoryLedger, PastItsRoomTheOldestFinishedCallBecomesATombstone) {
    MemoryLedger::Options options;
    options.max_rows = 3;
    Bench b(options);
    for (std::uint64_t i = 1; i <= 3; ++i) {
        b.claim(i, "k" + std::to_string(i));
        b.settle(i, AttemptEnd::succeeded);
    }
    EXPECT_EQ(b.claim(4, "k4").verdict, ClaimVerdict::claimed);
    EXPECT_EQ(must(b.ledger.list({})).size(), 3u);
    EXPECT_EQ(b.claim(5, "k1").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(b.claim(5, "k2").verdict, ClaimVerdict::replay);
}

TEST(MemoryLedger, PastItsBytesTheOldestOutcomesBecomeTombstones) {
    MemoryLedger::Options options;
    options.max_bytes = 100'000;
    Bench b(options);
    for (std::uint64_t i = 1; i <= 20; ++i) {
        ASSERT_EQ(b.claim(i, "k" + std::to_string(i)).verdict, ClaimVerdict::claimed);
        auto outcome = std::make_shared<StoredOutcome>();
        outcome->succeeded = true;
        outcome->result.value = std::string(10'000, 'x');
        SettleRequest end;
        end.call_id = call_id(i);
        end.epoch = 1;
        end.attempt = 1;
        end.end = AttemptEnd::succeeded;
        end.outcome = outcome;
        SettleReply reply;
        b.wait_for(b.ledger.settle(std::move(end), reply, b.waiter));
        ASSERT_TRUE(reply.settled.accepted);
    }
    EXPECT_LT(b.ledger.list({})->size(), 10u);
    EXPECT_EQ(b.peek("k1").verdict, ClaimVerdict::key_expired) << "used, and not run again";
    EXPECT_EQ(b.peek("k20").verdict, ClaimVerdict::replay);
}

TEST(MemoryLedger, RunningCallsThatFillItsBytesAreNotForgottenForOthers) {
    MemoryLedger::Options options;
    options.max_bytes = 100'000;
    Bench b(options);
    const auto large = [&](std::uint64_t call, std::string key) {
        ClaimRequest asked = b.request(call, std::move(key));
        asked.row.arguments = std::make_shared<const Value>(std::string(40'000, 'x'));
        return b.claim(std::move(asked));
    };
    EXPECT_EQ(large(1, "a").verdict, ClaimVerdict::claimed);
    EXPECT_EQ(large(2, "b").verdict, ClaimVerdict::claimed);
    const ClaimReply refused = large(3, "c");
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(code_and_reason(*refused.error), "ledger_unavailable/ledger_full");
    EXPECT_FALSE(b.peek("c").found);
    EXPECT_EQ(b.claim(4, "small").verdict, ClaimVerdict::claimed);
    b.settle(1, AttemptEnd::succeeded);
    EXPECT_EQ(large(3, "c").verdict, ClaimVerdict::claimed);
    EXPECT_EQ(b.peek("a").verdict, ClaimVerdict::key_expired);
}

TEST(MemoryLedger, OnePrincipalAndOneTenantCannotHaveAllTheRoomForApprovals) {
    MemoryLedger::Options options;
    options.open_approvals.per_principal = 2;
    options.open_approvals.per_tenant = 3;
    Bench b(options);
    const auto refusal = [&](std::string id, std::string requester) {
        const OpenApprovalReply reply = b.ask(id, "call " + id, {}, id, std::move(requester));
        return reply.error ? code_and_reason(*reply.error) : "";
    };
    EXPECT_EQ(refusal("a", "agent"), "");
    EXPECT_EQ(refusal("b", "agent"), "");
    EXPECT_EQ(refusal("c", "agent"), "rate_limited/approvals_full_for_principal");
    EXPECT_EQ(refusal("d", "other"), "");
    EXPECT_EQ(refusal("e", "third"), "rate_limited/approvals_full_for_tenant");
    b.clock.advance(1h);
    EXPECT_EQ(refusal("c", "agent"), "") << "those that have expired do not count";
}

TEST(MemoryLedger, AKeyThatHadToGoEarlyIsRefusedAsLongAsAnyOther) {
    MemoryLedger::Options options;
    options.key_ttl = 24h;
    options.tombstone_ttl = 1h;
    options.max_rows = 1;
    Bench b(options);
    b.claim(1, "k");
    b.settle(1, AttemptEnd::succeeded);
    b.claim(2, "");
    b.settle(2, AttemptEnd::succeeded);
    b.clock.advance(25h - 1ms);
    EXPECT_EQ(b.claim(3, "k").verdict, ClaimVerdict::key_expired);
    b.clock.advance(1ms);
    EXPECT_EQ(b.claim(3, "k").verdict, ClaimVerdict::claimed);
}

TEST(MemoryLedger, WhenAllIsRunningOrUnknownClaimsAreRefusedAndNothingIsForgotten) {
    MemoryLedger::Options options;
    options.max_rows = 2;
    Bench b(options);
    b.claim(1, "running");
    b.claim(2, "");
    b.settle(2, AttemptEnd::ambiguous);
    const ClaimReply refused = b.claim(3, "k");
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(code_and_reason(*refused.error), "ledger_unavailable/ledger_full");
    EXPECT_THAT(refused.error->message,
                ::testing::MatchesRegex(
                    "The ledger holds 2 calls that are running or unknown, [0-9]+ bytes, and there is no "
                    "room for another. Resolve the unknown ones, or try again later."));
    EXPECT_EQ(b.claim(3, "running").verdict, ClaimVerdict::in_progress);
    b.settle(1, AttemptEnd::succeeded);
    EXPECT_EQ(b.claim(3, "k").verdict, ClaimVerdict::claimed);
}

TEST(MemoryLedger, TombstonesAreBoundedAndTheOldestGoesFirst) {
    MemoryLedger::Options options;
    options.max_rows = 1;
    options.max_tombstones = 2;
    Bench b(options);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        b.claim(i, "k" + std::to_string(i));
        b.settle(i, AttemptEnd::succeeded);
    }
    EXPECT_EQ(b.peek("k4").verdict, ClaimVerdict::replay);
    EXPECT_EQ(b.peek("k3").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(b.peek("k2").verdict, ClaimVerdict::key_expired);
    EXPECT_FALSE(b.peek("k1").found);
}

// Audit

TEST(MemoryLedger, EventsAreNumberedWithoutGapsAndTimedByTheLedger) {
    Bench b;
    Reply reply;
    for (int i = 0; i < 3; ++i) {
        b.clock.advance(1s);
        AuditEvent denied = event("tool_call.denied", call_id(7));
        b.ledger.record(denied, reply, b.waiter);
    }
    const auto events = must(b.ledger.audit({}));
    ASSERT_EQ(events.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(events[i].sequence, i + 1);
        EXPECT_EQ(events[i].at, base::ManualClock::kStart + (static_cast<int>(i) + 1) * 1s);
    }
}

TEST(MemoryLedger, TheLastEventsAreKeptAndAllAreCounted) {
    for (const std::size_t kept : {1u, 63u, 64u, 65u, 100u}) {
        MemoryLedger::Options options;
        options.audit_kept = kept;
        Bench b(options);
        Reply reply;
        for (int i = 0; i < 250; ++i) {
            AuditEvent one = event("e");
            b.ledger.record(one, reply, b.waiter);
        }
        const auto events = must(b.ledger.audit({}));
        EXPECT_EQ(b.ledger.audit_count(), 250u);
        ASSERT_EQ(events.size(), kept);
        EXPECT_EQ(events.front().sequence, 250u - kept + 1);
        EXPECT_EQ(events.back().sequence, 250u);
    }
}

// Approvals, waiting

TEST(MemoryLedger, ApprovalsAreBoundedAndOpenOnesAreNeverPushedOut) {
    MemoryLedger::Options options;
    options.max_approvals = 2;
    Bench b(options);
    b.ask("a", "c1", {}, "1");
    b.ask("b", "c2", {}, "2");
    const OpenApprovalReply refused = b.ask("c", "c3", {}, "3");
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(code_and_reason(*refused.error), "ledger_unavailable/approvals_full");
    ASSERT_TRUE(b.approve("a", "bob", false));
    EXPECT_FALSE(b.ask("c", "c3", {}, "3").error);
    EXPECT_FALSE(b.ledger.approval("a"));
    EXPECT_FALSE(must(approval_of_call(b.ledger, "c1")));
    EXPECT_TRUE(b.ledger.approval("b"));
}

TEST(MemoryLedger, AnOldApprovalThatIsOfNoUseIsClearedAway) {
    Bench b;
    b.ask("old", "c1", {}, "1");
    b.clock.advance(15min + 24h);
    b.ask("new", "c2", {}, "2");
    EXPECT_FALSE(b.ledger.approval("old"));
}

TEST(MemoryLedger, AWaiterMayUseTheLedgerWhenItIsWoken) {
    struct Claiming final : Waiter {
        explicit Claiming(Bench& bench) : b(bench) {}
        void wake() override { verdict = b.claim(2, "k").verdict; }
        Bench& b;
        ClaimVerdict verdict = ClaimVerdict::in_progress;
    };
    Bench b;
    b.claim(1, "k");
    const auto waiter = std::make_shared<Claiming>(b);
    (void)b.waits_for_end("k", waiter);
    b.settle(1, AttemptEnd::not_applied);
    EXPECT_EQ(waiter->verdict, ClaimVerdict::claimed);
}

}  // namespace
}  // namespace callgate::ledger::testing
