// Before the end: a tool that was called off may have a moment to say what came of it, and a runtime may
// finish the calls it has before it goes.
#include <future>

#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

Context patient(std::stop_token cancel, std::chrono::milliseconds grace = 2s) {
    Context context;
    context.cancel = std::move(cancel);
    context.cancel_grace = grace;
    return context;
}

struct CancelGrace : testing::Test {
    TestRuntime node;
    std::shared_ptr<DeferredBody> body = std::make_shared<DeferredBody>();
    std::stop_source stop;

    CancelGrace() { node->tools().add_or_throw(deferred("pay", body).timeout(1h)); }
};

TEST_F(CancelGrace, AToolThatDidNothingSaysSoAndItsKeyIsFree) {
    Context context = patient(stop.get_token());
    context.idempotency_key = "k";
    const Ended ended = node.start("pay", {}, context);
    const auto attempt = body->take();
    const std::stop_token told = attempt->context().cancel();
    stop.request_stop();
    node.calm();
    EXPECT_TRUE(told.stop_requested()) << "it is told at once";
    EXPECT_FALSE(*ended) << "and may still answer";
    attempt->finish(tl::unexpected(ToolFailure::not_applied("I stopped before anything happened.")));
    node.calm();
    ASSERT_TRUE(*ended);
    EXPECT_EQ((*ended)->state(), State::cancelled);
    EXPECT_EQ((*ended)->error()->code, ErrorCode::cancelled);
    EXPECT_TRUE((*ended)->safe_new_key());
    const Ended again = node.start("pay", {}, with_key("k"));
    EXPECT_EQ(body->waiting(), 1u) << "the key is free";
    body->take()->finish(ToolResult(Value("paid")));
    node.calm();
    EXPECT_TRUE((*again)->ok());
}

// The tool's signal is up before the call has seen that it was called off.
TEST_F(CancelGrace, AToolThatObeysSoonerThanItsCallDoesHasObeyed) {
    node->tools().add_or_throw(schema_tool(ToolDefinition("quick", "", Object{{"type", "object"}}),
                                           [this](const Object&, CallContext& context) -> ToolReturn {
                                               stop.request_stop();
                                               EXPECT_TRUE(context.cancel().stop_requested());
                                               return tl::unexpected(ToolFailure::not_applied("I stopped."));
                                           })
                                   .run_inline());
    const Outcome ended = node->call("quick", {}, patient(stop.get_token()));
    EXPECT_EQ(ended.state(), State::cancelled);
    EXPECT_EQ(ended.error()->code, ErrorCode::cancelled);
    EXPECT_EQ(ended.error()->details.at("was"), "tool_error");
}

TEST_F(CancelGrace, ASuccessIsASuccess) {
    const Ended ended = node.start("pay", {}, patient(stop.get_token()));
    stop.request_stop();
    node.calm();
    body->take()->finish(ToolResult(Value("paid")));
    node.calm();
    EXPECT_TRUE((*ended)->ok());
}

TEST_F(CancelGrace, WhoSaysNothingInTimeIsGivenUpAsUnknown) {
    const Ended ended = node.start("pay", {}, patient(stop.get_token()));
    const auto attempt = body->take();
    stop.request_stop();
    node.calm();
    node.advance(1999ms);
    EXPECT_FALSE(*ended);
    node.advance(1ms);
    ASSERT_TRUE(*ended);
    EXPECT_EQ((*ended)->state(), State::unknown);
    EXPECT_EQ((*ended)->error()->code, ErrorCode::cancelled);
}

TEST_F(CancelGrace, TheDeadlineComesFirst) {
    Context context = patient(stop.get_token(), 1h);
    context.timeout = 1s;
    const Ended ended = node.start("pay", {}, context);
    const auto attempt = body->take();
    stop.request_stop();
    node.calm();
    node.advance(1s);
    ASSERT_TRUE(*ended);
    EXPECT_EQ((*ended)->state(), State::unknown);
}

TEST_F(CancelGrace, WithoutOneTheCallEndsAtOnce) {
    const Ended ended = node.start("pay", {}, patient(stop.get_token(), 0ms));
    stop.request_stop();
    node.calm();
    ASSERT_TRUE(*ended);
    EXPECT_EQ((*ended)->state(), State::unknown);
}

