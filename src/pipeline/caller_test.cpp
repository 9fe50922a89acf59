// What a caller may say of its call, and what is made of it: keys, time limits, names, approved arguments.
#include <exception>
#include <limits>

#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

std::vector<CallRequest> batch_of(std::size_t count, const std::string& tool, const Object& arguments = {}) {
    return std::vector<CallRequest>(count, CallRequest(tool, Args(arguments)));
}

// Hooks.

struct Hooked {
    int before = 0;
    int after = 0;
    std::vector<std::int64_t> ran;

    Tool tool() {
        ActionHooks hooks;
        hooks.before_validate = [this](Object arguments) -> Result<Object> {
            ++before;
            arguments["n"] = arguments.at("n").to_number<std::int64_t>() + 1;
            return arguments;
        };
        hooks.after_validate = [this](Object arguments) -> Result<Object> {
            ++after;
            arguments["n"] = arguments.at("n").to_number<std::int64_t>() * 10;
            return arguments;
        };
        const Object schema{{"type", "object"},
                            {"properties", {{"n", {{"type", "integer"}, {"maximum", 50}}}}},
                            {"required", {"n"}}};
        return action_tool(
                   ToolDefinition("pay", "", schema),
                   [this](const Object& arguments, CallContext&) -> ToolReturn {
                       ran.push_back(arguments.at("n").as_int64());
                       return ToolResult(arguments.at("n"));
                   },
                   std::move(hooks))
            .risk(Risk::high)
            .run_inline();
    }
};

TEST_WITH_EITHER_LEDGER(Resume, RunsTheArgumentsThatWereApprovedAndNoHookChangesThemAgain) {
    TestRuntime node;
    Hooked hooked;
    node->tools().add_or_throw(hooked.tool());
    const Outcome asked = node->call("pay", {{"n", 7}});
    ASSERT_EQ(asked.state(), State::needs_approval);
    const auto approval = node->approvals().get(asked.approval_id());
    EXPECT_EQ(approval->arguments.at("n"), 80);  // beyond the schema's maximum: after_validate may
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    EXPECT_TRUE(node->resume(asked.call_id()).ok());
    EXPECT_EQ(hooked.ran, std::vector<std::int64_t>{80});
    EXPECT_EQ(hooked.before, 1);
    EXPECT_EQ(hooked.after, 1);
}

TEST_WITH_EITHER_LEDGER(Resume, OfAToolThatWasHandedInSaysWhatToDoAndThatWorks) {
    TestRuntime node;
    int runs = 0;
    const Tool pay = tool("pay", "", [&] { return ++runs; }).risk(Risk::high);
    const Outcome asked = node->call_direct(pay);
    ASSERT_EQ(asked.state(), State::needs_approval);
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    const Outcome resumed = node->resume(asked.call_id());
    EXPECT_EQ(resumed.error()->code, ErrorCode::not_found);
    EXPECT_EQ(std::string(resumed.error()->details.at("approval_id").as_string()), asked.approval_id());
    EXPECT_NE(resumed.error()->message.find("call_direct"), std::string::npos);
    EXPECT_TRUE(node->call_direct(pay).ok());
    EXPECT_EQ(runs, 1);
}

TEST_WITH_EITHER_LEDGER(Resume, OfAToolThatWasHandedInRunsNoOtherOfThatName) {
    TestRuntime node;
    int handed_in = 0;
    int registered = 0;
    const Tool pay = tool("pay", "", [&] { return ++handed_in; }).risk(Risk::high);
    node->tools().add_or_throw(tool("pay", "", [&] { return ++registered; }).risk(Risk::high));
    const Outcome asked = node->call_direct(pay);
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    const Outcome resumed = node->resume(asked.call_id());
    EXPECT_FALSE(resumed.ok());
    EXPECT_NE(resumed.error()->message.find("call_direct"), std::string::npos);
    EXPECT_EQ(registered, 0);
    EXPECT_TRUE(node->call_direct(pay).ok()) << "the approval was not used up";
    EXPECT_EQ(handed_in, 1);
}

TEST_WITH_EITHER_LEDGER(Resume, OfNoCallIsOfNoSuchCall) {
    TestRuntime node;
    EXPECT_EQ(node->resume("").error()->details.at("reason"), "no_such_call");
}

