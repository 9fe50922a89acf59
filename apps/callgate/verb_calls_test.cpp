#include "verb_calls.h"

#include <string>

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

}  // namespace
}  // namespace callgate::cli
