#include "verb_approvals.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "approval_report.h"
#include "ledger/control/control_user.h"
#include "operator_testing.h"
#include "operator_verb.h"

namespace callgate::cli {
namespace {

using ledger::testing::open_approval;
using ::testing::HasSubstr;
using testing::LedgerTest;
using ::testing::Not;
using testing::Ran;

// Every verb must do the same whether somebody owns the ledger or nobody does.
class VerbApprovals : public ::testing::TestWithParam<bool> {
protected:
    LedgerTest test{GetParam()};

    Approval ask(std::uint64_t number, Value arguments = Value{{"to", {"ada@example.org"}}}) {
        return open_approval(test.ledger(), number, std::move(arguments));
    }
    void ready() {
        if (!GetParam()) test.let_go();
    }
    std::string state_of(const Approval& approval) const {
        return text_at(test.json({"approvals", "show", approval.id}).at("approval"), "state");
    }
};

INSTANTIATE_TEST_SUITE_P(Ledger, VerbApprovals, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Owned" : "Free"; });

TEST_P(VerbApprovals, ListsWhatIsPendingNewestFirst) {
    const Approval first = ask(1);
    const Approval second = ask(2);
    ready();
    const Ran ran = test.run({"approvals", "list"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_LT(ran.out.find(second.id), ran.out.find(first.id));
    EXPECT_THAT(ran.out, HasSubstr("ada@example.org"));
    EXPECT_THAT(ran.out, HasSubstr("14 min"));
    const Value page = test.json({"approvals", "list", "--limit", "1"});
    EXPECT_EQ(page.at("approvals").as_array().size(), 1u);
    EXPECT_EQ(page.at("next"), Value(second.id));
    EXPECT_THAT(test.run({"approvals", "list", "--limit", "1"}).out, HasSubstr("--before " + second.id));
    EXPECT_EQ(test.json({"approvals", "list", "--before", second.id}).at("approvals").at(0).at("id"),
              Value(first.id));
    EXPECT_EQ(test.run({"approvals", "list", "--state", "denied"}).out, "No approval is denied.\n");
    EXPECT_THAT(test.run({"approvals", "list", "--state", "all"}).out, HasSubstr("pending"));
    EXPECT_EQ(test.run({"approvals", "list", "--before", "yesterday"}).exit_code, 2);
}

TEST_P(VerbApprovals, ShowsEverythingThatDecidesAboutIt) {
    const Approval approval =
        ask(1, Value{{"to", "ada\u200B@ex\u0430mple.org"}, {"body", std::string(3'000, 'x')}});
    ready();
    const Ran ran = test.run({"approvals", "show", approval.id});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    for (const std::string text :
         {"send_mail: pending, expires in 14 min", "risk        high", "risk high at autonomy A2",
          "asked by    agent", "0 of 1, each with assurance A2", "ada\\u{200B}@", "cannot be seen",
          "letters of several scripts", "/body is cut: it has 3000 bytes, SHA-256 "})
        EXPECT_THAT(ran.out, HasSubstr(text));
    for (const std::string& text : {approval.id, approval.call_id, approval.digest})
        EXPECT_THAT(ran.out, HasSubstr(text));
    EXPECT_THAT(test.run({"approvals", "show", approval.call_id, "--full"}).out,
                HasSubstr(std::string(3'000, 'x')));
    const Ran none = test.run({"approvals", "show", "nothing"});
    EXPECT_EQ(none.exit_code, 1);
    EXPECT_EQ(none.out, "");
    EXPECT_THAT(none.err, HasSubstr("no approval with the id 'nothing'"));
}

TEST_P(VerbApprovals, APersonApprovesWhatWasShown) {
    const Approval approval = ask(1);
    ready();
    const Ran ran = test.run({"approvals", "approve", approval.id, "--reason", "looks right"}, "y\n");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(approval.digest));
    EXPECT_THAT(ran.err, HasSubstr("Approve it? [y/N] "));
    EXPECT_THAT(ran.out, HasSubstr("send_mail: approved"));
    const Value vote = test.json({"approvals", "show", approval.id}).at("approval").at("votes").at(0);
    EXPECT_EQ(vote.at("approver"), Value(ledger::this_process().name));
    EXPECT_THAT(text_at(vote, "reason"), HasSubstr("looks right (uid "));
    const Ran again = test.run({"approvals", "approve", approval.id}, "y\n");
    EXPECT_EQ(again.exit_code, 1);
    EXPECT_THAT(again.err, HasSubstr("already approved"));
}

TEST_P(VerbApprovals, WithoutAYesNothingIsDecided) {
    const Approval approval = ask(1);
    ready();
    for (const std::string typed : {"n\n", "\n", "", "yep\n"}) {
        EXPECT_EQ(test.run({"approvals", "approve", approval.id}, typed).exit_code, 1);
        EXPECT_EQ(test.run({"approvals", "deny", approval.id}, typed).exit_code, 1);
        EXPECT_EQ(test.run({"approvals", "revoke", approval.id}, typed).exit_code, 1);
    }
    EXPECT_EQ(state_of(approval), "pending");
    const Ran no = test.run({"approvals", "approve", approval.id}, "n\n");
    EXPECT_THAT(no.err, HasSubstr("Nothing was decided."));
    EXPECT_THAT(no.err, HasSubstr("callgate approvals deny " + approval.id));
    const Ran json = test.run({"approvals", "approve", approval.id, "--json"}, "y\n");
    EXPECT_EQ(json.exit_code, 2);
    EXPECT_THAT(json.out, HasSubstr("With --json nobody is asked"));
}

TEST_P(VerbApprovals, ADenialThatComesTooLateSaysWhatTakesTheApprovalBack) {
    const Approval approval = ask(1);
    ready();
    EXPECT_EQ(test.run({"approvals", "approve", approval.id}, "y\n").exit_code, 0);
    const Ran late = test.run({"approvals", "deny", approval.id, "--yes"});
    EXPECT_EQ(late.exit_code, 1);
    EXPECT_THAT(late.err, HasSubstr("callgate approvals revoke"));
    EXPECT_EQ(state_of(approval), "approved");
}

TEST_P(VerbApprovals, AProgramApprovesWithTheDigestOfWhatItSaw) {
    const Approval approval = ask(1);
    ready();
    EXPECT_EQ(test.run({"approvals", "approve", approval.id}).exit_code, 2) << "nobody can be asked";
    EXPECT_EQ(test.run({"approvals", "approve", approval.id, "--yes"}).exit_code, 2) << "not seen";
    const Ran other = test.run({"approvals", "approve", approval.id, "--yes", "--digest", "00"});
    EXPECT_EQ(other.exit_code, 1);
    EXPECT_THAT(other.err, HasSubstr("Look at it again"));
    EXPECT_EQ(state_of(approval), "pending");
    const Value answer =
        test.json({"approvals", "approve", approval.id, "--yes", "--digest", approval.digest});
    EXPECT_EQ(answer.at("approval").at("state"), "approved");
}

TEST_P(VerbApprovals, DenyAndRevokeNeedNoDigest) {
    const Approval denied = ask(1);
    const Approval revoked = ask(2);
    ready();
    EXPECT_EQ(test.run({"approvals", "deny", denied.id, "--yes", "--reason", "no"}).exit_code, 0);
    EXPECT_EQ(test.run({"approvals", "revoke", revoked.id, "--yes"}).exit_code, 0);
    EXPECT_EQ(state_of(denied), "denied");
    EXPECT_EQ(state_of(revoked), "revoked");
    EXPECT_EQ(test.run({"approvals", "revoke", revoked.id, "--yes"}).exit_code, 1) << "there is nothing left";
}

TEST_P(VerbApprovals, NobodyApprovesWhatTheyAskedFor) {
    const Approval approval = open_approval(test.ledger(), 1, Object(), ledger::this_process().name);
    ready();
    const Ran ran = test.run({"approvals", "approve", approval.id}, "y\n");
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_THAT(ran.err, HasSubstr("somebody else must decide it"));
}

TEST_P(VerbApprovals, WatchShowsWhatIsPendingAndTakesTheAnswer) {
    const Approval first = ask(1);
    const Approval second = ask(2);
    const Approval third = ask(3);
    ready();
    const Ran ran = test.run({"approvals", "watch"}, "a\nwhat\nd\nq\n");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(first.digest));
    EXPECT_EQ(state_of(first), "approved");
    EXPECT_EQ(state_of(second), "denied");
    EXPECT_EQ(state_of(third), "pending");
}

TEST_P(VerbApprovals, ErrorsAreJsonWhereJsonWasAskedFor) {
    ready();
    const Ran ran = test.run({"approvals", "show", "x", "--json"});
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(ran.answer().at("error").at("details").at("reason"), "not_found");
}

TEST(ApprovalReport, SaysWhatACriticalCallNeeds) {
    const Object vote{{"approve", true}};
    const Value approval =
        Object{{"tool", "wipe"},           {"risk", "critical"},    {"state", "pending"},
               {"assurance_needed", "A3"}, {"approvals_needed", 1}, {"votes", Array{vote}}};
    EXPECT_THAT(decision_text(approval, "", Style()),
                HasSubstr("votes: 1 given; 1 with assurance A3 needed, or 2 with A2"));
}

TEST(VerbApprovalsElsewhere, WhereThereIsNoLedgerNoneIsMade) {
    const os::ScratchDir dir;
    std::ostringstream out;
    std::ostringstream err;
    const Console console{out, err, {}, {}};
    EXPECT_EQ(run_program({"approvals", "list", "--ledger", dir.file("none")}, console), 2);
    EXPECT_THAT(err.str(), HasSubstr("There is no ledger in"));
    EXPECT_FALSE(std::filesystem::exists(dir.file("none")));
}

TEST(VerbApprovalsElsewhere, AnOwnerThatDoesNotServeIsToldSo) {
    LedgerTest test;
    const auto opened = LedgerAccess::open(test.directory(), std::chrono::milliseconds(0));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().details.at("reason"), "ledger_owned");
    EXPECT_THAT(opened.error().message, HasSubstr("serves no control socket"));
}

}  // namespace
}  // namespace callgate::cli