// Keys.

TEST_WITH_EITHER_LEDGER(Keys, OfABatchOfOneIsThatOfTheFirstCallOfALargerOne) {
    TestRuntime node;
    int runs = 0;
    node->tools().add_or_throw(tool("act", "", [&] { return ++runs; }).run_inline());
    EXPECT_TRUE(node->call_batch(batch_of(1, "act"), with_key("k"))[0].ok());
    const auto again = node->call_batch(batch_of(2, "act"), with_key("k"));
    EXPECT_EQ(again[0].state(), State::replayed);
    EXPECT_EQ(again[1].state(), State::succeeded);
    EXPECT_EQ(node->call("act", {}, with_key("k")).state(), State::succeeded);  // a call of its own
    EXPECT_EQ(runs, 3);
}

TEST_WITH_EITHER_LEDGER(Keys, OnRecordWithoutTheSuffixStillCountForABatchOfOne) {
    TestRuntime node;
    int runs = 0;
    node->tools().add_or_throw(tool("act", "", [&](int) { return ++runs; }, param("n")).run_inline());
    EXPECT_TRUE(node->call("act", {{"n", 1}}, with_key("k")).ok());
    EXPECT_EQ(node->call_batch(batch_of(1, "act", {{"n", 1}}), with_key("k"))[0].state(), State::replayed);
    EXPECT_EQ(node->call_batch(batch_of(1, "act", {{"n", 2}}), with_key("k"))[0].error()->code,
              ErrorCode::key_reused);
    EXPECT_EQ(runs, 1);
}

TEST_WITH_EITHER_LEDGER(Keys, UnderWayWithoutTheSuffixAreWaitedForByABatchOfOne) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow);
    const Ended first = node.start("slow", {}, with_key("k"));
    std::vector<Outcome> answers;
    std::thread caller([&] { answers = node->call_batch(batch_of(1, "slow"), with_key("k")); });
    while (node->core()->counters.replay.waited.get() == 0) std::this_thread::yield();
    body->take()->finish(ToolResult(Value(5)));
    caller.join();
    EXPECT_EQ(answers[0].state(), State::replayed);
    EXPECT_EQ(answers[0].text(), "5");
    EXPECT_EQ(body->entered(), 1);
}

TEST_WITH_EITHER_LEDGER(Keys, FreedWithoutTheSuffixLetABatchOfOneRunUnderItsOwn) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow);
    const Ended first = node.start("slow", {}, with_key("k"));
    std::vector<Outcome> answers;
    std::thread caller([&] { answers = node->call_batch(batch_of(1, "slow"), with_key("k")); });
    while (node->core()->counters.replay.waited.get() == 0) std::this_thread::yield();
    body->take()->finish(tl::unexpected(ToolFailure::not_applied("not today")));
    while (body->waiting() == 0) std::this_thread::yield();
    body->take()->finish(ToolResult(Value(6)));
    caller.join();
    EXPECT_EQ(answers[0].state(), State::succeeded);
    EXPECT_EQ(node->call_batch(batch_of(2, "slow"),
                               [] {
                                   Context brief = with_key("k");
                                   brief.timeout = 0ms;
                                   return brief;
                               }())[0]
                  .state(),
              State::timed_out);
    EXPECT_EQ(node->call_batch(batch_of(1, "slow"), with_key("k"))[0].state(), State::replayed);
}

TEST(Keys, OfCallersDoNotEndAsThoseOfABatchDo) {
    TestRuntime node;
    int runs = 0;
    node->tools().add_or_throw(tool("act", "", [&] { return ++runs; }).run_inline());
    for (const char* key : {"k#0", "k#12", "#3", "a#b#007"}) {
        const Outcome refused = node->call("act", {}, with_key(key));
        EXPECT_EQ(refused.error()->code, ErrorCode::invalid_arguments) << key;
        EXPECT_EQ(reason_of(refused), "key_suffix_reserved") << key;
        EXPECT_EQ(reason_of(node->call_batch(batch_of(1, "act"), with_key(key))[0]), "key_suffix_reserved")
            << key;
    }
    EXPECT_EQ(runs, 0);
    for (const char* key : {"k#", "k#1a", "12", "k-1", "#"})
        EXPECT_TRUE(node->call("act", {}, with_key(key)).ok()) << key;
    EXPECT_TRUE(node->call_batch(batch_of(2, "act"), with_key(std::string(255, 'k')))[1].ok());
}

