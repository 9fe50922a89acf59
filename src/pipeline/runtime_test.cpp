#include <callgate/callgate.h>

#include <atomic>
#include <barrier>
#include <future>
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Tool add_tool() {
    return tool(
               "add", "Add two numbers", [](std::int64_t a, std::int64_t b) { return a + b; }, param("a"),
               param("b"))
        .read_only()
        .run_inline();
}

// Begins a call and keeps its outcome.
struct Started {
    std::optional<Outcome> outcome;
    void operator()(Outcome ended) { outcome = std::move(ended); }
};
std::shared_ptr<Started> start(TestRuntime& node, std::string tool, Args args = {}, Context context = {}) {
    auto started = std::make_shared<Started>();
    node->start(CallRequest(std::move(tool), std::move(args)), std::move(context),
                [started](Outcome ended) { (*started)(std::move(ended)); });
    node.calm();
    return started;
}

TEST(Runtime, CallsAToolInTenLines) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(add_tool()));
    const Outcome r = runtime.call("add", {{"a", 5}, {"b", 3}});
    EXPECT_TRUE(r.ok());
    EXPECT_EQ(r.text(), "8");
    EXPECT_EQ(r.state(), State::succeeded);
    EXPECT_EQ(r.error(), nullptr);
    EXPECT_GE(r.duration().count(), 0);
    EXPECT_EQ(r.call_id().size(), 36u);
}

TEST(Runtime, TakesArgumentsAsTextObjectOrNothing) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(add_tool()));
    EXPECT_EQ(runtime.call("add", R"({"a":1,"b":2})").text(), "3");
    EXPECT_EQ(runtime.call("add", std::string(R"({"a":"1","b":"2"})")).text(), "3");
    EXPECT_EQ(runtime.call_json(R"({"function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}})").text(),
              "3");
    EXPECT_EQ(runtime.call_json(Object{{"name", "add"}, {"arguments", {{"a", 4}, {"b", 2}}}}).text(), "6");
    EXPECT_EQ(runtime.call_json(Object{{"name", "add"}, {"args", {{"a", 4}, {"b", 3}}}}).text(), "7");
    const Outcome none = runtime.call("add");
    EXPECT_EQ(none.state(), State::invalid);
    EXPECT_THAT(none.error()->message, HasSubstr("required"));
}

TEST(Runtime, RefusesBadArgumentsInEveryForm) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(add_tool()));
    const auto code = [&](Args args) { return runtime.call("add", std::move(args)).error()->code; };
    EXPECT_EQ(code("{bad json"), ErrorCode::invalid_arguments);
    EXPECT_EQ(code("[1,2]"), ErrorCode::invalid_arguments);
    EXPECT_EQ(code("7"), ErrorCode::invalid_arguments);
    EXPECT_EQ(code(std::string(10'000, '[')), ErrorCode::invalid_arguments);
    EXPECT_EQ(code(std::string(200u << 20, ' ')), ErrorCode::invalid_arguments);
    EXPECT_EQ(code(Object{{"a", 1}, {"b", 2}, {"c", 3}}), ErrorCode::invalid_arguments);
    EXPECT_EQ(code(Value(Array{1, 2})), ErrorCode::invalid_arguments);
    EXPECT_EQ(runtime.call_json("{").error()->code, ErrorCode::invalid_arguments);
    EXPECT_EQ(runtime.call_json("[]").error()->code, ErrorCode::invalid_arguments);
}

TEST(Runtime, AToolThatThrowsIsAFailedCall) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(tool("boom", "", []() -> int { throw std::runtime_error("boom"); })));
    ASSERT_TRUE(runtime.tools().add(tool("odd", "", []() -> int { throw 42; })));
    const Outcome boom = runtime.call("boom");
    EXPECT_EQ(boom.state(), State::failed);
    EXPECT_EQ(boom.error()->code, ErrorCode::exception);
    EXPECT_EQ(boom.error()->message, "boom");
    EXPECT_EQ(boom.error()->details.at("exception_type"), "std::runtime_error");
    const Outcome odd = runtime.call("odd");
    EXPECT_EQ(odd.error()->code, ErrorCode::caught);
    EXPECT_EQ(odd.state(), State::unknown);
}

TEST_WITH_EITHER_LEDGER(Runtime, ADeadlineHoldsEvenIfTheToolIgnoresIt) {
    std::promise<void> release;  // they outlive the tool
    std::promise<void> entered;
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("deaf", "",
                                       [&] {
                                           entered.set_value();
                                           release.get_future().wait();
                                           return 1;
                                       })
                                      .read_only()
                                      .timeout(50ms)));
    auto result = std::async(std::launch::async, [&] { return node->call("deaf"); });
    entered.get_future().wait();
    node.advance(50ms);
    const Outcome outcome = result.get();
    EXPECT_EQ(outcome.state(), State::timed_out);
    EXPECT_EQ(outcome.error()->code, ErrorCode::timed_out);
    EXPECT_EQ(outcome.error()->details.at("timeout_ms"), 50);
    EXPECT_EQ(node->stats().counters.at("dispatch.abandoned"), 1u);
    release.set_value();
}

