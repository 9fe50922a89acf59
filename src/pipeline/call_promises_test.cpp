// What random call scripts (tests/calls) once found broken, each case by itself.
#include <callgate/callgate.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kToken = "tok-0123456789-abcdef";

std::shared_ptr<std::optional<Outcome>> start(TestRuntime& node, std::string tool, Context context = {}) {
    auto ended = std::make_shared<std::optional<Outcome>>();
    node->start(CallRequest(std::move(tool)), std::move(context),
                [ended](Outcome o) { *ended = std::move(o); });
    node.calm();
    return ended;
}

/// Two programs on one ledger, with the same tool, which the test answers for.
struct TwoNodes {
    TestRuntime first;
    TestRuntime second{{}, first.ledger, first.clock};
    std::shared_ptr<DeferredBody> body = std::make_shared<DeferredBody>();

    explicit TwoNodes(EffectClass effect, std::uint32_t retries = 0) {
        Tool tool(ToolDefinition("send", "Sends", Object{{"type", "object"}}), body);
        tool.effect(effect).retries(RetryPolicy(retries));
        EXPECT_TRUE(first->tools().add(tool));
        EXPECT_TRUE(second->tools().add(tool));
        (void)second->call("nobody");  // so that its ids differ from the first one's
    }
    void first_dies() {
        first.ledger->owner_gone(first->core()->owner);
        calm();
    }
    void calm() const {
        first.calm();
        second.calm();
        first.calm();  // what one of them ends may be what the other waits for
    }
};

Tool inline_tool(std::string name, ToolFunction run) {
    return schema_tool(ToolDefinition(std::move(name), "", Object{{"type", "object"}}), std::move(run))
        .open_arguments()
        .run_inline();
}

RuntimeOptions with_token() {
    const auto secrets = std::make_shared<MemorySecrets>();
    EXPECT_TRUE(secrets->set("work", "token", kToken));
    RuntimeOptions options;
    options.secrets = secrets;
    return options;
}

TEST_WITH_EITHER_LEDGER(CallPromises, ACallThatWasTakenOverIsSentUnderTheSameId) {
    TwoNodes nodes(EffectClass::keyed);
    const auto call = start(nodes.first, "send", with_key("k"));
    const auto sent = nodes.body->take();
    nodes.first_dies();
    const auto heir = start(nodes.second, "send", with_key("k"));
    const auto again = nodes.body->take();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->context().call_id(), sent->context().call_id());
    again->finish(ToolResult(Value(1)));
    nodes.calm();
    EXPECT_TRUE((*heir)->ok());
    EXPECT_NE((*heir)->call_id(), again->context().call_id());
}

TEST_WITH_EITHER_LEDGER(CallPromises, ObserversHearTheEndOfACallThatWasTakenOver) {
    TwoNodes nodes(EffectClass::keyed);
    const auto call = start(nodes.first, "send", with_key("k"));
    const auto sent = nodes.body->take();
    nodes.first_dies();
    const auto heir = start(nodes.second, "send", with_key("k"));
    sent->finish(ToolResult(Value(1)));
    nodes.calm();
    ASSERT_TRUE(*call);
    EXPECT_EQ((*call)->state(), State::unknown);
    EXPECT_EQ((*call)->error()->details.at("reason"), "taken_over");
    EXPECT_THAT(nodes.first.recorder->audit_types(), ElementsAre("tool_call.attempted", "tool_call.unknown"));
}

TEST_WITH_EITHER_LEDGER(CallPromises, ObserversAreToldWhatIsOnTheRecordAndNothingElse) {
    TestRuntime node;
    int fails = 2;
    ASSERT_TRUE(node->tools().add(inline_tool("flaky",
                                              [&](const Object&, CallContext&) -> ToolReturn {
                                                  if (fails-- > 0)
                                                      return tl::unexpected(
                                                          ToolFailure::unreachable("no route"));
                                                  return ToolResult(Value(1));
                                              })
                                      .effect(EffectClass::keyed)
                                      .retries(RetryPolicy(3))));
    ASSERT_TRUE(node->tools().add(inline_tool("pay", [](const Object&, CallContext&) -> ToolReturn {
                                      return ToolResult(Value("paid"));
                                  }).risk(Risk::high)));
    ASSERT_TRUE(node->tools().add(inline_tool("look", [](const Object&, CallContext&) -> ToolReturn {
                                      return ToolResult(Value(1));
                                  }).read_only()));

    (void)node->call("look");
    (void)node->call("nobody");
    const auto flaky = start(node, "flaky", with_key("k"));
    for (int i = 0; i < 20 && !*flaky; ++i) node.advance(1s);
    ASSERT_TRUE(*flaky);
    (void)node->call("flaky", {}, with_key("k"));
    (void)node->call("flaky", {{"other", 1}}, with_key("k"));
    const Outcome asked = node->call("pay");
    ASSERT_EQ(asked.state(), State::needs_approval);
    (void)node->approvals().approve(asked.approval_id(), "alice", Assurance::a2, "fine");
    (void)node->approvals().approve(asked.approval_id(), "alice", Assurance::a2, "again");  // does not count
    (void)node->approvals().approve(asked.approval_id(), "bob", Assurance::a2, "fine");
    EXPECT_EQ(node->resume(asked.call_id()).state(), State::succeeded);
    const Outcome refused = node->call("pay", {{"n", 2}});
    (void)node->approvals().deny(refused.approval_id(), "bob", "no");
    EXPECT_EQ(node->resume(refused.call_id()).state(), State::denied);

    std::vector<std::string> told;
    for (const AuditEvent& event : node.recorder->audit()) {
        told.push_back(fmt::format("{} {} {}", event.sequence, event.type, event.tool));
    }
    std::vector<std::string> recorded;
    for (const AuditEvent& event : must(node->audit())) {
        recorded.push_back(fmt::format("{} {} {}", event.sequence, event.type, event.tool));
    }
    EXPECT_THAT(told, testing::ElementsAreArray(recorded));
    EXPECT_GE(recorded.size(), 12U);
}

