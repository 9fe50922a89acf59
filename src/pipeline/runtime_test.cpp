// One call through a runtime: what it takes, what its tool may do, and what comes back.
#include <callgate/callgate.h>

#include <chrono>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

Tool add_tool() {
    return tool(
               "add", "Add two numbers", [](std::int64_t a, std::int64_t b) { return a + b; }, param("a"),
               param("b"))
        .read_only()
        .run_inline();
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

TEST_WITH_EITHER_LEDGER(Runtime, ACancelledCallIsAnsweredAtOnce) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow.read_only()));
    std::stop_source stop;
    Context context;
    context.cancel = stop.get_token();
    const auto call = node.start("slow", {}, context);
    auto attempt = body->take();
    EXPECT_FALSE(attempt->context().cancelled());
    stop.request_stop();
    node.calm();
    ASSERT_TRUE(*call);
    EXPECT_EQ((*call)->state(), State::cancelled);
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
    const auto call = node.start("slow");
    const auto attempt = body->take();
    attempt->context().partial("first half");
    node.advance(31s);
    ASSERT_TRUE(*call);
    EXPECT_FALSE((*call)->ok());
    ASSERT_TRUE((*call)->partial());
    EXPECT_EQ((*call)->partial()->content, Value("first half"));
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