TEST_F(CancelGrace, NoAttemptFollowsOneThatWasCalledOff) {
    auto retried = std::make_shared<DeferredBody>();
    const RetryPolicy often(3);
    node->tools().add_or_throw(deferred("look", retried).timeout(1h).read_only().retries(often));
    const Ended ended = node.start("look", {}, patient(stop.get_token()));
    stop.request_stop();
    node.calm();
    retried->take()->finish(tl::unexpected(ToolFailure{Error(ErrorCode::transport, "gone"), Applied::no}));
    node.calm();
    ASSERT_TRUE(*ended);
    EXPECT_EQ(retried->entered(), 1);
}

TEST(CancelGraceThreads, ACallThatStillWaitsForAThreadEndsAtOnce) {
    RuntimeOptions options;
    options.pool_threads = 1;
    TestRuntime node(options);
    std::promise<void> entered;
    std::promise<void> release;
    node->tools().add_or_throw(tool("hold", "", [&] {
                                   entered.set_value();
                                   release.get_future().wait();
                                   return 1;
                               }).read_only());
    node->tools().add_or_throw(tool("next", "", [] { return 1; }).read_only());
    std::promise<void> held;
    node->start(CallRequest("hold"), {}, [&](const Outcome&) { held.set_value(); });
    entered.get_future().wait();
    std::stop_source stop;
    std::promise<Outcome> next;
    node->start(CallRequest("next"), patient(stop.get_token(), 1h),
                [&](Outcome ended) { next.set_value(std::move(ended)); });
    stop.request_stop();
    EXPECT_EQ(next.get_future().get().state(), State::cancelled);
    release.set_value();
    held.get_future().wait();
}

TEST_WITH_EITHER_LEDGER(Draining, NoNewCallsAreTakenAndThoseUnderWayMayFinish) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow);
    const Ended first = node.start("slow");
    EXPECT_EQ(node->drain(0ms), 1u);
    const Ended late = node.start("slow");
    ASSERT_TRUE(*late);
    EXPECT_EQ((*late)->state(), State::unavailable);
    EXPECT_EQ(reason_of(**late), "draining");
    EXPECT_EQ(reason_of(node->call("slow")), "draining");
    EXPECT_FALSE(*first);
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    EXPECT_TRUE((*first)->ok());
    EXPECT_EQ(node->drain(0ms), 0u);
}

TEST_WITH_EITHER_LEDGER(Draining, ToolsUnderWayMayStillMakeCalls) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.read_only());
    node->tools().add_or_throw(tool("inner", "", [] { return 2; }).read_only().run_inline());
    const Ended outer = node.start("slow");
    EXPECT_EQ(node->drain(0ms), 1u);
    const auto attempt = body->take();
    const Outcome inner = attempt->context().call("inner", {});
    EXPECT_TRUE(inner.ok());
    attempt->finish(ToolResult(Value(1)));
    node.calm();
    EXPECT_TRUE((*outer)->ok());
    EXPECT_EQ(node->drain(0ms), 0u);
}

TEST(Draining, AToolThatWasLeftBehindMakesNoMoreCalls) {
    TestRuntime node;
    std::promise<void> entered;
    std::promise<void> release;
    std::promise<std::string> inner;
    Runtime& runtime = *node.runtime;
    node->tools().add_or_throw(tool("inner", "", [] { return 2; }).read_only().run_inline());
    node->tools().add_or_throw(tool("deaf", "",
                                    [&] {
                                        entered.set_value();
                                        release.get_future().wait();
                                        inner.set_value(reason_of(runtime.call("inner")));
                                        return 1;
                                    })
                                   .read_only()
                                   .timeout(1s));
    const Ended deaf = [&] {
        auto kept = std::make_shared<std::optional<Outcome>>();
        node->start(CallRequest("deaf"), {}, [kept](Outcome ended) { *kept = std::move(ended); });
        return kept;
    }();
    entered.get_future().wait();
    node.timers->advance(1s);
    while (node->stats().ended[static_cast<std::size_t>(State::timed_out)] == 0) std::this_thread::yield();
    EXPECT_EQ(node->drain(0ms), 0u);
    release.set_value();
    EXPECT_EQ(inner.get_future().get(), "draining");
}

