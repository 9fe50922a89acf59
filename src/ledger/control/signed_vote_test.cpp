// Whose vote counts for what, and what an operator's signature changes about it.
#include "ledger/control/signed_vote.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/encoding.h"
#include "base/rng.h"
#include "ledger/audit/signing_key.h"
#include "ledger/control/control_testing.h"
#include "ledger/control/service.h"
#include "ledger/operators.h"

namespace callgate::ledger {
namespace {

using testing::Bench;
using ::testing::Contains;
using testing::FakeOperations;

std::string base64(const Signature& signature) {
    return base::base64_encode({reinterpret_cast<const char*>(signature.data()), signature.size()});
}

struct SignedVotes : ::testing::Test, Bench {
    SignedVotes() {
        operations.operators.clear();
        ada.name = "user:ada";
        ada.uid = 1000;
        ada.pid = 42;
    }

    Approval open(const std::string& id, Assurance needed, std::uint32_t approvals = 1,
                  std::string requester = "agent") {
        OpenApprovalRequest asked;
        asked.approval.id = id;
        asked.approval.requester = std::move(requester);
        asked.approval.digest = base::sha256_hex(id);
        asked.approval.assurance_needed = needed;
        asked.approval.approvals_needed = approvals;
        asked.fingerprint = testing::print_of(id);
        OpenApprovalReply reply;
        wait_for(ledger.open_approval(std::move(asked), reply, waiter));
        return reply.approval;
    }

    static Object yes(const Approval& approval) {
        return {{"v", 1},
                {"verb", "approvals.vote"},
                {"id", approval.id},
                {"approve", true},
                {"digest", approval.digest}};
    }
    static Object signed_by(const SigningKey& key, const Approval& approval, Array succession = {}) {
        Object request = yes(approval);
        request["key"] = key.verifying_key().vkey();
        request["signature"] = base64(key.sign(vote_statement(approval.id, approval.digest, true)));
        if (!succession.empty()) request["succession"] = std::move(succession);
        return request;
    }
    static Value next_key(const SigningKey& before, const SigningKey& after, uid_t uid = 1000) {
        const std::string vkey = after.verifying_key().vkey();
        return Value(vkey + " " + base64(before.sign(succession_statement(uid, vkey))));
    }

    std::string answer(const Object& request) {
        const auto answered = service.answer(request, ada);
        if (!answered) return std::string(answered.error().details.at("reason").as_string());
        return std::string(answered->at("approval").at("state").as_string());
    }
    const Vote last_vote(const Approval& approval) {
        return ledger.approval(approval.id).value().votes.back();
    }