TEST_WITH_EITHER_LEDGER(Runtime, AToolThatKeepsItsThreadsIsUnavailableUntilItReturnsThem) {
    std::promise<void> release;  // they outlive the tool
    std::promise<void> entered;
    bool hangs = true;
    RuntimeOptions options;
    options.max_abandoned = 1;
    TestRuntime node(options);
    ASSERT_TRUE(node->tools().add(tool("deaf", "",
                                       [&] {
                                           if (!hangs) return 2;
                                           entered.set_value();
                                           release.get_future().wait();
                                           return 1;
                                       })
                                      .read_only()
                                      .timeout(50ms)));
    ASSERT_TRUE(node->tools().add(tool("other", "", [] { return 3; }).read_only()));
    auto first = std::async(std::launch::async, [&] { return node->call("deaf"); });
    entered.get_future().wait();
    node.advance(50ms);
    EXPECT_EQ(first.get().state(), State::timed_out);
    EXPECT_EQ(node->call("deaf").error()->details.at("reason"), "abandoned_calls");
    EXPECT_TRUE(node->call("other").ok());
    EXPECT_EQ(node->stats().abandoned_now, 1u);
    hangs = false;
    release.set_value();
    while (node->stats().abandoned_now > 0) std::this_thread::yield();
    EXPECT_EQ(node->call("deaf").text(), "2");
}

TEST_WITH_EITHER_LEDGER(Runtime, ALateAnswerSettlesAnUnknownOutcome) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto first = start(node, "slow", {}, with_key("k"));
    ASSERT_EQ(body->waiting(), 1u);
    node.advance(30s);
    ASSERT_TRUE(first->outcome);
    EXPECT_EQ(first->outcome->state(), State::unknown);
    EXPECT_EQ(first->outcome->error()->code, ErrorCode::timed_out);
    EXPECT_FALSE(first->outcome->safe_new_key());
    EXPECT_EQ(node->call("slow", {}, with_key("k")).error()->code, ErrorCode::outcome_unknown);

    body->take()->finish(ToolResult(Value("done after all")));

    node.calm();
    const Outcome again = node->call("slow", {}, with_key("k"));
    EXPECT_EQ(again.state(), State::replayed);
    EXPECT_TRUE(again.ok());
    EXPECT_EQ(again.text(), "done after all");
    EXPECT_EQ(body->entered(), 1);
    EXPECT_THAT(node.recorder->audit_types(),
                ElementsAre("tool_call.attempted", "tool_call.unknown", "tool_call.unknown",
                            "tool_call.resolved", "tool_call.deduped"));
}

TEST_WITH_EITHER_LEDGER(Runtime, TheSameKeyRunsOnceAndIsReplayed) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(
        tool(
            "send", "", [&](std::string to) { return to + std::to_string(++runs); }, param("to"))
            .run_inline()));
    const Outcome first = node->call("send", {{"to", "ann"}}, with_key("k1"));
    const Outcome second = node->call("send", {{"to", "ann"}}, with_key("k1"));
    EXPECT_EQ(first.text(), "ann1");
    EXPECT_EQ(second.text(), "ann1");
    EXPECT_TRUE(second.replayed());
    EXPECT_EQ(runs, 1);
    const Outcome other = node->call("send", {{"to", "bob"}}, with_key("k1"));
    EXPECT_EQ(other.error()->code, ErrorCode::key_reused);
    EXPECT_TRUE(other.safe_new_key());
    EXPECT_EQ(runs, 1);
}

TEST_WITH_EITHER_LEDGER(Runtime, AConcurrentDuplicateWaitsForTheFirst) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto first = start(node, "slow", {}, with_key("k"));
    const auto second = start(node, "slow", {}, with_key("k"));
    EXPECT_EQ(body->entered(), 1);
    EXPECT_FALSE(second->outcome);
    body->take()->finish(ToolResult(Value(7)));
    node.calm();
    ASSERT_TRUE(first->outcome);
    ASSERT_TRUE(second->outcome);
    EXPECT_EQ(first->outcome->state(), State::succeeded);
    EXPECT_EQ(second->outcome->state(), State::replayed);
    EXPECT_EQ(second->outcome->text(), "7");
}

