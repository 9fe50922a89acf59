#include "ledger/control/service.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"
#include "ledger/control/control_testing.h"

namespace callgate::ledger {
namespace {

using testing::Bench;
using ::testing::ElementsAre;
using testing::FakeOperations;
using ::testing::HasSubstr;
using testing::id_text;

struct DurableLedger : Bench {
    FakeOperations operations{ledger, clock};
    std::vector<std::string> told;
    ControlService service{ledger, operations, clock,
                           [this](const AuditEvent& event) { told.push_back(event.summary()); }};
    ControlUser user = [] {
        ControlUser made;
        made.name = "user:ada";
        made.uid = 1000;
        made.pid = 42;
        made.is_owner = true;
        made.may_make_files = true;
        return made;
    }();

    using Bench::ask;
    Result<Value> ask(Object request) {
        request["v"] = 1;
        return service.answer(request, user);
    }
    std::string refusal(Object request) {
        const auto answer = ask(std::move(request));
        return answer ? "answered" : std::string(answer.error().details.at("reason").as_string());
    }
    std::string digest_of(std::string_view id) { return ledger.approval(id)->digest; }
    Object yes(std::string id) {
        const std::string digest = digest_of(id);
        return {{"verb", "approvals.vote"}, {"id", std::move(id)}, {"approve", true}, {"digest", digest}};
    }
};

TEST(ControlService, SaysWhoItTakesYouFor) {
    DurableLedger durable;
    EXPECT_EQ(durable.ask({{"verb", "ping"}})->at("you"), "user:ada");
}

TEST(ControlService, WhatItDoesNotUnderstandIsRefusedAndNamed) {
    DurableLedger durable;
    EXPECT_EQ(durable.refusal({{"verb", "frobnicate"}}), "unknown_verb");
    EXPECT_EQ(durable.refusal({{"verb", 7}}), "unknown_verb");
    EXPECT_EQ(durable.refusal({}), "unknown_verb");
    for (const Object& request :
         {Object{{"verb", "approvals.show"}}, Object{{"verb", "approvals.show"}, {"id", 7}},
          Object{{"verb", "approvals.show"}, {"id", ""}},
          Object{{"verb", "approvals.show"}, {"id", std::string(5'000, 'x')}},
          Object{{"verb", "approvals.list"}, {"limit", 0}}, Object{{"verb", "approvals.list"}, {"limit", -1}},
          Object{{"verb", "approvals.list"}, {"limit", 1'000'000}},
          Object{{"verb", "approvals.list"}, {"limit", "ten"}},
          Object{{"verb", "approvals.list"}, {"state", "open"}},
          Object{{"verb", "approvals.list"}, {"stat", "pending"}},
          Object{{"verb", "calls.list"}, {"state", "lost"}},
          Object{{"verb", "calls.resolve"}, {"id", id_text(1)}, {"evidence", "x"}},
          Object{{"verb", "ledger.backup"}, {"path", "relative.db"}},
          Object{{"verb", "ledger.stats"}, {"id", "x"}}}) {
        const auto answer = durable.ask(request);
        ASSERT_FALSE(answer) << json::write(request);
        EXPECT_EQ(answer.error().details.at("reason"), "bad_request") << json::write(request);
        EXPECT_THAT(answer.error().message,
                    HasSubstr(std::string(answer.error().details.at("member").as_string())));
    }
    const auto old = durable.service.answer({{"v", 2}, {"verb", "ping"}}, durable.user);
    EXPECT_EQ(old.error().details.at("reason"), "version");
}

TEST(ControlService, ApprovalsAreListedInPagesNewestFirst) {
    DurableLedger durable;
    for (int i = 0; i < 5; ++i)
        durable.ask("a" + std::to_string(i), id_text(static_cast<std::uint64_t>(i)), {}, std::to_string(i));
    const auto ids = [](const Value& page) {
        std::vector<std::string> all;
        for (const Value& one : page.at("approvals").as_array()) all.emplace_back(one.at("id").as_string());
        return all;
    };
    auto page = durable.ask({{"verb", "approvals.list"}, {"limit", 2}}).value();
    EXPECT_THAT(ids(page), ElementsAre("a4", "a3"));
    EXPECT_EQ(page.at("next"), "a3");
    page = durable.ask({{"verb", "approvals.list"}, {"limit", 3}, {"before", "a3"}}).value();
    EXPECT_THAT(ids(page), ElementsAre("a2", "a1", "a0"));
    EXPECT_TRUE(page.at("next").is_null());
}

TEST(ControlService, AListNamesArgumentsOnlyInShort) {
    DurableLedger durable;
    OpenApprovalRequest asked;
    asked.approval.id = "a";
    asked.approval.call_id = id_text(1);
    asked.approval.arguments = Value{{"body", std::string(1'000, 'x')}};
    OpenApprovalReply reply;
    durable.ledger.open_approval(asked, reply, durable.waiter);
    const Value row = durable.ask({{"verb", "approvals.list"}})->at("approvals").at(0);
    EXPECT_EQ(row.at("arguments_text").as_string().size(), 200u);
    EXPECT_EQ(row.at("arguments_cut"), true);
    EXPECT_EQ(row.as_object().if_contains("arguments"), nullptr);
    const Value whole = durable.ask({{"verb", "approvals.show"}, {"id", "a"}})->at("approval");
    EXPECT_EQ(whole.at("arguments").at("body").as_string().size(), 1'000u);
}

TEST(ControlService, AnApprovalIsFoundByItsCallToo) {
    DurableLedger durable;
    durable.ask("a1", id_text(7));
    const auto shown = durable.ask({{"verb", "approvals.show"}, {"id", id_text(7)}});
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->at("approval").at("id"), "a1");
    EXPECT_EQ(durable.refusal({{"verb", "approvals.show"}, {"id", "a2"}}), "not_found");
}

TEST(ControlService, AVoteIsCastInTheNameOfTheOperatingSystemsUser) {
    DurableLedger durable;
    durable.ask("a1", id_text(7));
    Object request = durable.yes("a1");
    request["reason"] = "looks right";
    const auto voted = durable.ask(request);
    ASSERT_TRUE(voted) << voted.error().message;
    EXPECT_EQ(voted->at("approval").at("state"), "approved");
    const Value vote = voted->at("approval").at("votes").at(0);
    EXPECT_EQ(vote.at("approver"), "user:ada");
    EXPECT_EQ(vote.at("assurance"), "A2");
    EXPECT_EQ(vote.at("reason"), "looks right (uid 1000, pid 42)");
}

TEST(ControlService, AYesNeedsTheDigestOfWhatWasShown) {
    DurableLedger durable;
    durable.ask("a1", id_text(7));
    EXPECT_EQ(durable.refusal({{"verb", "approvals.vote"}, {"id", "a1"}, {"approve", true}}), "bad_request");
    Object request = durable.yes("a1");
    request["digest"] = "digest of another";
    EXPECT_EQ(durable.refusal(request), "digest_mismatch");
    EXPECT_EQ(durable.ledger.approval("a1")->state, ApprovalState::pending);
    EXPECT_TRUE(durable.ask({{"verb", "approvals.vote"}, {"id", "a1"}, {"approve", false}}))
        << "a no needs none";
    EXPECT_EQ(durable.ledger.approval("a1")->state, ApprovalState::denied);
}

TEST(ControlService, DecisionsAreOnTheRecordAndTold) {
    DurableLedger durable;
    durable.ask("a1", id_text(7));
    durable.ask("a2", id_text(8), {}, "other");
    durable.ask("a3", id_text(9), {}, "third");
    EXPECT_TRUE(durable.ask(durable.yes("a1")));
    EXPECT_TRUE(
        durable.ask({{"verb", "approvals.vote"}, {"id", "a2"}, {"approve", false}, {"reason", "no"}}));
    EXPECT_TRUE(durable.ask({{"verb", "approvals.revoke"}, {"id", "a3"}}));
    EXPECT_THAT(durable.audit_types(), ElementsAre("gate.required", "gate.required", "gate.required",
                                                   "approval.vote", "gate.denied", "approval.revoked"));
    EXPECT_THAT(durable.told, ElementsAre(HasSubstr("approval.vote"), HasSubstr("no (uid 1000, pid 42)"),
                                          HasSubstr("approval.revoked")));
    EXPECT_EQ(must(durable.ledger.audit({})).back().principal, "user:ada");
    EXPECT_EQ(durable.refusal(durable.yes("a1")), "already_decided");
    EXPECT_EQ(durable.told.size(), 3u);
}

TEST(ControlService, WhoAskedForACallCannotApproveIt) {
    DurableLedger durable;
    durable.ask("a1", id_text(7), {}, "request", "user:ada");
    EXPECT_EQ(durable.refusal(durable.yes("a1")), "self_approval");
}

TEST(ControlService, WhatHasExpiredIsShownSoAndCannotBeDecided) {
    DurableLedger durable;
    durable.ask("a1", id_text(7));
    Value shown = durable.ask({{"verb", "approvals.show"}, {"id", "a1"}})->at("approval");
    EXPECT_EQ(shown.at("seconds_left"), 900);
    durable.clock.advance(std::chrono::hours(1));
    shown = durable.ask({{"verb", "approvals.show"}, {"id", "a1"}})->at("approval");
    EXPECT_EQ(shown.at("state"), "expired");
    EXPECT_EQ(shown.at("seconds_left"), 0);
    EXPECT_EQ(durable.refusal(durable.yes("a1")), "expired");
}

TEST(ControlService, CallsAreListedByStateToolAndPrincipal) {
    DurableLedger durable;
    durable.claim(1, "k1");
    durable.claim(2, "k2");
    durable.settle(2, AttemptEnd::ambiguous);
    const auto count = [&](Object request) {
        request["verb"] = "calls.list";
        return durable.ask(request)->at("calls").as_array().size();
    };
    EXPECT_EQ(count({}), 2u);
    EXPECT_EQ(count({{"state", "unknown"}}), 1u);
    EXPECT_EQ(count({{"tool", "mail/send"}, {"principal", "agent"}}), 2u);
    EXPECT_EQ(count({{"tool", "other"}}), 0u);
    EXPECT_EQ(count({{"before", id_text(2)}}), 1u);
}

TEST(ControlService, ACallIsShownWithItsAttemptsAndTheShapeOfItsOutcome) {
    DurableLedger durable;
    durable.claim(1, "k1");
    durable.settle(1, AttemptEnd::failed);
    const auto shown = durable.ask({{"verb", "calls.show"}, {"id", id_text(1)}});
    ASSERT_TRUE(shown) << shown.error().message;
    const Value& call = shown->at("call");
    EXPECT_EQ(call.at("state"), "failed");
    EXPECT_EQ(call.at("idempotency_key"), "k1");
    EXPECT_EQ(call.at("attempt_list").as_array().size(), 1u);
    EXPECT_EQ(call.at("outcome").at("succeeded"), false);
    EXPECT_EQ(call.at("outcome").at("result").at("sha256").as_string().size(), 64u);
    EXPECT_EQ(durable.refusal({{"verb", "calls.show"}, {"id", id_text(9)}}), "not_found");
    EXPECT_EQ(durable.refusal({{"verb", "calls.show"}, {"id", "no id"}}), "not_found");
}

TEST(ControlService, ACallThatWaitsForAnApprovalIsToldSo) {
    DurableLedger durable;
    durable.ask("a1", id_text(7));
    const auto shown = durable.ask({{"verb", "calls.show"}, {"id", id_text(7)}});
    ASSERT_FALSE(shown);
    EXPECT_EQ(shown.error().details.at("reason"), "not_begun");
    EXPECT_EQ(shown.error().details.at("approval_id"), "a1");
}

TEST(ControlService, AnUnknownOutcomeIsResolvedWithEvidence) {
    DurableLedger durable;
    durable.claim(1, "k1");
    durable.settle(1, AttemptEnd::ambiguous);
    const Object request{{"verb", "calls.resolve"},
                         {"id", id_text(1)},
                         {"applied", true},
                         {"evidence", "the mail is in the outbox"}};
    const auto resolved = durable.ask(request);
    ASSERT_TRUE(resolved) << resolved.error().message;
    EXPECT_EQ(resolved->at("call").at("state"), "succeeded");
    EXPECT_THAT(durable.told,
                ElementsAre(HasSubstr("applied: the mail is in the outbox (uid 1000, pid 42)")));
    EXPECT_EQ(durable.refusal(request), "not_unknown");
    EXPECT_EQ(durable.told.size(), 1u);
}

TEST(ControlService, WhatMakesFilesIsForTheLedgersOwner) {
    DurableLedger durable;
    EXPECT_EQ(durable.ask({{"verb", "ledger.backup"}, {"path", "/tmp/b"}})->at("path"), "/tmp/b");
    durable.user.is_owner = false;
    EXPECT_EQ(durable.refusal({{"verb", "ledger.backup"}, {"path", "/tmp/b"}}), "owner_only");
    EXPECT_EQ(durable.refusal({{"verb", "ledger.gc"}}), "owner_only");
    EXPECT_EQ(durable.refusal({{"verb", "ledger.check"}}), "answered");
}

TEST(ControlService, WhatMakesFilesIsForTheUserThatTheProcessRunsAs) {
    DurableLedger durable;
    durable.user.may_make_files = false;
    const auto backup = durable.ask({{"verb", "ledger.backup"}, {"path", "/tmp/b"}});
    ASSERT_FALSE(backup);
    EXPECT_EQ(backup.error().code, ErrorCode::denied);
    EXPECT_EQ(backup.error().details.at("reason"), "not_allowed");
    EXPECT_THAT(backup.error().message, HasSubstr("Ask as that user or as root"));
    EXPECT_THAT(backup.error().message, HasSubstr(this_process_runs_as()));
    EXPECT_EQ(durable.refusal({{"verb", "audit.rotate_key"}}), "not_allowed");
    EXPECT_EQ(durable.refusal({{"verb", "ledger.gc"}}), "answered") << "the ledger is still theirs";
}

TEST(ControlService, KnowsWhichVerbsTakeLongAndWhichWrite) {
    EXPECT_EQ(ControlService::takes({{"verb", "ledger.check"}}), ControlService::Takes::long_work);
    EXPECT_EQ(ControlService::takes({{"verb", "frobnicate"}}), ControlService::Takes::a_moment);
    EXPECT_EQ(ControlService::takes({{"verb", "approvals.vote"}}), ControlService::Takes::a_write);
}

}  // namespace
}  // namespace callgate::ledger