TEST_WITH_EITHER_LEDGER(Keys, OfABatchSurviveAnApprovalAndItsResume) {
    TestRuntime node;
    int runs = 0;
    node->tools().add_or_throw(tool("pay", "", [&] { return ++runs; }).risk(Risk::high));
    const auto asked = node->call_batch(batch_of(1, "pay"), with_key("k"));
    ASSERT_EQ(asked[0].state(), State::needs_approval);
    ASSERT_TRUE(node->approvals().approve(asked[0].approval_id(), "olga"));
    EXPECT_TRUE(node->resume(asked[0].call_id()).ok());
    EXPECT_EQ(node->call_batch(batch_of(1, "pay"), with_key("k"))[0].state(), State::replayed);
    EXPECT_EQ(runs, 1);
}

// Time.

TEST(TimeLimit, AtItsMaximumIsNone) {
    for (const bool inlined : {true, false}) {
        TestRuntime node;
        Tool look = tool("look", "", [](CallContext& context) { return context.time_left() > 24h * 365; });
        node->tools().add_or_throw(inlined ? look.run_inline() : look);
        Context patient;
        patient.timeout = std::chrono::milliseconds::max();
        const Outcome seen = node->call("look", {}, patient);
        EXPECT_EQ(seen.text(), "true") << to_string(seen.state());
        auto [slow, body] = deferred("slow");
        node->tools().add_or_throw(slow);
        const Ended waits = node.start("slow", {}, patient);
        node.advance(24h * 365);
        EXPECT_FALSE(waits->has_value());
        body->take()->finish(ToolResult(Value(1)));
        node.calm();
        EXPECT_TRUE((*waits)->ok());
    }
    RuntimeOptions options;
    options.default_timeout = std::chrono::milliseconds::max();
    TestRuntime node(options);
    node->tools().add_or_throw(tool("act", "", [] { return 1; }));
    EXPECT_TRUE(node->call("act").ok());
}

TEST_WITH_EITHER_LEDGER(TimeLimit, ThatIsNotPositiveLetsNothingBegin) {
    TestRuntime node;
    int runs = 0;
    node->tools().add_or_throw(tool("here", "", [&] { return ++runs; }).run_inline());
    node->tools().add_or_throw(tool("there", "", [&] { return ++runs; }));
    for (const auto limit : {0ms, -5ms, std::chrono::milliseconds::min()}) {
        for (const char* name : {"here", "there"}) {
            Context hurried = with_key("k");
            hurried.timeout = limit;
            const Outcome late = node->call(name, {}, hurried);
            EXPECT_EQ(late.state(), State::timed_out) << name;
            EXPECT_EQ(reason_of(late), "before_dispatch") << name;
        }
    }
    EXPECT_EQ(runs, 0);
    EXPECT_TRUE(node->call("there", {}, with_key("k")).ok());
}

TEST(TimeLimit, OfARateLimitAsLongAsCanBeIsStillOne) {
    TestRuntime node;
    int runs = 0;
    node->tools().add_or_throw(schema_tool(ToolDefinition("busy", "", Object{{"type", "object"}}),
                                           [&](const Object&, CallContext&) -> ToolReturn {
                                               ++runs;
                                               return tl::unexpected(ToolFailure::rate_limited(
                                                   "later", std::chrono::milliseconds::max()));
                                           })
                                   .retries(RetryPolicy(3)));
    EXPECT_EQ(node->call("busy").error()->code, ErrorCode::rate_limited);
    EXPECT_EQ(runs, 1);
    EXPECT_GT(*node->tools().get("busy")->health.rate_limit_resets_at, node.clock->wall_now());
}

// Names.