TEST_WITH_EITHER_LEDGER(Runtime, ADuplicateThatRunsOutOfTimeIsToldItIsInProgress) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow.timeout(60s)));
    const auto first = start(node, "slow", {}, with_key("k"));
    Context brief = with_key("k");
    brief.timeout = 10ms;
    const auto second = start(node, "slow", {}, brief);
    node.advance(10ms);
    ASSERT_TRUE(second->outcome);
    EXPECT_EQ(second->outcome->state(), State::in_progress);
    EXPECT_FALSE(first->outcome);
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    EXPECT_TRUE(first->outcome->ok());
}

TEST_WITH_EITHER_LEDGER(Runtime, AskedForApprovalItRunsOnceAPersonHasAgreed) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool(
                                      "pay", "", [&](int amount) { return amount + ++runs; }, param("amount"))
                                      .risk(Risk::high)
                                      .run_inline()));
    const Outcome asked = node->call("pay", {{"amount", 10}});
    ASSERT_EQ(asked.state(), State::needs_approval);
    ASSERT_FALSE(asked.approval_id().empty());
    EXPECT_EQ(runs, 0);

    const Outcome joined = node->call("pay", {{"amount", 10}});
    EXPECT_EQ(joined.approval_id(), asked.approval_id());
    EXPECT_EQ(node->resume(asked.call_id()).error()->code, ErrorCode::approval_required);

    EXPECT_EQ(node->approvals().approve(asked.approval_id(), "local").error().details.at("reason"),
              "self_approval");
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    node.recorder->clear();
    const Outcome done = node->resume(asked.call_id());
    ASSERT_TRUE(done.ok()) << done.error()->message;
    EXPECT_EQ(done.text(), "11");
    EXPECT_THAT(node.recorder->audit_types(),
                ElementsAre("gate.approved", "tool_call.attempted", "tool_call.succeeded"));

    EXPECT_EQ(node->resume(asked.call_id()).error()->details.at("reason"), "consumed");
    EXPECT_EQ(node->call("pay", {{"amount", 10}}).state(), State::needs_approval);
    EXPECT_EQ(runs, 1);
}

TEST_WITH_EITHER_LEDGER(Runtime, ADeniedCallNeverRuns) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [&] { return ++runs; }).risk(Risk::high)));
    const Outcome asked = node->call("pay");
    ASSERT_TRUE(node->approvals().deny(asked.approval_id(), "olga", "too much"));
    EXPECT_EQ(node->resume(asked.call_id()).error()->code, ErrorCode::approval_denied);
    EXPECT_EQ(runs, 0);
}

TEST_WITH_EITHER_LEDGER(Runtime, AnExpiredApprovalIsNoUse) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [] { return 1; }).risk(Risk::high)));
    const Outcome asked = node->call("pay");
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    node.advance(16min);
    EXPECT_EQ(node->resume(asked.call_id()).error()->code, ErrorCode::approval_expired);
}

TEST_WITH_EITHER_LEDGER(Runtime, AnApprovalIsForOneExactCall) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [](int n) { return n; }, param("n")).risk(Risk::high)));
    const Outcome asked = node->call("pay", {{"n", 1}});
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    EXPECT_EQ(node->call("pay", {{"n", 2}}).state(), State::needs_approval);
    Context other;
    other.principal = "mallory";
    EXPECT_EQ(node->resume(asked.call_id(), other).error()->details.at("reason"), "no_such_call");
    EXPECT_EQ(node->call("pay", {{"n", 1}}, other).state(), State::needs_approval);
    // The definition changes: what was approved no longer exists.
    ASSERT_TRUE(node->tools().add(
        tool("pay", "Changed", [](int n) { return n; }, param("n")).risk(Risk::high), IfPresent::replace));
    EXPECT_EQ(node->resume(asked.call_id()).error()->details.at("reason"), "other_call");
}

TEST_WITH_EITHER_LEDGER(Runtime, ARuleInsertedElsewhereVoidsNoApproval) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [] { return 1; })));
    PolicyConfig config;
    config.rules.emplace_back("", Rule::Do::confirm).tools = {"pay"};
    ASSERT_TRUE(node->policy().set(config));
    const Outcome asked = node->call("pay");
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    config.rules.insert(config.rules.begin(), Rule("", Rule::Do::deny))->tools = {"wipe"};
    ASSERT_TRUE(node->policy().set(config));
    EXPECT_EQ(node->resume(asked.call_id()).text(), "1");
}