    FakeOperations operations{ledger, clock};
    ControlService service{ledger, operations, clock};
    ControlUser ada;
    base::SeededRng rng{3};
    const SigningKey first = SigningKey::generate("operator-1000", rng);
    const SigningKey second = SigningKey::generate("operator-1000", rng);
    const SigningKey third = SigningKey::generate("operator-1000", rng);
};

TEST_F(SignedVotes, AUsersWordCountsA1) {
    const Approval risky = open("a1", Assurance::a2);
    EXPECT_EQ(answer(yes(risky)), "assurance_too_low");
    const auto told = service.answer(yes(risky), ada);
    EXPECT_NE(told.error().message.find("callgate operator enroll"), std::string::npos);
    const Approval usual = open("a2", Assurance::a1);
    EXPECT_EQ(answer(yes(usual)), "approved");
    EXPECT_EQ(last_vote(usual).assurance, Assurance::a1);
    EXPECT_EQ(last_vote(usual).uid, 1000);
}

TEST_F(SignedVotes, RootsWordCountsNoMore) {
    ada.uid = 0;
    ada.name = "user:root";
    EXPECT_EQ(answer(yes(open("a1", Assurance::a2))), "assurance_too_low");
}

TEST_F(SignedVotes, AnOperatorThatTheConfigurationNamesCountsA2) {
    operations.operators = {1000};
    const Approval risky = open("a1", Assurance::a2);
    EXPECT_EQ(answer(yes(risky)), "approved");
    EXPECT_EQ(last_vote(risky).assurance, Assurance::a2);
}

TEST_F(SignedVotes, ASignatureCountsA2AndItsKeyIsPinnedOnTheRecord) {
    const Approval risky = open("a1", Assurance::a2);
    EXPECT_EQ(answer(signed_by(first, risky)), "approved");
    EXPECT_EQ(last_vote(risky).assurance, Assurance::a2);
    EXPECT_EQ(last_vote(risky).key, first.verifying_key().vkey());
    EXPECT_FALSE(last_vote(risky).signature.empty());
    EXPECT_EQ(operations.keys.at(1000), first.verifying_key().vkey());
    EXPECT_THAT(audit_types(), Contains("operator.enrolled"));
}

TEST_F(SignedVotes, ASignatureIsForOneDecisionAboutOneApproval) {
    const Approval one = open("a1", Assurance::a2);
    const Approval another = open("a2", Assurance::a2);
    Object moved = signed_by(first, one);
    moved["id"] = another.id;
    moved["digest"] = another.digest;
    EXPECT_EQ(answer(moved), "bad_signature");
    Object of_a_no = signed_by(first, one);
    of_a_no["signature"] = base64(first.sign(vote_statement(one.id, one.digest, false)));
    EXPECT_EQ(answer(of_a_no), "bad_signature");
    Object garbage = signed_by(first, one);
    garbage["signature"] = "AAAA";
    EXPECT_EQ(answer(garbage), "bad_signature");
    EXPECT_TRUE(operations.keys.empty()) << "who cannot sign with a key pins none";
}

TEST_F(SignedVotes, AnotherKeyIsRefusedUnlessTheOneBeforeSignedIt) {
    EXPECT_EQ(answer(signed_by(first, open("a1", Assurance::a2))), "approved");
    const Approval next = open("a2", Assurance::a2);
    EXPECT_EQ(answer(signed_by(second, next)), "key_changed");
    EXPECT_EQ(answer(signed_by(second, next, {next_key(second, second)})), "key_changed");
    EXPECT_EQ(answer(signed_by(second, next, {next_key(first, second, 1001)})), "key_changed");
    EXPECT_EQ(answer(signed_by(second, next, {next_key(first, second)})), "approved");
    EXPECT_THAT(audit_types(), Contains("operator.key_changed"));
    EXPECT_EQ(answer(signed_by(first, open("a3", Assurance::a2))), "key_changed") << "the old one is over";
}

TEST_F(SignedVotes, ALedgerThatMissedAKeyFollowsTheSuccession) {
    EXPECT_EQ(answer(signed_by(first, open("a1", Assurance::a2))), "approved");
    const Array all{next_key(first, second), next_key(second, third)};
    EXPECT_EQ(answer(signed_by(third, open("a2", Assurance::a2), all)), "approved");
}

TEST_F(SignedVotes, OneUserIsOnePersonWhateverTheNameServiceSays) {
    const Approval both = open("a1", Assurance::a1, 2);
    EXPECT_EQ(answer(yes(both)), "pending");
    ada.name = "uid:1000";  // the name service fails meanwhile
    EXPECT_EQ(answer(yes(both)), "pending");
    EXPECT_EQ(ledger.approval(both.id)->votes.size(), 1u);
    ada.uid = 1001;
    ada.name = "user:bob";
    EXPECT_EQ(answer(yes(both)), "approved");
}

TEST_F(SignedVotes, WhoAskedIsKnownByNumber) {
    ada.name = "user:somebody-else";
    EXPECT_EQ(answer(yes(open("a1", Assurance::a1, 1, "uid:1000"))), "self_approval");
    ada.uid = 0;
    ada.name = "uid:0";  // no name for it now
    EXPECT_EQ(answer(yes(open("a2", Assurance::a1, 1, "root"))), "self_approval");
    EXPECT_EQ(answer(yes(open("a3", Assurance::a1, 1, "user:root"))), "self_approval");
    EXPECT_EQ(answer(yes(open("a4", Assurance::a1, 1, "uid:1000"))), "approved");
    int number = 5;
    for (const auto* own :
         {"0", "user:0", "uid:00", "uid:+0", "UID: 0", "uid:0x0", " User:uid:0", "0X0", "ROOT"})
        EXPECT_EQ(answer(yes(open("a" + std::to_string(number++), Assurance::a1, 1, own))), "self_approval")
            << own;
    for (const auto* stranger : {"1", "uid:", "uid:0x", "uid:01", "uid:zero", "0 0"})
        EXPECT_EQ(answer(yes(open("a" + std::to_string(number++), Assurance::a1, 1, stranger))), "approved")
            << stranger;
}

}  // namespace
}  // namespace callgate::ledger