TEST_WITH_EITHER_LEDGER(Principal, WithoutANameIsOneEverywhere) {
    TestRuntime node;
    int runs = 0;
    node->tools().add_or_throw(tool("act", "", [&] { return ++runs; }).run_inline());
    node->tools().add_or_throw(tool("pay", "", [&] { return ++runs; }).risk(Risk::high));
    Context nameless = with_key("k");
    nameless.principal.clear();
    EXPECT_TRUE(node->call("act", {}, nameless).ok());
    EXPECT_EQ(node->call("act", {}, with_key("k")).state(), State::replayed);

    nameless.idempotency_key.clear();
    const Outcome asked = node->call("pay", {}, nameless);
    EXPECT_EQ(node->call("pay").approval_id(), asked.approval_id());
    EXPECT_FALSE(node->approvals().approve(asked.approval_id(), "")) << "that is who asked";
    EXPECT_FALSE(node->approvals().approve(asked.approval_id(), "local"));
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    EXPECT_TRUE(node->resume(asked.call_id(), nameless).ok());
    EXPECT_EQ(runs, 2);
}

TEST(Principal, WithoutANameDoesNotGrantItselfAnything) {
    TestRuntime node;
    node->tools().add_or_throw(tool("pay", "", [] { return 1; }).risk(Risk::high));
    Grant grant;
    grant.tool = "pay";
    grant.uses = 5;
    grant.expires_at = node.clock->wall_now() + 1h;
    grant.granted_by = "";
    grant.principal = "local";
    EXPECT_FALSE(node->policy().add_grant(grant)) << "both are the same";
    grant.principal = "";
    ASSERT_TRUE(node->policy().add_grant(grant));
    EXPECT_EQ(node->call("pay").state(), State::needs_approval);
    Context other;
    other.principal = "ann";
    EXPECT_TRUE(node->call("pay", {}, other).ok());
}

// Exceptions.

struct Speechless : std::exception {
    const char* what() const noexcept override { return nullptr; }
};

TEST(Thrown, WithoutAMessageIsAFailureLikeOthers) {
    TestRuntime node;
    node->tools().add_or_throw(tool("mute", "", []() -> int { throw Speechless(); }));
    node->tools().add_or_throw(tool("mute_inside", "", []() -> int {
        try {
            throw Speechless();
        } catch (...) {
            std::throw_with_nested(std::runtime_error("outside"));
        }
    }));
    const Outcome mute = node->call("mute");
    EXPECT_EQ(mute.error()->code, ErrorCode::exception);
    EXPECT_EQ(mute.error()->message, "The exception has no message.");
    EXPECT_EQ(node->call("mute_inside").error()->message, "outside");
    ActionHooks hooks;
    hooks.before_validate = [](Object) -> Result<Object> { throw Speechless(); };
    node->tools().add_or_throw(action_tool(
        ToolDefinition("hooked", "", Object{{"type", "object"}}),
        [](const Object&, CallContext&) -> ToolReturn { return ToolResult(); }, hooks));
    EXPECT_EQ(node->call("hooked").error()->code, ErrorCode::exception);
}

TEST(Thrown, OfOurOwnKindIsWhatItSays) {
    TestRuntime node;
    node->tools().add_or_throw(tool("error", "", []() -> int {
        throw Error(ErrorCode::rate_limited, "Slow down.", {{"reason", "quota"}});
    }));
    node->tools().add_or_throw(
        tool("failure", "", []() -> int { throw ToolFailure::unreachable("No route."); }));
    const Outcome error = node->call("error");
    EXPECT_EQ(error.error()->code, ErrorCode::rate_limited);
    EXPECT_EQ(error.error()->message, "Slow down.");
    EXPECT_EQ(reason_of(error), "quota");
    EXPECT_EQ(error.state(), State::failed);  // told by the tool: not unknown
    EXPECT_EQ(node->call("failure").error()->code, ErrorCode::transport);
    ActionHooks hooks;
    hooks.after_validate = [](Object) -> Result<Object> { throw Error(ErrorCode::denied, "Not you."); };
    node->tools().add_or_throw(action_tool(
        ToolDefinition("hooked", "", Object{{"type", "object"}}),
        [](const Object&, CallContext&) -> ToolReturn { return ToolResult(); }, hooks));
    EXPECT_EQ(node->call("hooked").error()->code, ErrorCode::denied);
}

}  // namespace
}  // namespace callgate::pipeline