TEST_WITH_EITHER_LEDGER(Runtime, AStaleApprovalNeverBlocks) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [&] { return ++runs; })));
    PolicyConfig config;
    config.rules.emplace_back("", Rule::Do::confirm).tools = {"pay"};
    ASSERT_TRUE(node->policy().set(config));
    const Outcome before = node->call("pay");
    ASSERT_TRUE(node->approvals().approve(before.approval_id(), "olga"));
    config.rules[0].approvals = 2;
    ASSERT_TRUE(node->policy().set(config));

    EXPECT_EQ(node->resume(before.call_id()).error()->details.at("reason"), "other_call");
    const Outcome after = node->call("pay");
    EXPECT_EQ(after.state(), State::needs_approval);
    EXPECT_NE(after.approval_id(), before.approval_id());
    const auto old = node->approvals().get(before.approval_id());
    EXPECT_EQ(old->state, ApprovalState::superseded);
    EXPECT_EQ(old->superseded_by, after.approval_id());
    const Outcome resumed = node->resume(before.call_id());
    EXPECT_EQ(resumed.error()->details.at("reason"), "superseded");
    EXPECT_EQ(resumed.error()->details.at("superseded_by"), Value(after.approval_id()));
    ASSERT_TRUE(node->approvals().approve(after.approval_id(), "olga"));
    EXPECT_EQ(node->resume(after.call_id()).error()->code, ErrorCode::approval_required);
    ASSERT_TRUE(node->approvals().approve(after.approval_id(), "petra"));
    EXPECT_EQ(node->resume(after.call_id()).text(), "1");
    EXPECT_EQ(runs, 1);
}

// A rule with a name keeps it, whatever becomes of it: how many must agree is bound by itself.
TEST_WITH_EITHER_LEDGER(Runtime, AnApprovalBySomeIsNoneWhenMoreAreAskedFor) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [] { return 1; })));
    PolicyConfig config;
    config.rules.emplace_back("money", Rule::Do::confirm).tools = {"pay"};
    ASSERT_TRUE(node->policy().set(config));
    const Outcome asked = node->call("pay");
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    config.rules[0].approvals = 2;
    ASSERT_TRUE(node->policy().set(config));
    EXPECT_EQ(node->resume(asked.call_id()).error()->details.at("reason"), "other_call");
    EXPECT_NE(node->call("pay").approval_id(), asked.approval_id());
}

TEST_WITH_EITHER_LEDGER(Runtime, AnEditedApprovalIsANewCall) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(
        tool("pay", "", [](int n) { return n; }, param("n").maximum(100)).risk(Risk::high)));
    const Outcome asked = node->call("pay", {{"n", 50}});
    EXPECT_EQ(node->approvals().approve_edited(asked.approval_id(), {{"n", 500}}, "olga").error().code,
              ErrorCode::invalid_arguments);
    EXPECT_EQ(node->approvals().get(asked.approval_id())->state, ApprovalState::pending);
    const auto edited = node->approvals().approve_edited(asked.approval_id(), {{"n", 20}}, "olga");
    ASSERT_TRUE(edited) << edited.error().message;
    EXPECT_EQ(edited->state, ApprovalState::approved);
    EXPECT_EQ(node->approvals().get(asked.approval_id())->state, ApprovalState::revoked);
    EXPECT_EQ(node->resume(asked.call_id()).error()->details.at("reason"), "revoked");
    EXPECT_EQ(node->resume(edited->call_id).text(), "20");
}

TEST_WITH_EITHER_LEDGER(Runtime, AnApprovalThatIsOverCannotBeEdited) {
    for (const char* over : {"denied", "revoked", "approved", "consumed", "expired"}) {
        SCOPED_TRACE(over);
        TestRuntime node;
        int runs = 0;
        ASSERT_TRUE(node->tools().add(
            tool("pay", "", [&](int n) { return ++runs, n; }, param("n")).risk(Risk::high)));
        Approvals& approvals = node->approvals();
        const Outcome asked = node->call("pay", {{"n", 50}});
        const std::string state = over;
        if (state == "denied") {
            ASSERT_TRUE(approvals.deny(asked.approval_id(), "olga"));
        } else if (state == "revoked") {
            ASSERT_TRUE(approvals.revoke(asked.approval_id(), "olga"));
        } else if (state == "expired") {
            node.advance(std::chrono::hours(1));
        } else {
            ASSERT_TRUE(approvals.approve(asked.approval_id(), "olga"));
            if (state == "consumed") {
                EXPECT_TRUE(node->resume(asked.call_id()).ok());
            }
        }
        const int before = runs;
        for (const int n : {50, 51}) {
            const auto edited = approvals.approve_edited(asked.approval_id(), {{"n", n}}, "petra");
            ASSERT_FALSE(edited) << n;
            EXPECT_EQ(edited.error().details.at("approval_id").as_string(), asked.approval_id());
        }
        EXPECT_EQ(runs, before);
        EXPECT_TRUE(must(approvals.list()).empty()) << "nothing new is left";
    }
}

