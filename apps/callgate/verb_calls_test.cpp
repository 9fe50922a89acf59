#include "verb_calls.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator_testing.h"
#include "operator_verb.h"

namespace callgate::cli {
namespace {

using ledger::AttemptEnd;
using ledger::testing::finished_call;
using ::testing::HasSubstr;
using testing::LedgerTest;
using ::testing::Not;
using testing::Ran;

class VerbCalls : public ::testing::TestWithParam<bool> {
protected:
    LedgerTest test{GetParam()};

    std::string call(std::uint64_t number, AttemptEnd end) {
        return finished_call(test.ledger(), test.owner(), number, end);
    }
    void ready() {
        if (!GetParam()) test.let_go();
    }
};

INSTANTIATE_TEST_SUITE_P(Ledger, VerbCalls, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Owned" : "Free"; });

TEST_P(VerbCalls, ListsCallsByWhatBecameOfThem) {
    const std::string good = call(1, AttemptEnd::succeeded);
    const std::string lost = call(2, AttemptEnd::ambiguous);
    ready();
    const Ran all = test.run({"calls", "list"});
    EXPECT_EQ(all.exit_code, 0) << all.err;
    EXPECT_THAT(all.out, HasSubstr(good));
    EXPECT_THAT(all.out, HasSubstr(lost));
    const Value unknown = test.json({"calls", "list", "--unknown"});
    ASSERT_EQ(unknown.at("calls").as_array().size(), 1u);
    EXPECT_EQ(unknown.at("calls").at(0).at("call_id"), Value(lost));
    EXPECT_EQ(test.json({"calls", "list", "--state", "succeeded"}).at("calls").at(0).at("call_id"),
              Value(good));
    EXPECT_EQ(test.run({"calls", "list", "--tool", "other"}).out, "No call is recorded that fits.\n");
    EXPECT_EQ(test.json({"calls", "list", "--principal", "agent", "--limit", "1"}).at("next"), Value(lost));
    EXPECT_EQ(test.run({"calls", "list", "--unknown", "--state", "failed"}).exit_code, 2);
}

TEST_P(VerbCalls, TheListOfAllEndsWhereTheLogIsArchived) {
    const std::string good = call(1, AttemptEnd::succeeded);
    const std::string lost = call(2, AttemptEnd::ambiguous);
    ready();
    const Ran archived = test.run({"audit", "archive", "--yes", "--keep", "1"});
    ASSERT_EQ(archived.exit_code, 0) << archived.err;
    const Ran all = test.run({"calls", "list", "--all"});
    EXPECT_EQ(all.exit_code, 0) << all.err;
    EXPECT_THAT(all.out, HasSubstr(good));
    EXPECT_THAT(all.out, HasSubstr(lost));
}

TEST_P(VerbCalls, ShowsACallWithItsAttemptsItsOutcomeAndItsEvents) {
    const std::string id = call(1, AttemptEnd::succeeded);
    ready();
    const Ran ran = test.run({"calls", "show", id});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    for (const std::string text :
         {"send_mail: succeeded", "called by   agent", "key         key-1", "6 bytes, SHA-256", "attempt",
          "tool_call.attempted", "tool_call.succeeded", "ada@example.org"})
        EXPECT_THAT(ran.out, HasSubstr(text));
    EXPECT_EQ(test.run({"calls", "show", "nothing"}).exit_code, 1);
}

TEST_P(VerbCalls, AnUnknownOutcomeIsResolvedOnceAndInTheNameOfWhoFoundOut) {
    const std::string id = call(1, AttemptEnd::ambiguous);
    ready();
    const std::vector<std::string> resolve = {"calls",     "resolve",    id,
                                              "--applied", "--evidence", "in the outbox"};
    EXPECT_EQ(test.run(resolve).exit_code, 2) << "nobody can be asked";
    EXPECT_EQ(test.run(resolve, "n\n").exit_code, 1);
    EXPECT_EQ(test.json({"calls", "list", "--unknown"}).at("calls").as_array().size(), 1u);
    const Ran ran = test.run(resolve, "y\n");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("This cannot be changed."));
    EXPECT_THAT(ran.out, HasSubstr("succeeded"));
    EXPECT_THAT(test.run({"calls", "show", id}).out, HasSubstr("applied: in the outbox (uid "));
    const Ran again = test.run({"calls", "resolve", id, "--not-applied", "--evidence", "x", "--yes"});
    EXPECT_EQ(again.exit_code, 1) << "it is not unknown any more";
}

TEST_P(VerbCalls, ResolvingNeedsAFindingAndEvidence) {
    const std::string id = call(1, AttemptEnd::ambiguous);
    ready();
    EXPECT_EQ(test.run({"calls", "resolve", id, "--applied", "--yes"}).exit_code, 2);
    EXPECT_EQ(test.run({"calls", "resolve", id, "--evidence", "x", "--yes"}).exit_code, 2);
    EXPECT_EQ(test.run({"calls", "resolve", id, "--applied", "--not-applied", "--evidence", "x"}).exit_code,
              2);
    EXPECT_EQ(test.json({"calls", "resolve", id, "--not-applied", "--evidence", "no mail", "--yes"})
                  .at("call")
                  .at("state"),
              "not_applied");
}

TEST_P(VerbCalls, ACallThatAskedIsListedAsWhatBecameOfItsApproval) {
    using ledger::testing::open_approval;
    const auto asked = [&](std::uint64_t number, std::chrono::milliseconds lifetime) {
        return open_approval(test.ledger(), number, Object(), "agent", lifetime);
    };
    const Approval waits = asked(1, std::chrono::minutes(15));
    const Approval expired = asked(2, std::chrono::milliseconds(0));
    const Approval revoked = asked(3, std::chrono::minutes(15));
    const Approval denied = asked(4, std::chrono::minutes(15));
    ready();
    EXPECT_EQ(test.run({"approvals", "revoke", revoked.id, "--yes"}).exit_code, 0);
    EXPECT_EQ(test.run({"approvals", "deny", denied.id, "--yes"}).exit_code, 0);
    const std::map<std::string, std::string> expected = {{waits.call_id, "waiting"},
                                                         {expired.call_id, "expired"},
                                                         {revoked.call_id, "revoked"},
                                                         {denied.call_id, "refused"}};
    std::map<std::string, std::string> listed;
    const Value all = test.json({"calls", "list", "--all"});
    for (const Value& one : all.at("calls").as_array())
        listed[text_at(one, "call_id")] = text_at(one, "state");
    EXPECT_EQ(listed, expected);
    for (const auto& [id, state] : expected) {
        EXPECT_EQ(test.json({"calls", "show", id}).at("call").at("state"), Value(state));
        const Value page = test.json({"calls", "list", "--all", "--state", state});
        ASSERT_EQ(page.at("calls").as_array().size(), 1u) << state;
        EXPECT_EQ(page.at("calls").at(0).at("call_id"), Value(id));
    }
    const Ran shown = test.run({"calls", "show", expired.call_id});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_THAT(shown.out, Not(HasSubstr("resolve")));
}

TEST_P(VerbCalls, AllAreListedByStateAPageAtATime) {
    call(1, AttemptEnd::ambiguous);
    const std::string first = call(2, AttemptEnd::failed);
    const std::string second = call(3, AttemptEnd::failed);
    ledger::testing::open_approval(test.ledger(), 1);
    ready();
    const Value page = test.json({"calls", "list", "--all", "--state", "failed", "--limit", "1"});
    ASSERT_EQ(page.at("calls").as_array().size(), 1u);
    EXPECT_EQ(page.at("next"), Value(second));
    const Value next = test.json({"calls", "list", "--all", "--state", "failed", "--before", second});
    ASSERT_EQ(next.at("calls").as_array().size(), 1u);
    EXPECT_EQ(next.at("calls").at(0).at("call_id"), Value(first));
    EXPECT_TRUE(next.at("next").is_null());
    const Ran alone = test.run({"calls", "list", "--state", "waiting"});
    EXPECT_EQ(alone.exit_code, 2);
    EXPECT_THAT(alone.err, HasSubstr("--all"));
}

TEST_P(VerbCalls, AnIdThatFitsNothingIsWrongUsageOfAnOption) {
    call(1, AttemptEnd::succeeded);
    ready();
    for (const std::string id : {"dead", "zzzz"}) {
        for (const std::vector<std::string>& line :
             {std::vector<std::string>{"calls", "list", "--before", id},
              {"approvals", "list", "--before", id},
              {"audit", "tail", "--call", id}}) {
            const Ran ran = test.run(line);
            EXPECT_EQ(ran.exit_code, 2) << line[0];
            EXPECT_THAT(ran.err, HasSubstr(line[2] + ": "));
        }
    }
}

TEST_P(VerbCalls, WhatIsToBeCopiedNamesTheLedger) {
    const std::string id = call(1, AttemptEnd::ambiguous);
    ready();
    EXPECT_THAT(test.run({"calls", "show", id}).out,
                HasSubstr("callgate calls resolve " + id + " --ledger '" + test.directory() + "'"));
}

}  // namespace
}  // namespace callgate::cli