TEST_WITH_EITHER_LEDGER(CallPromises, WhatADeadProgramStillSaysIsKeptForReplays) {
    TwoNodes nodes(EffectClass::unsafe, 2);
    const auto call = start(nodes.first, "send", with_key("k"));
    const auto sent = nodes.body->take();
    nodes.first_dies();
    sent->finish(
        tl::unexpected(ToolFailure(Error(ErrorCode::tool_error, "no such account"), Applied::answered)));
    nodes.calm();
    ASSERT_TRUE(*call) << "it must not be tried again";
    const Outcome again = nodes.second->call("send", {}, with_key("k"));
    EXPECT_EQ(again.state(), State::replayed);
    EXPECT_EQ(again.error()->message, "no such account");
    EXPECT_EQ(nodes.body->entered(), 1);
}

TEST_WITH_EITHER_LEDGER(CallPromises, ALateWordOfADeadProgramThatNothingHappenedFreesTheKey) {
    TwoNodes nodes(EffectClass::unsafe, 2);
    const auto call = start(nodes.first, "send", with_key("k"));
    const auto sent = nodes.body->take();
    nodes.first_dies();
    sent->finish(tl::unexpected(ToolFailure::unreachable("no route")));
    nodes.calm();
    ASSERT_TRUE(*call) << "it must not be tried again";
    const auto again = start(nodes.second, "send", with_key("k"));
    nodes.calm();
    ASSERT_EQ(nodes.body->entered(), 2);
    nodes.body->take()->finish(ToolResult(Value("sent")));
    nodes.calm();
    ASSERT_TRUE(*again);
    EXPECT_EQ((*again)->state(), State::succeeded);
}

TEST_WITH_EITHER_LEDGER(CallPromises, AProbeThatCannotBeginLeavesTheOutcomeUnknownAndNotStuck) {
    TestRuntime first;
    TestRuntime second({}, first.ledger, first.clock);
    const auto body = std::make_shared<DeferredBody>();
    Tool tool(ToolDefinition("book", "Books", Object{{"type", "object"}}), body);
    tool.effect(EffectClass::verify)
        .probe([](std::string_view, const Object&, CallContext&) -> Reconciliation {
            return Reconciliation::Verdict::applied;
        });
    ASSERT_TRUE(first->tools().add(tool));
    ASSERT_TRUE(second->tools().add(tool));
    (void)second->call("nobody");
    const auto call = start(first, "book", with_key("k"));
    first.ledger->owner_gone(first->core()->owner);
    second->core()->pool.close(0ms);  // no thread for the probe
    for (int i = 0; i < 2; ++i) {
        const auto heir = start(second, "book", with_key("k"));
        ASSERT_TRUE(*heir) << "it waits for somebody who does not exist";
        EXPECT_EQ((*heir)->error()->code, ErrorCode::outcome_unknown);
        EXPECT_FALSE((*heir)->safe_new_key());
    }
    EXPECT_EQ(body->entered(), 1);
}

TEST_WITH_EITHER_LEDGER(CallPromises, AFailureThatChangedNothingDoesNotExcuseAnEarlierAttemptThatMayHave) {
    TestRuntime node;
    int tries = 0;
    ASSERT_TRUE(node->tools().add(inline_tool("stamp",
                                              [&](const Object&, CallContext&) -> ToolReturn {
                                                  if (++tries == 1)
                                                      return tl::unexpected(ToolFailure::lost("gone"));
                                                  return tl::unexpected(ToolFailure::unreachable("no route"));
                                              })
                                      .effect(EffectClass::keyed)
                                      .retries(RetryPolicy(1))));
    const auto call = start(node, "stamp", with_key("k"));
    node.advance(1s);
    ASSERT_TRUE(*call);
    EXPECT_EQ(tries, 2);
    EXPECT_EQ((*call)->state(), State::unknown);
    EXPECT_FALSE((*call)->safe_new_key());
    EXPECT_THAT(node.recorder->audit_types(), Contains("tool_call.unknown"));
}

