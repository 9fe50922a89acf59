#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/audit/audit_testing.h"
#include "ledger/audit/verify.h"
#include "ledger/control/control_testing.h"
#include "ledger/control/service.h"

namespace callgate::ledger {
namespace {

using testing::Bench;
using ::testing::ElementsAre;
using testing::FakeOperations;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct LedgerWithEvents : Bench {
    TestLog log;
    FakeOperations operations{ledger, clock};
    ControlService service{ledger, operations, clock};

    explicit LedgerWithEvents(std::uint64_t events) : log(events) { operations.log = &log.stored; }

    Result<Value> ask(Object request, const Meanwhile& meanwhile = {}) {
        request["v"] = 1;
        return service.answer(request, ControlUser(), meanwhile);
    }
    std::vector<std::int64_t> numbers(Object request) {
        request["verb"] = "audit.events";
        std::vector<std::int64_t> out;
        const Value page = ask(std::move(request)).value();
        for (const Value& event : page.at("events").as_array())
            out.push_back(event.at("sequence").to_number<std::int64_t>());
        return out;
    }
};

TEST(AuditVerbs, TheLastEventsComeOldestFirst) {
    LedgerWithEvents durable(2'500);
    EXPECT_THAT(durable.numbers({{"limit", 3}}), ElementsAre(2'498, 2'499, 2'500));
    EXPECT_EQ(durable.numbers({{"limit", 1'000}}).size(), 1'000u);
    EXPECT_THAT(LedgerWithEvents(0).numbers({}), IsEmpty());
    EXPECT_THAT(LedgerWithEvents(2).numbers({{"limit", 10}}), ElementsAre(1, 2));
}

TEST(AuditVerbs, EventsAreReadForwardInPages) {
    LedgerWithEvents durable(5);
    const auto page = durable.ask({{"verb", "audit.events"}, {"from", 2}, {"limit", 2}}).value();
    EXPECT_EQ(page.at("next"), 4);
    EXPECT_EQ(page.at("size"), 5);
    EXPECT_THAT(durable.numbers({{"from", 4}, {"limit", 2}}), ElementsAre(4, 5));
    EXPECT_TRUE(durable.ask({{"verb", "audit.events"}, {"from", 4}, {"limit", 2}})->at("next").is_null());
    EXPECT_THAT(durable.numbers({{"from", 6}}), IsEmpty());
}

TEST(AuditVerbs, EventsOfATypeAreFoundAmongMany) {
    LedgerWithEvents durable(3);
    durable.log.add(usual_facts("approval.vote"));
    for (int i = 0; i < 2'500; ++i) durable.log.add(usual_facts());
    durable.log.add(usual_facts("approval.vote"));
    EXPECT_THAT(durable.numbers({{"type", "approval.vote"}, {"limit", 2}}), ElementsAre(4, 2'505));
    EXPECT_THAT(durable.numbers({{"type", "approval.vote"}, {"limit", 1}}), ElementsAre(2'505));
    EXPECT_THAT(durable.numbers({{"type", "approval.vote"}, {"from", 1}}), ElementsAre(4, 2'505));
    EXPECT_THAT(durable.numbers({{"type", "nothing"}}), IsEmpty());
}

TEST(AuditVerbs, OneEventIsShownWithWhatItCommitsTo) {
    LedgerWithEvents durable(1);
    AuditFacts facts = usual_facts();
    facts.detail = "a person's words";
    durable.log.add(facts);
    Value shown = durable.ask({{"verb", "audit.show"}, {"sequence", 2}}).value();
    EXPECT_EQ(shown.at("event").at("detail"), "a person's words");
    EXPECT_EQ(shown.at("payloads").at(0).at("field"), "detail");
    EXPECT_EQ(shown.at("hash").as_string().size(), 64u);
    EXPECT_THAT(std::string(shown.at("bytes").as_string()), HasSubstr("\"seq\":2"));
    EXPECT_TRUE(shown.at("erased").as_array().empty());
    durable.log.stored.all_payloads().clear();
    shown = durable.ask({{"verb", "audit.show"}, {"sequence", 2}}).value();
    EXPECT_EQ(shown.at("erased"), (Value(Array{"detail"})));
    EXPECT_EQ(durable.ask({{"verb", "audit.show"}, {"sequence", 3}}).error().details.at("reason"),
              "not_found");
    EXPECT_EQ(durable.ask({{"verb", "audit.show"}, {"sequence", 0}}).error().details.at("reason"),
              "bad_request");
}

TEST(AuditVerbs, AnEventThatCannotBeReadIsToldSo) {
    LedgerWithEvents durable(2);
    durable.log.stored.all_rows()[1].bytes = "\xFF garbage";
    const Value page = durable.ask({{"verb", "audit.events"}}).value();
    EXPECT_EQ(page.at("events").at(1).at("type"), "unreadable");
    EXPECT_TRUE(durable.ask({{"verb", "audit.show"}, {"sequence", 2}})->at("bytes").is_null());
}

TEST(AuditVerbs, AnExportVerifies) {
    LedgerWithEvents durable(3'000);
    std::string text;
    std::vector<std::uint64_t> told;
    Meanwhile meanwhile([&](std::uint64_t done, std::uint64_t total) {
        EXPECT_LT(done, total);
        told.push_back(done);
        return true;
    });
    meanwhile.text = [&](std::string_view piece) { return text += piece, true; };
    const auto answer = durable.ask({{"verb", "audit.export"}}, meanwhile);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(told.size(), 3u);
    ExportVerifier verifier{VerifyOptions()};
    verifier.feed(text);
    const VerifyReport report = verifier.finish();
    EXPECT_FALSE(report.fault) << report.summary();
    EXPECT_EQ(report.events, 3'000u);
}

TEST(AuditVerbs, APartIsExportedForCollectors) {
    LedgerWithEvents durable(5);
    std::string text;
    Meanwhile meanwhile;
    meanwhile.text = [&](std::string_view piece) { return text += piece, true; };
    EXPECT_TRUE(
        durable.ask({{"verb", "audit.export"}, {"format", "cef"}, {"from", 2}, {"to", 3}}, meanwhile));
    EXPECT_EQ(std::ranges::count(text, '\n'), 2);
    EXPECT_EQ(durable.ask({{"verb", "audit.export"}, {"format", "xml"}}).error().details.at("reason"),
              "bad_request");
    EXPECT_EQ(durable.ask({{"verb", "audit.export"}, {"from", 9}, {"to", 8}})->at("events"), 0);
}

TEST(AuditVerbs, WhatIsNotThereCannotBeProven) {
    LedgerWithEvents durable(5);
    EXPECT_EQ(durable.ask({{"verb", "audit.prove"}, {"sequence", 6}}).error().details.at("reason"),
              "not_found");
    EXPECT_EQ(durable.ask({{"verb", "audit.prove"}, {"sequence", 5}}).error().details.at("reason"),
              "no_checkpoint");
    EXPECT_EQ(
        durable.ask({{"verb", "audit.prove_growth"}, {"from", 2}, {"to", 5}}).error().details.at("reason"),
        "no_checkpoint");
    EXPECT_EQ(
        durable.ask({{"verb", "audit.prove_growth"}, {"from", 5}, {"to", 2}}).error().details.at("reason"),
        "bad_request");
}

TEST(AuditVerbs, KeysAreForTheLedgersOwner) {
    LedgerWithEvents durable(0);
    EXPECT_EQ(durable.ask({{"verb", "audit.rotate_key"}}).error().details.at("reason"), "owner_only");
}

}  // namespace
}  // namespace callgate::ledger
