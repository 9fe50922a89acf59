#include "ids.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator_testing.h"

namespace callgate::cli {
namespace {

using ledger::AttemptEnd;
using ledger::testing::finished_call;
using ledger::testing::numbered_id;
using ledger::testing::open_approval;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::LedgerTest;
using testing::Ran;

TEST(ShortIds, AreTheEndsThatAreUniqueInTheList) {
    EXPECT_THAT(short_ids(std::vector<std::string>{"01975f2e-7c1a-7000-8000-0123456789ab",
                                                   "01975f2e-7c1a-7000-8000-0123456789ac"}),
                ElementsAre("456789ab", "456789ac"));
    EXPECT_THAT(short_ids(std::vector<std::string>{"01975f2e-7c1a-7000-8000-01aa456789ab",
                                                   "01975f2e-7c1a-7000-8000-01bb456789ab"}),
                ElementsAre("a456789ab", "b456789ab"));
}

TEST(ShortIds, HaveALetterAndBeginWithNoDash) {
    EXPECT_THAT(short_ids(std::vector<std::string>{"01975f2e-7c1a-7000-8000-012345678901"}),
                ElementsAre("a-7000-8000-012345678901"));
}

class Ids : public ::testing::TestWithParam<bool> {
protected:
    LedgerTest test{GetParam()};
    void ready() {
        if (!GetParam()) test.let_go();
    }
};

INSTANTIATE_TEST_SUITE_P(Ledger, Ids, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Owned" : "Free"; });

TEST_P(Ids, AnApprovalIsFoundByItsEndAndByThatOfItsCall) {
    const Approval one = open_approval(test.ledger(), 0xabcdef01);
    open_approval(test.ledger(), 2);
    ready();
    for (const std::string& given : {one.id.substr(28), one.id.substr(24), one.call_id.substr(28)}) {
        const Value shown = test.json({"approvals", "show", given});
        EXPECT_EQ(shown.at("approval").at("id"), Value(one.id)) << given;
    }
    EXPECT_EQ(test.run({"approvals", "deny", one.id.substr(28), "--yes"}).exit_code, 0);
    EXPECT_EQ(test.json({"approvals", "list", "--state", "denied"}).at("approvals").at(0).at("id"),
              Value(one.id));
}

TEST_P(Ids, WhatFitsSeveralIsRefusedAndTheyAreNamed) {
    const Approval one = open_approval(test.ledger(), 1);
    const Approval two = open_approval(test.ledger(), 2);
    ready();
    const Ran ran = test.run({"approvals", "deny", one.id.substr(0, 8), "--yes"});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.err, HasSubstr(one.id));
    EXPECT_THAT(ran.err, HasSubstr(two.id));
    const Value answer = test.json({"approvals", "deny", one.id.substr(0, 8), "--yes"});
    EXPECT_EQ(answer.at("error").at("details").at("reason"), "ambiguous_id");
    EXPECT_EQ(answer.at("error").at("details").at("candidates").as_array().size(), 2u);
    EXPECT_EQ(test.json({"approvals", "list"}).at("approvals").as_array().size(), 2u) << "nothing was denied";
}

TEST_P(Ids, TooLittleOfAnIdIsRefused) {
    const Approval one = open_approval(test.ledger(), 1);
    ready();
    EXPECT_EQ(test.run({"approvals", "show", one.id.substr(33)}).exit_code, 2);
    EXPECT_EQ(test.run({"approvals", "show", ""}).exit_code, 2);
    EXPECT_EQ(test.run({"approvals", "show", "ffffffff"}).exit_code, 1);
    EXPECT_EQ(test.run({"calls", "show", "ffffffff"}).exit_code, 1);
}

TEST_P(Ids, ACallIsFoundByItsEndInEveryVerb) {
    const std::string id = finished_call(test.ledger(), test.owner(), 0xabcdef01, AttemptEnd::ambiguous);
    const std::string other = finished_call(test.ledger(), test.owner(), 7, AttemptEnd::succeeded);
    ready();
    const std::string end = id.substr(28);
    EXPECT_EQ(test.json({"calls", "show", end}).at("call").at("call_id"), Value(id));
    EXPECT_EQ(test.json({"audit", "show", end}).at("events").at(0).at("call_id"), Value(id));
    EXPECT_EQ(test.json({"audit", "tail", "--call", end}).at("events").at(0).at("call_id"), Value(id));
    EXPECT_EQ(test.json({"calls", "list", "--before", end}).at("calls").at(0).at("call_id"), Value(other));
    EXPECT_EQ(test.run({"calls", "resolve", end, "--applied", "--evidence", "seen", "--yes"}).exit_code, 0);
    EXPECT_EQ(test.json({"calls", "show", id}).at("call").at("state"), "succeeded");
    EXPECT_EQ(test.run({"calls", "show", id.substr(0, 8)}).exit_code, 2) << "both begin like this";
}

}  // namespace
}  // namespace callgate::cli