TEST_WITH_EITHER_LEDGER(CallPromises, TheRecordSaysUnknownExactlyWhereTheOutcomeIs) {
    TestRuntime node;
    const auto lost = [](const Object&, CallContext&) -> ToolReturn {
        return tl::unexpected(ToolFailure::lost("gone"));
    };
    const auto refused = [](const Object&, CallContext&) -> ToolReturn {
        return tl::unexpected(ToolFailure::unreachable("no route"));
    };
    const auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(inline_tool("look", lost).read_only()));
    ASSERT_TRUE(node->tools().add(inline_tool("send", refused)));
    ASSERT_TRUE(node->tools().add(Tool(ToolDefinition("slow", "", Object{{"type", "object"}}), body)));
    EXPECT_EQ(node->call("look").state(), State::failed);
    EXPECT_EQ(node->call("send").state(), State::failed);
    EXPECT_THAT(node.recorder->audit_types(),
                ElementsAre("tool_call.failed", "tool_call.attempted", "tool_call.failed"));
    std::stop_source stop;
    Context context;
    context.cancel = stop.get_token();
    const auto call = start(node, "slow", context);
    stop.request_stop();
    node.calm();
    EXPECT_EQ((*call)->state(), State::unknown);
    EXPECT_EQ(node.recorder->audit_types().back(), "tool_call.unknown");
}

TEST_WITH_EITHER_LEDGER(CallPromises, ProgressIsMaskedBeforeItIsCut) {
    TestRuntime node(with_token());
    ASSERT_TRUE(node->tools().add(inline_tool("work", [](const Object&, CallContext& context) -> ToolReturn {
        (void)context.with_secret("token", [&](const Secret& secret) {
            context.progress(std::string(4'090, '.') + std::string(secret.expose()));
        });
        return ToolResult(Value(1));
    })));
    ASSERT_TRUE(node->call("work").ok());
    ASSERT_EQ(node.recorder->progress().size(), 1u);
    const std::string message = node.recorder->progress()[0].message;
    EXPECT_LE(message.size(), 4'096u);
    EXPECT_THAT(message, Not(HasSubstr("tok-")));
}

TEST_WITH_EITHER_LEDGER(CallPromises, NoApprovalIsAskedForASecret) {
    TestRuntime node(with_token());
    ASSERT_TRUE(node->tools().add(inline_tool("pay", [](const Object&, CallContext&) -> ToolReturn {
                                      return ToolResult(Value(1));
                                  }).risk(Risk::high)));
    ASSERT_TRUE(node->tools().add(inline_tool("work", [](const Object&, CallContext& context) -> ToolReturn {
        Outcome inner;
        (void)context.with_secret("token", [&](const Secret& secret) {
            inner = context.call("pay", {{"with", std::string(secret.expose())}});
        });
        EXPECT_EQ(inner.state(), State::denied);
        EXPECT_EQ(inner.error()->details.at("reason"), "secret_in_arguments");
        return ToolResult(Value(2));
    })));
    EXPECT_TRUE(node->call("work").ok());
    EXPECT_TRUE(must(node->approvals().list({})).empty());
}

TEST_WITH_EITHER_LEDGER(CallPromises, ACallThatRanByAGrantNamesNoApproval) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(inline_tool("pay", [](const Object&, CallContext&) -> ToolReturn {
                                      return ToolResult(Value(1));
                                  }).risk(Risk::high)));
    ASSERT_FALSE(node->call("pay").approval_id().empty());
    Grant grant;
    grant.tool = "pay";
    grant.expires_at = node.clock->wall_now() + 1h;
    grant.granted_by = "olga";
    ASSERT_TRUE(node->policy().add_grant(grant));
    const Outcome granted = node->call("pay");
    ASSERT_TRUE(granted.ok());
    EXPECT_EQ(granted.approval_id(), "");
}

TEST_WITH_EITHER_LEDGER(CallPromises, AResumedCallThatMeetsTheEndOfTheRuntimeIsToldFromStartToEnd) {
    TestRuntime node;
    node->core()->close();
    EXPECT_EQ(node->resume("019b76da-a9f4-7000-88b0-5ef910e19a2d").state(), State::cancelled);
    const auto told = node.recorder->telemetry();
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0].name, TelemetryEvent::Name::start);
    EXPECT_EQ(told[1].state, State::cancelled);
}

}  // namespace
}  // namespace callgate::pipeline
