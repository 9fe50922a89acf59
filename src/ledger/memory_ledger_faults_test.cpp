#include <string>

#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "base/guard.h"
#include "ledger/ledger_testing.h"

namespace callgate::ledger::testing {
namespace {

#ifdef CALLGATE_FAILPOINTS

class MemoryLedgerFaults : public ::testing::Test {
protected:
    void arm(std::string_view name, base::FailAction action = base::FailAction::error) {
        base::failpoints().arm(name, action);
    }
    static void is_unavailable(const std::optional<Error>& error) {
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code, ErrorCode::ledger_unavailable);
        EXPECT_EQ(error->details.at("reason").as_string(), "failpoint");
    }
    void TearDown() override {
        base::failpoints().clear();
        base::guards_off() = 0;
    }
};

TEST_F(MemoryLedgerFaults, ALedgerThatFailsSaysSoAndHasDoneNothing) {
    Bench b;
    arm("ledger.claim");
    is_unavailable(b.claim(1, "k").error);
    arm("ledger.peek", base::FailAction::enospc);
    is_unavailable(b.peek("k").error);
    EXPECT_FALSE(b.peek("k").found);
    arm("ledger.open_approval");
    is_unavailable(b.ask("ap", "c1").error);
    EXPECT_FALSE(b.ledger.approval("ap"));
    arm("ledger.record");
    Reply reply;
    AuditEvent unrecorded = event("e");
    b.ledger.record(unrecorded, reply, b.waiter);
    is_unavailable(reply.error);
    EXPECT_EQ(b.ledger.audit_count(), 0u);

    b.claim_as(b.owner, 1, "k", EffectClass::verify, false);
    arm("ledger.dispatch");
    is_unavailable(b.dispatch(1, 1, b.owner).error);
    EXPECT_EQ(b.ledger.find(call_id(1))->state, CallState::claimed);
    b.dispatch(1, 1, b.owner);
    arm("ledger.settle");
    is_unavailable(b.settle(1, AttemptEnd::succeeded).error);
    EXPECT_EQ(b.ledger.find(call_id(1))->state, CallState::dispatched);
    b.settle(1, AttemptEnd::ambiguous, false);
    arm("ledger.conclude");
    is_unavailable(b.conclude(1, 1, Reconciliation::Verdict::applied).error);
    EXPECT_EQ(b.ledger.find(call_id(1))->state, CallState::reconciling);
    EXPECT_EQ(b.ledger.audit_count(), 3u);
}

TEST_F(MemoryLedgerFaults, WithoutTheInsertFirstClaimTwoClaimantsWin) {
    Bench b;
    base::guards_off() = 1u << static_cast<unsigned>(base::Guard::insert_first_claim);
    ClaimVerdict inner = ClaimVerdict::in_progress;
    b.ledger.between_look_and_insert = [&] {
        b.ledger.between_look_and_insert = nullptr;
        inner = b.claim(2, "k").verdict;
    };
    EXPECT_EQ(b.claim(1, "k").verdict, ClaimVerdict::claimed);
    EXPECT_EQ(inner, ClaimVerdict::claimed);
}

TEST_F(MemoryLedgerFaults, WithTheInsertFirstClaimNothingHappensBetweenLookAndInsertion) {
    Bench b;
    b.ledger.between_look_and_insert = [] { FAIL() << "there is a gap"; };
    EXPECT_EQ(b.claim(1, "k").verdict, ClaimVerdict::claimed);
}

TEST_F(MemoryLedgerFaults, WithoutTheCompareAndSetAnApprovalServesTwoClaims) {
    Bench b;
    b.ask("ap", "c1");
    ASSERT_TRUE(b.approve("ap"));
    base::guards_off() = 1u << static_cast<unsigned>(base::Guard::approval_compare_and_set);
    EXPECT_EQ(b.claim_with("ap", 1, "k1").approval, ApprovalVerdict::ok);
    EXPECT_EQ(b.claim_with("ap", 2, "k2").approval, ApprovalVerdict::ok);
}

TEST_F(MemoryLedgerFaults, WithoutTheEpochFenceAZombieFreesTheKeyOfARunningCall) {
    for (const bool fence : {true, false}) {
        Bench b;
        b.claim_as(b.owner, 1, "k", EffectClass::unsafe, false);
        b.ledger.owner_gone(b.owner);
        b.claim_as(b.other, 2, "k");
        base::guards_off() = fence ? 0 : 1u << static_cast<unsigned>(base::Guard::epoch_fence);
        EXPECT_EQ(b.settle(1, AttemptEnd::not_applied, true, 1, 0).settled.released, !fence);
        base::guards_off() = 0;
        EXPECT_EQ(b.claim_as(b.other, 3, "k").verdict,
                  fence ? ClaimVerdict::in_progress : ClaimVerdict::claimed);
    }
}

#endif

}  // namespace
}  // namespace callgate::ledger::testing