TEST_WITH_EITHER_LEDGER(Runtime, ARefusedEditLeavesTheRequestsAsTheyWere) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [](int n) { return n; }, param("n")).risk(Risk::high)));
    Approvals& approvals = node->approvals();
    const Outcome asked = node->call("pay", {{"n", 50}});
    const Outcome other = node->call("pay", {{"n", 60}});
    const auto refusal = [&](int n, const char* who, Assurance how) {
        const auto edited = approvals.approve_edited(asked.approval_id(), {{"n", n}}, who, how);
        return edited ? std::string("approved")
                      : std::string(edited.error().details.at("reason").as_string());
    };
    for (const int n : {50, 51, 60}) {
        EXPECT_EQ(refusal(n, "olga", Assurance::a1), "assurance_too_low") << n;
        EXPECT_EQ(refusal(n, Context().principal.c_str(), Assurance::a2), "self_approval") << n;
    }
    const auto open = must(approvals.list());
    EXPECT_EQ(open.size(), 2u);
    for (const Approval& one : open) EXPECT_TRUE(one.votes.empty());
    ASSERT_TRUE(approvals.approve_edited(asked.approval_id(), {{"n", 60}}, "olga"));
    EXPECT_EQ(approvals.get(other.approval_id())->state, ApprovalState::approved)
        << "the same call was asked for";
}

TEST_WITH_EITHER_LEDGER(Runtime, AtA0OnlyAPreviewIsMade) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(
        node->tools().add(tool("wipe", "", [&] { return ++runs; }).preview([](const Object&, CallContext&) {
            return Result<Preview>(Preview("would wipe it all"));
        })));
    Context watching;
    watching.autonomy = Autonomy::a0;
    const Outcome seen = node->call("wipe", {}, watching);
    EXPECT_EQ(seen.state(), State::previewed);
    EXPECT_EQ(seen.preview()->summary, "would wipe it all");
    EXPECT_TRUE(seen.approval_id().empty());
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(node->preview("wipe").preview()->summary, "would wipe it all");
    EXPECT_EQ(runs, 0);
}

TEST_WITH_EITHER_LEDGER(Runtime, ARetryHappensOnlyWhereNothingCanHaveHappened) {
    TestRuntime node;
    int tries = 0;
    ASSERT_TRUE(node->tools().add(schema_tool(ToolDefinition("flaky", "", Object{{"type", "object"}}),
                                              [&](const Object&, CallContext&) -> ToolReturn {
                                                  if (++tries < 3)
                                                      return tl::unexpected(
                                                          ToolFailure::unreachable("no route"));
                                                  return ToolResult(Value(tries));
                                              })
                                      .retries(RetryPolicy(2))
                                      .run_inline()));
    const auto call = start(node, "flaky");
    for (int i = 0; i < 10 && !call->outcome; ++i) node.advance(1s);
    ASSERT_TRUE(call->outcome);
    EXPECT_TRUE(call->outcome->ok());
    EXPECT_EQ(call->outcome->attempts(), 3u);

    ASSERT_TRUE(node->tools().add(schema_tool(ToolDefinition("lossy", "", Object{{"type", "object"}}),
                                              [&](const Object&, CallContext&) -> ToolReturn {
                                                  ++tries;
                                                  return tl::unexpected(ToolFailure::lost("pipe broken"));
                                              })
                                      .retries(RetryPolicy(5))
                                      .run_inline()));
    tries = 0;
    const Outcome lost = node->call("lossy");
    EXPECT_EQ(lost.state(), State::unknown);
    EXPECT_EQ(tries, 1);
}

TEST_WITH_EITHER_LEDGER(Runtime, ACancelledCallIsAnsweredAtOnce) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow.read_only()));
    std::stop_source stop;
    Context context;
    context.cancel = stop.get_token();
    const auto call = start(node, "slow", {}, context);
    auto attempt = body->take();
    EXPECT_FALSE(attempt->context().cancelled());
    stop.request_stop();
    node.calm();
    ASSERT_TRUE(call->outcome);
    EXPECT_EQ(call->outcome->state(), State::cancelled);
    EXPECT_TRUE(attempt->context().cancelled());
    EXPECT_EQ(node->call("slow", {}, context).state(), State::cancelled);
}

TEST_WITH_EITHER_LEDGER(Runtime, ProgressReachesTheCallerUntilTheEnd) {
    TestRuntime node;
    std::vector<std::string> seen;
    ASSERT_TRUE(node->tools().add(tool("work", "", [](CallContext& context) {
        context.progress("half", 1, 2);
        context.partial("so far");
        return "done";
    })));
    Context context;
    context.on_progress = [&](const Progress& p) { seen.push_back(p.message); };
    EXPECT_TRUE(node->call("work", {}, context).ok());
    EXPECT_THAT(seen, ElementsAre("half", ""));
}

TEST_WITH_EITHER_LEDGER(Runtime, PartialContentIsKeptWhenTheCallDoesNotComplete) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto call = start(node, "slow");
    const auto attempt = body->take();
    attempt->context().partial("first half");
    node.advance(31s);
    ASSERT_TRUE(call->outcome);
    EXPECT_FALSE(call->outcome->ok());
    ASSERT_TRUE(call->outcome->partial());
    EXPECT_EQ(call->outcome->partial()->content, Value("first half"));
    attempt->context().progress("too late");
    EXPECT_EQ(node.recorder->progress().size(), 1u);
}

