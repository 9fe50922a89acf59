#include "ledger/decisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"
#include "ledger/ledger_testing.h"

namespace callgate::ledger {
namespace {

using testing::Bench;
using ::testing::ElementsAre;

struct NotifiedEvents {
    std::vector<std::string> types;
    std::vector<std::uint64_t> numbers;
    EventSink sink() {
        return [this](const AuditEvent& event) {
            types.emplace_back(event.type);
            numbers.push_back(event.sequence);
        };
    }
};

Vote vote_of(std::string who, bool yes) {
    Vote vote;
    vote.approver = std::move(who);
    vote.approve = yes;
    return vote;
}

TEST(Decisions, AVoteIsToldWithItsNumberOnTheRecord) {
    Bench bench;
    bench.ask("a1", base::Uuid{testing::call_id(1)}.to_string());
    NotifiedEvents told;
    ASSERT_TRUE(cast_vote(bench.ledger, "a1", vote_of("ada", true), told.sink()));
    EXPECT_THAT(told.types, ElementsAre("approval.vote"));
    EXPECT_THAT(told.numbers, ElementsAre(must(bench.ledger.audit({})).back().sequence));
    EXPECT_EQ(must(bench.ledger.audit({})).back().call_id, testing::call_id(1));
}

TEST(Decisions, WhatIsNotOnTheRecordIsNotTold) {
    Bench bench;
    NotifiedEvents told;
    EXPECT_FALSE(cast_vote(bench.ledger, "a1", vote_of("ada", true), told.sink())) << "there is none";
    bench.ask("a1", "c1");
    EXPECT_FALSE(cast_vote(bench.ledger, "a1", vote_of("agent", true), told.sink())) << "who asked";
    EXPECT_FALSE(take_back(bench.ledger, "a2", "ada", {}, told.sink()));
    EXPECT_FALSE(resolve_unknown(bench.ledger, "no id", true, "ada", "seen", told.sink()));
    EXPECT_THAT(told.types, ElementsAre());
}

TEST(Decisions, NobodyHasToListen) {
    Bench bench;
    bench.ask("a1", "c1");
    EXPECT_TRUE(cast_vote(bench.ledger, "a1", vote_of("ada", false), {}));
    bench.ask("a2", "c2", {}, "other");
    EXPECT_TRUE(take_back(bench.ledger, "a2", "ada", "not needed", {}));
    EXPECT_EQ(must(bench.ledger.audit({})).back().detail, "not needed");
}

TEST(Decisions, AFindingAboutAnUnknownOutcomeIsItsOutcomeFromThenOn) {
    for (const bool applied : {true, false}) {
        Bench bench;
        bench.claim(1, "k1");
        bench.settle(1, AttemptEnd::ambiguous);
        NotifiedEvents told;
        const auto resolved = resolve_unknown(bench.ledger, base::Uuid{testing::call_id(1)}.to_string(),
                                              applied, "ada", "the outbox says so", told.sink());
        ASSERT_TRUE(resolved) << resolved.error().message;
        EXPECT_EQ(resolved->state, applied ? CallState::succeeded : CallState::not_applied);
        EXPECT_EQ(resolved->outcome->succeeded, applied);
        EXPECT_THAT(told.types, ElementsAre("tool_call.resolved"));
        EXPECT_EQ(must(bench.ledger.audit({})).back().detail,
                  applied ? "applied: the outbox says so" : "not applied: the outbox says so");
    }
}

}  // namespace
}  // namespace callgate::ledger