TEST_WITH_EITHER_LEDGER(Draining, NothingIsResumedAnyMore) {
    TestRuntime node;
    node->tools().add_or_throw(tool("pay", "", [] { return 1; }).risk(Risk::high).run_inline());
    Context context;
    context.principal = "ada";
    const Outcome asked = node->call("pay", {}, context);
    ASSERT_EQ(asked.state(), State::needs_approval);
    must(node->approvals().approve(asked.approval_id(), "bob"));
    EXPECT_EQ(node->drain(0ms), 0u);
    EXPECT_EQ(reason_of(node->resume(asked.call_id(), context)), "draining");
}

TEST(Draining, DoesNotWaitForTheRecordOfWhatItRefuses) {
    TestRuntime node({}, nullptr, nullptr, Answers::when_told);
    EXPECT_EQ(node->drain(0ms), 0u);
    auto refused = std::make_shared<std::optional<Outcome>>();
    node->start(CallRequest("any"), {}, [refused](Outcome ended) { *refused = std::move(ended); });
    EXPECT_FALSE(*refused) << "the ledger has not answered";
    EXPECT_EQ(node->drain(0ms), 0u);
    node.later->answer_soon();
    node.calm();
    EXPECT_EQ(reason_of(**refused), "draining");
    EXPECT_EQ(node->drain(0ms), 0u);
}

TEST_WITH_EITHER_LEDGER(Draining, TheRecordSaysHowManyWereRefused) {
    for (const bool strict : {false, true}) {
        RuntimeOptions options;
        options.strict_audit = strict;
        TestRuntime node(options);
        EXPECT_EQ(node->drain(0ms), 0u);
        for (int i = 0; i < 4; ++i) EXPECT_EQ(reason_of(node->call("any")), "draining");
        EXPECT_EQ(node->drain(0ms), 0u);
        node.calm();
        std::size_t alone = 0;
        std::vector<std::string> together;
        for (const AuditEvent& event : must(node->audit())) {
            if (event.stage == "settle") ++alone;
            if (event.type == "tool_call.refused") together.emplace_back(event.detail);
        }
        EXPECT_EQ(alone, strict ? 4u : 1u);
        ASSERT_EQ(together.size(), strict ? 0u : 1u);
        if (!strict) {
            EXPECT_EQ(together[0].substr(0, 7), "3 more ");
        }
    }
}

TEST_WITH_EITHER_LEDGER(Draining, ABatchThatHasBegunIsFinished) {
    RuntimeOptions options;
    options.batch_concurrency = 1;
    TestRuntime node(options);
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.read_only());
    std::vector<Outcome> outcomes;
    node->start_batch({{"slow"}, {"slow"}, {"slow"}}, {},
                      [&](std::vector<Outcome> ended) { outcomes = std::move(ended); });
    node.calm();
    EXPECT_EQ(node->drain(0ms), 3u);
    for (std::size_t left = 3; left > 0; --left) {
        EXPECT_EQ(node->drain(0ms), left);
        body->take()->finish(ToolResult(Value(1)));
        node.calm();
    }
    EXPECT_EQ(node->drain(0ms), 0u);
    ASSERT_EQ(outcomes.size(), 3u);
    for (const Outcome& one : outcomes) EXPECT_TRUE(one.ok()) << reason_of(one);
    EXPECT_EQ(reason_of(node->call_batch({{"slow"}})[0]), "draining") << "but no other";
}

TEST_WITH_EITHER_LEDGER(Draining, WaitsForTheLastCall) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow);
    const Ended first = node.start("slow");
    auto drained = std::async(std::launch::async, [&] { return node->drain(1h); });
    while (node.runtime->core()->ending() == Runtime::Core::Ending::no) std::this_thread::yield();
    body->take()->finish(ToolResult(Value(1)));
    EXPECT_EQ(drained.get(), 0u);
}

}  // namespace
}  // namespace callgate::pipeline
