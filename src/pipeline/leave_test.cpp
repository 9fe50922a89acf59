// A ledger that does not answer keeps no call longer than its deadline, one moment after the other.
#include <atomic>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/must.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using ledger::CallState;

struct Hung : TestRuntime {
    explicit Hung(RuntimeOptions options = {})
        : TestRuntime(std::move(options), nullptr, nullptr, Answers::when_told) {
        const auto run = [this](const Object&, CallContext&) -> ToolReturn {
            return ToolResult(Value(++entered));
        };
        const auto retried = [this](const Object&, CallContext&) -> ToolReturn {
            ++entered;
            return tl::unexpected(ToolFailure::unreachable("not now"));
        };
        EXPECT_TRUE(runtime->tools().add(tool("pay", run)));
        EXPECT_TRUE(runtime->tools().add(tool("look", run).read_only()));
        const auto lost = [this](const Object&, CallContext&) -> ToolReturn {
            ++entered;
            return tl::unexpected(ToolFailure::lost("gone"));
        };
        EXPECT_TRUE(runtime->tools().add(tool("try", retried).retries(RetryPolicy(3))));
        EXPECT_TRUE(
            runtime->tools().add(tool("lose", lost).effect(EffectClass::keyed).retries(RetryPolicy(3))));
    }
    static Tool tool(std::string name, ToolFunction run) {
        return schema_tool(ToolDefinition(std::move(name), "", Object{{"type", "object"}}), std::move(run))
            .run_inline();
    }
    static Context hurried(std::string key = "k") {
        Context context;
        context.idempotency_key = std::move(key);
        context.timeout = 1s;
        return context;
    }
    std::future<Outcome> call(std::string name, Context context = hurried()) const {
        return std::async(std::launch::async, [this, name = std::move(name), context = std::move(context)] {
            return runtime->call(name, {}, context);
        });
    }
    /// The deadline passes, and the moment that the ledger still has, from whenever the call waits for it.
    template <class Told>
    auto run_out(std::future<Told> told) const {
        timers->advance(1s);
        while (told.wait_for(0s) != std::future_status::ready) timers->advance(100ms);
        return told.get();
    }
    /// The disk goes on.
    void go_on() const {
        later->answer_soon();
        calm();
    }
    std::atomic<int> entered{0};
};

TEST(Leave, AHungClaimEndsAtTheDeadlineAndItsKeyIsFreeWhenTheDiskGoesOn) {
    Hung node;
    auto call = node.call("pay");
    node.answer("peek");
    node.later->wait_until_open(1);
    const Outcome outcome = node.run_out(std::move(call));  // the claim has not been answered
    EXPECT_EQ(outcome.state(), State::timed_out);
    EXPECT_FALSE(outcome.safe_new_key()) << "nobody knows what becomes of the claim";
    EXPECT_EQ(node.entered, 0);
    node.go_on();
    EXPECT_TRUE(must(node.ledger->list({})).empty()) << "settled as not applied";
    EXPECT_EQ(node->call("pay", {}, Hung::hurried()).text(), "1") << "the key is free";
}

TEST(Leave, NobodyHasToWaitForACallToLeave) {
    Hung node;
    const auto kept = std::make_shared<std::optional<Outcome>>();
    std::promise<void> told;
    node->start(CallRequest("pay"), Hung::hurried(), [&](Outcome outcome) {
        *kept = std::move(outcome);
        told.set_value();
    });
    node.answer("peek");
    node.later->wait_until_open(1);
    node.run_out(told.get_future());
    EXPECT_EQ((*kept)->state(), State::timed_out);
    node.go_on();
    EXPECT_TRUE(must(node.ledger->list({})).empty());
}

TEST(Leave, AHungEndIsUnknownAndOnTheRecordWhenTheDiskGoesOn) {
    Hung node;
    auto call = node.call("pay");
    node.answer("peek");
    node.answer("claim");
    node.later->wait_until_open(1);
    const Outcome outcome = node.run_out(std::move(call));
    EXPECT_EQ(outcome.state(), State::unknown);
    EXPECT_FALSE(outcome.safe_new_key());
    EXPECT_EQ(outcome.error()->details.at("reason"), "not_recorded_yet");
    EXPECT_EQ(node.entered, 1);
    node.go_on();
    EXPECT_EQ(must(node.ledger->list(CallState::succeeded)).size(), 1u);
    const Outcome again = node->call("pay", {}, Hung::hurried());
    EXPECT_EQ(again.state(), State::replayed);
    EXPECT_EQ(again.text(), "1");
    EXPECT_EQ(node.entered, 1);
}