TEST_WITH_EITHER_LEDGER(Runtime, AToolMayCallAnotherFromInside) {
    RuntimeOptions options;
    options.pool_threads = 1;
    TestRuntime node(options);
    ASSERT_TRUE(node->tools().add(tool("inner", "", [](int n) { return n * 2; }, param("n"))));
    ASSERT_TRUE(node->tools().add(
        tool("outer", "", [](CallContext& context) { return context.call("inner", {{"n", 21}}).text(); })));
    const Outcome outcome = node->call("outer");
    EXPECT_EQ(outcome.text(), "42");
    const auto audit = must(node->audit(outcome.call_id()));
    EXPECT_EQ(audit.size(), 4u) << "the nested call is on the same trace";
}

TEST_WITH_EITHER_LEDGER(Runtime, EndlessNestingEnds) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("again", "", [](CallContext& context) -> Result<std::string> {
                                      const Outcome inner = context.call("again", {});
                                      if (inner.ok()) return inner.text();
                                      return tl::unexpected(*inner.error());
                                  }).run_inline()));
    const Outcome outcome = node->call("again");
    EXPECT_FALSE(outcome.ok());
    EXPECT_THAT(outcome.error()->message, HasSubstr("16 deep"));
}

TEST(Runtime, MayBeDestroyedByAToolThatRunsInIt) {
    auto runtime = std::make_unique<Runtime>();
    ASSERT_TRUE(runtime->tools().add(tool("end", "", [&] {
        runtime.reset();
        return 1;
    })));
    Runtime* pointer = runtime.get();
    // Which comes first, the tool's answer or the end of the runtime, is not decided; one of them is the
    // outcome.
    const Outcome outcome = pointer->call("end");
    EXPECT_TRUE(outcome.ok() || outcome.error()->code == ErrorCode::cancelled);

    auto second = std::make_unique<Runtime>();
    ASSERT_TRUE(second->tools().add(tool("end", "", [&] {
                                        second.reset();
                                        return 1;
                                    }).run_inline()));
    pointer = second.get();
    EXPECT_EQ(pointer->call("end").text(), "1");
}

TEST_WITH_EITHER_LEDGER(Runtime, ABatchKeepsOrderAndOneFailureLeavesTheOthersAlone) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(add_tool()));
    std::barrier all(3);
    ASSERT_TRUE(node->tools().add(tool(
        "together", "",
        [&](int n) {
            all.arrive_and_wait();  // only ends if all three run at once
            return n;
        },
        param("n"))));
    const auto outcomes = node->call_batch(
        {CallRequest("together", {{"n", 1}}), CallRequest("together", {{"n", 2}}), CallRequest("nobody"),
         CallRequest("together", {{"n", 3}}), CallRequest("add", {{"a", 1}, {"b", 1}})});
    ASSERT_EQ(outcomes.size(), 5u);
    EXPECT_EQ(outcomes[0].text(), "1");
    EXPECT_EQ(outcomes[1].text(), "2");
    EXPECT_EQ(outcomes[2].state(), State::not_found);
    EXPECT_EQ(outcomes[3].text(), "3");
    EXPECT_EQ(outcomes[4].text(), "2");
}

TEST_WITH_EITHER_LEDGER(Runtime, ABatchRunsWholeOrNotAtAllUnderABudget) {
    TestRuntime node;
    std::atomic<int> runs = 0;
    UseLimits limits;
    limits.per_run = 3;
    ASSERT_TRUE(
        node->tools().add(tool("costly", "", [&] { return runs.fetch_add(1); }).limits(limits).run_inline()));
    Context context;
    context.run_id = "run";
    const std::vector<CallRequest> four(4, CallRequest("costly"));
    for (const auto& outcome : node->call_batch(four, context)) {
        EXPECT_EQ(outcome.error()->code, ErrorCode::budget_exceeded);
    }
    EXPECT_EQ(runs, 0);
    for (const auto& outcome : node->call_batch({four[0], four[1], four[2]}, context))
        EXPECT_TRUE(outcome.ok());
    EXPECT_EQ(runs, 3);
}

TEST_WITH_EITHER_LEDGER(Runtime, CallsOnTheSameResourceTakeTurns) {
    TestRuntime node;
    auto [write, body] = deferred("write");
    write.definition.input_schema =
        Object{{"type", "object"}, {"properties", {{"path", {{"type", "string"}}}}}};
    ASSERT_TRUE(node->tools().add(write.resource_key("/path")));
    const auto a1 = start(node, "write", {{"path", "a"}});
    const auto a2 = start(node, "write", {{"path", "a"}});
    const auto b1 = start(node, "write", {{"path", "b"}});
    EXPECT_EQ(body->waiting(), 2u);
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    ASSERT_TRUE(a1->outcome);
    EXPECT_EQ(body->waiting(), 2u);
    body->take()->finish(ToolResult(Value(2)));
    node.calm();
    body->take()->finish(ToolResult(Value(3)));
    node.calm();
    EXPECT_TRUE(a2->outcome);
    EXPECT_TRUE(b1->outcome);
}

TEST_WITH_EITHER_LEDGER(Runtime, WhatCannotBeRecordedDoesNotHappen) {
#ifdef CALLGATE_FAILPOINTS
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool("act", "", [&] { return ++runs; }).run_inline()));
    base::failpoints().arm("ledger.claim", base::FailAction::error);
    const Outcome refused = node->call("act");
    base::failpoints().clear();
    EXPECT_EQ(refused.error()->code, ErrorCode::ledger_unavailable);
    EXPECT_EQ(runs, 0);
    base::failpoints().arm("ledger.settle", base::FailAction::error);
    const Outcome lost = node->call("act");
    base::failpoints().clear();
    EXPECT_EQ(lost.state(), State::unknown);
    EXPECT_EQ(lost.error()->code, ErrorCode::audit_failure);
#else
    GTEST_SKIP() << "not in this build: it has no failpoints";
#endif
}

TEST_WITH_EITHER_LEDGER(Runtime, SecretsNeverLeaveTheCall) {
    RuntimeOptions options;
    auto secrets = std::make_shared<MemorySecrets>();
    ASSERT_TRUE(secrets->set("mail", "token", "s3cr3t-value-1234"));
    options.secrets = secrets;
    TestRuntime node(options);
    ASSERT_TRUE(node->tools().add(tool("leak", "", [](CallContext& context) -> Result<std::string> {
                                      std::string text;
                                      const auto used = context.with_secret("token", [&](const Secret& s) {
                                          text = "the token is " + std::string(s.expose());
                                      });
                                      if (!used) return tl::unexpected(used.error());
                                      context.progress(text);
                                      return text;
                                  }).connector("mail")));
    ASSERT_TRUE(node->tools().add(tool("throw_it", "", [](CallContext& context) -> int {
                                      std::string text;
                                      (void)context.with_secret("token",
                                                                [&](const Secret& s) { text = s.expose(); });
                                      throw std::runtime_error("failed with " + text);
                                  }).connector("mail")));
    const Outcome leaked = node->call("leak");
    EXPECT_EQ(leaked.text(), "the token is [REDACTED]");
    const Outcome thrown = node->call("throw_it");
    EXPECT_EQ(thrown.error()->message, "failed with [REDACTED]");
    for (const auto& line : node.recorder->log())
        EXPECT_EQ(line.text.find("s3cr3t"), std::string::npos) << line.text;
    for (const auto& p : node.recorder->progress()) EXPECT_EQ(p.message.find("s3cr3t"), std::string::npos);
}

TEST_WITH_EITHER_LEDGER(Runtime, TheBreakerOpensAndRecovers) {
    TestRuntime node;
    bool broken = true;
    Tool shaky = tool("shaky", "",
                      [&]() -> int {
                          if (broken) throw std::runtime_error("down");
                          return 1;
                      })
                     .read_only()
                     .run_inline();
    shaky.contract.breaker.failures = 3;
    ASSERT_TRUE(node->tools().add(shaky));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(node->call("shaky").error()->code, ErrorCode::exception);
    EXPECT_EQ(node->call("shaky").error()->code, ErrorCode::circuit_open);
    EXPECT_EQ(node->tools().get("shaky")->health.status, HealthStatus::degraded);
    broken = false;
    node.advance(31s);
    EXPECT_TRUE(node->call("shaky").ok());
    EXPECT_TRUE(node->call("shaky").ok());
    EXPECT_EQ(node->tools().get("shaky")->health.status, HealthStatus::healthy);
}

TEST_WITH_EITHER_LEDGER(Runtime, ALoopIsFoundByItsResults) {
    TestRuntime node;
    int n = 0;
    ASSERT_TRUE(node->tools().add(tool("same", "", [] { return 1; }).read_only().run_inline()));
    ASSERT_TRUE(node->tools().add(tool("poll", "", [&] { return ++n; }).read_only().run_inline()));
    Context context;
    context.run_id = "r";
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(node->call("same", {}, context).ok());
    EXPECT_EQ(node->call("same", {}, context).error()->code, ErrorCode::loop_detected);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(node->call("poll", {}, context).ok());
}