TEST(Leave, ALookThatHangsLeavesNothingBehind) {
    Hung node;
    auto call = node.call("pay");
    node.later->wait_until_open(1);
    const Outcome outcome = node.run_out(std::move(call));
    EXPECT_EQ(outcome.state(), State::timed_out);
    EXPECT_FALSE(outcome.safe_new_key());
    node.go_on();
    EXPECT_TRUE(must(node.ledger->list({})).empty());
    EXPECT_EQ(node.entered, 0);
}

TEST(Leave, WhatIsToBeResumedIsNotWaitedForLongerThanTheCallersLimit) {
    Hung node;
    Context hurried;
    hurried.timeout = 1s;
    auto resumed = std::async(std::launch::async,
                              [&] { return node->resume("019b76da-a9f4-7000-88b0-5ef910e19a2d", hurried); });
    node.later->wait_until_open(1);
    const Outcome outcome = node.run_out(std::move(resumed));
    EXPECT_EQ(outcome.state(), State::timed_out);
    node.go_on();
    EXPECT_THAT(node.recorder->audit_types(), testing::ElementsAre("tool_call.failed"));
}

TEST(Leave, OnceItIsKnownWhatIsResumedTheLimitOfThatToolCounts) {
    for (const auto limit : {2s, 90s}) {  // less than the runtime's, and more
        TestRuntime node({}, nullptr, nullptr, Answers::soon);
        auto [pay, body] = deferred("pay");
        node->tools().add_or_throw(pay.risk(Risk::high).timeout(limit));
        const Outcome asked = node->call("pay");
        ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
        auto resumed = std::async(std::launch::async, [&] { return node->resume(asked.call_id()); });
        while (body->waiting() == 0) std::this_thread::yield();
        node.timers->advance(limit - 1ms);
        EXPECT_EQ(resumed.wait_for(0s), std::future_status::timeout);
        node.timers->advance(1ms);
        EXPECT_EQ(resumed.get().state(), State::unknown) << "it had begun";
        body->forget();
    }
}

TEST(Leave, AnAttemptThatHasNotPassedTheFenceIsNotMade) {
    Hung node;
    auto call = node.call("try");
    node.answer("peek");
    node.answer("claim");
    node.answer("settle");
    // It rests before it tries again, for half a second at most.
    const auto now = node.clock->monotonic_now();
    base::MonotonicTime next;
    while (!node.timers->next(next) || next >= now + 1s) std::this_thread::yield();
    node.timers->advance(next - now);
    node.later->wait_until_open(1);
    ASSERT_EQ(node.later->open_names().front(), "dispatch");
    const Outcome outcome = node.run_out(std::move(call));
    EXPECT_EQ(outcome.state(), State::failed) << "as its last attempt ended";
    EXPECT_EQ(node.entered, 1);
    node.go_on();
    EXPECT_TRUE(must(node.ledger->list({})).empty()) << "the key is free";
}

TEST(Leave, AnAttemptThatHasEndedIsTheLastWordWhereTheLedgerDoesNotTakeItBack) {
    for (const auto& [name, state] : {std::pair("try", State::failed), std::pair("lose", State::unknown)}) {
        Hung node;
        auto call = node.call(name);
        node.answer("peek");
        node.answer("claim");
        node.later->wait_until_open(1);
        ASSERT_EQ(node.later->open_names().front(), "settle") << "another attempt is to follow";
        const Outcome outcome = node.run_out(std::move(call));
        EXPECT_EQ(outcome.state(), state) << name;
        EXPECT_FALSE(outcome.safe_new_key());
        EXPECT_EQ(node.entered, 1);
        node.go_on();
        const auto rows = must(node.ledger->list({}));
        if (state == State::failed) {
            EXPECT_TRUE(rows.empty()) << "the key is free";
        } else {
            ASSERT_EQ(rows.size(), 1u);
            EXPECT_EQ(rows.front().state, CallState::unknown);
        }
    }
}

TEST(Leave, AnAnswerThatComesInTimeIsTheAnswer) {
    Hung node;
    auto call = node.call("pay");
    node.answer("peek");
    node.answer("claim");
    node.later->wait_until_open(1);
    node.timers->advance(1s);  // the deadline alone
    node.answer("settle");
    EXPECT_EQ(call.get().text(), "1") << "it has happened, and is on the record";
}

TEST(Leave, ARuntimeThatGoesWaitsForWhatWasLeft) {
    Hung node;
    auto call = node.call("pay");
    node.answer("peek");
    node.later->wait_until_open(1);
    EXPECT_EQ(node.run_out(std::move(call)).state(), State::timed_out);
    auto gone = std::async(std::launch::async, [&] { node.runtime.reset(); });
    node.later->answer_soon();
    gone.wait();
    while (node.later->open() != 0) std::this_thread::yield();
    EXPECT_TRUE(must(node.ledger->list({})).empty());
}

}  // namespace
}  // namespace callgate::pipeline