TEST_WITH_EITHER_LEDGER(Runtime, ALoopOfOneTenantIsNotAnothers) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("same", "", [] { return 1; }).read_only().run_inline()));
    Context one;
    one.tenant = "one";
    one.run_id = "r";
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(node->call("same", {}, one).ok());
    Context two = one;
    two.tenant = "two";
    EXPECT_TRUE(node->call("same", {}, two).ok());
    EXPECT_EQ(node->call("same", {}, one).error()->code, ErrorCode::loop_detected);
}

TEST_WITH_EITHER_LEDGER(Runtime, AToolMayCallAnotherOnTheResourceItHolds) {
    TestRuntime node;
    const auto on_path = [](Tool made) { return made.connector("files").resource_key("/path").run_inline(); };
    ASSERT_TRUE(node->tools().add(
        on_path(tool("inner", "", [](std::string path) { return path + "!"; }, param("path")))));
    ASSERT_TRUE(node->tools().add(on_path(tool(
        "outer", "",
        [](std::string path, CallContext& context) { return context.call("inner", {{"path", path}}).text(); },
        param("path")))));
    EXPECT_EQ(node->call("outer", {{"path", "a"}}).text(), "a!");
}

TEST_WITH_EITHER_LEDGER(Runtime, WhatWasApprovedIsOnlyPreviewedOnceTheLevelIsA0) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool("pay", "", [&] { return ++runs; }).risk(Risk::high)));
    const Outcome asked = node->call("pay");
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    Context watching;
    watching.autonomy = Autonomy::a0;
    EXPECT_EQ(node->resume(asked.call_id(), watching).state(), State::previewed);
    EXPECT_EQ(runs, 0);
    EXPECT_TRUE(node->resume(asked.call_id()).ok());
}

TEST_WITH_EITHER_LEDGER(Runtime, AnActionIsCompensatedWhenItFails) {
    TestRuntime node;
    std::string undone;
    ActionHooks hooks;
    hooks.compensate = [&](const Error& error, const Object&, CallContext&) -> Result<void> {
        undone = error.message;
        return {};
    };
    ASSERT_TRUE(node->tools().add(action_tool(
        ToolDefinition("book", "", Object{{"type", "object"}}),
        [](const Object&, CallContext&) -> ToolReturn {
            return tl::unexpected(ToolFailure::answered("sold out"));
        },
        hooks)));
    const Outcome outcome = node->call("book");
    EXPECT_EQ(undone, "sold out");
    EXPECT_EQ(outcome.error()->details.at("compensated"), true);
}

TEST_WITH_EITHER_LEDGER(Runtime, AnUnknownOutcomeIsResolvedByAPerson) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto call = start(node, "slow", {}, with_key("k"));
    node.advance(31s);
    ASSERT_EQ(call->outcome->state(), State::unknown);
    ASSERT_TRUE(node->resolve(call->outcome->call_id(), true, "olga", "seen in the bank's log"));
    EXPECT_TRUE(node->call("slow", {}, with_key("k")).ok());
    EXPECT_FALSE(node->resolve(call->outcome->call_id(), false, "olga", ""));
}

TEST_WITH_EITHER_LEDGER(Runtime, AToolOfAnotherTenantDoesNotExist) {
    TestRuntime node;
    ASSERT_TRUE(node->tools("acme").add(add_tool()));
    Context acme;
    acme.tenant = "acme";
    EXPECT_TRUE(node->call("add", {{"a", 1}, {"b", 2}}, acme).ok());
    EXPECT_EQ(node->call("add", {{"a", 1}, {"b", 2}}).state(), State::not_found);
}

TEST_WITH_EITHER_LEDGER(Runtime, ADirectToolSkipsOnlyTheLookup) {
    TestRuntime node;
    EXPECT_EQ(node->call_direct(add_tool(), {{"a", 2}, {"b", 2}}).text(), "4");
    EXPECT_EQ(node->call_direct(add_tool(), {{"a", 2}}).state(), State::invalid);
    EXPECT_EQ(node->call_direct(add_tool().scopes({"math"}), {{"a", 2}, {"b", 2}}).state(),
              State::scope_denied);
    EXPECT_EQ(node->call_direct(add_tool().risk(Risk::critical), {{"a", 2}, {"b", 2}}).state(),
              State::denied);
}

TEST_WITH_EITHER_LEDGER(Runtime, TypedExceptionsForThoseWhoWantThem) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(add_tool()));
    EXPECT_EQ(node->call_or_throw("add", {{"a", 1}, {"b", 2}}).text(), "3");
    EXPECT_THROW(node->call_or_throw("nope"), ToolNotFound);
    EXPECT_THROW(node->call_or_throw("add", {{"a", 1}}), InvalidArguments);
    EXPECT_THAT(node.recorder->audit_types(),
                ElementsAre("tool_call.succeeded", "tool_call.failed", "tool_call.failed"));
}

}  // namespace
}  // namespace callgate::pipeline
