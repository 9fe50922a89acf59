#include "pipeline/reconcile.h"

#include <atomic>
#include <future>
#include <latch>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "base/ids.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using Verdict = Reconciliation::Verdict;

ToolDefinition booking() {
    return {"book", "Books", Object{{"type", "object"}, {"properties", {{"room", {{"type", "integer"}}}}}}};
}

/// A program that is gone, and its successor on the same ledger.
struct ProbingSuccessors {
    TestRuntime first;
    TestRuntime second;

    explicit ProbingSuccessors(RuntimeOptions options = {})
        : second(std::move(options), first.ledger, first.clock) {
        Tool book(booking(), std::make_shared<DeferredBody>());
        const auto unasked = [](std::string_view, const Object&, CallContext&) { return Reconciliation(); };
        EXPECT_TRUE(first->tools().add(book.probe(unasked).effect(EffectClass::verify)));
        (void)second->call("nobody");  // so that its ids differ from the first one's
        second.recorder->clear();
    }

    /// Sent by the first one, which then hears no more of it.
    void send(int room, std::string key) {
        calls.push_back(first.start("book", {{"room", room}}, with_key(std::move(key))));
    }
    void first_dies() const { first.ledger->owner_gone(first->core()->owner); }

    /// The successor's tool; the probe decides by the room.
    void add_tool(ProbeFunction probe) {
        Tool book = schema_tool(booking(), [this](const Object&, CallContext&) -> ToolReturn {
            ++entered;
            return ToolResult(Value("booked again"));
        });
        if (probe) book.probe(std::move(probe)).effect(EffectClass::verify);
        ASSERT_TRUE(second->tools().add(book));
    }
    static std::int64_t room_in(const Object& arguments) { return arguments.at("room").as_int64(); }

    std::atomic<int> entered{0};
    std::vector<Ended> calls;
};

TEST_WITH_EITHER_LEDGER(Reconcile, FindsOutWhatBecameOfCallsInDoubtOnceAndPutsItOnTheRecord) {
    ProbingSuccessors successors;
    for (int room = 1; room <= 3; ++room) successors.send(room, "k" + std::to_string(room));
    successors.first_dies();
    successors.add_tool([](std::string_view, const Object& arguments, CallContext&) -> Reconciliation {
        switch (ProbingSuccessors::room_in(arguments)) {
            case 1: return {Verdict::applied, ToolResult(Value("room 1"))};
            case 2: return Verdict::not_applied;
            default: return Verdict::cannot_tell;
        }
    });
    const ReconcileReport report = must(successors.second->reconcile());
    EXPECT_EQ(report.probed, 3u);
    EXPECT_EQ(report.applied, 1u);
    EXPECT_EQ(report.not_applied, 1u);
    EXPECT_EQ(report.cannot_tell, 1u);
    EXPECT_EQ(report.no_tool, 0u);
    EXPECT_EQ(report.unrecorded, 0u);
    EXPECT_THAT(successors.second.recorder->audit_types(),
                testing::UnorderedElementsAre(
                    "tool_call.reconciling", "tool_call.reconciling", "tool_call.reconciling",
                    "tool_call.resolved", "tool_call.resolved", "tool_call.failed", "tool_call.resolved"));
    for (const AuditEvent& event : successors.second.recorder->audit()) {
        EXPECT_GT(event.sequence, 0u);
        EXPECT_EQ(event.tool, "book");
        EXPECT_EQ(event.stage, "reconcile");
    }
    EXPECT_EQ(must(successors.second->reconcile()).probed, 0u);

    const Outcome applied = successors.second->call("book", {{"room", 1}}, with_key("k1"));
    EXPECT_EQ(applied.state(), State::replayed);
    EXPECT_EQ(applied.text(), "room 1");
    EXPECT_EQ(successors.entered, 0);
    EXPECT_EQ(successors.second->call("book", {{"room", 2}}, with_key("k2")).text(), "booked again");
    EXPECT_EQ(successors.entered, 1);
    EXPECT_EQ(successors.second->call("book", {{"room", 3}}, with_key("k3")).error()->code,
              ErrorCode::outcome_unknown);
}

TEST_WITH_EITHER_LEDGER(Reconcile, TellsTheProbeWhichCallItIsAskedAbout) {
    ProbingSuccessors successors;
    successors.send(7, "k");
    const auto rows = must(successors.first.ledger->list({}));
    ASSERT_EQ(rows.size(), 1u);
    successors.first_dies();
    std::string asked;
    std::string as;
    successors.add_tool([&](std::string_view id, const Object&, CallContext& context) -> Reconciliation {
        asked = id;
        as = context.call_id() + " " + context.caller().principal + " " + context.action();
        return Verdict::applied;
    });
    EXPECT_EQ(must(successors.second->reconcile()).applied, 1u);
    EXPECT_EQ(asked, base::Uuid{rows[0].call_id}.to_string());
    EXPECT_EQ(as, asked + " local call");
}

TEST_WITH_EITHER_LEDGER(Reconcile, AsksAboutCallsWithoutAKeyToo) {
    ProbingSuccessors successors;
    successors.send(1, "");
    successors.send(2, "");
    successors.first_dies();
    successors.add_tool([](std::string_view, const Object& arguments, CallContext&) -> Reconciliation {
        return ProbingSuccessors::room_in(arguments) == 1 ? Verdict::applied : Verdict::not_applied;
    });
    const ReconcileReport report = must(successors.second->reconcile());
    EXPECT_EQ(report.applied, 1u);
    EXPECT_EQ(report.not_applied, 1u);
    EXPECT_EQ(must(successors.first.ledger->list(ledger::CallState::succeeded)).size(), 1u);
    EXPECT_EQ(must(successors.first.ledger->list(ledger::CallState::unknown)).size(), 0u);
}

TEST_WITH_EITHER_LEDGER(Reconcile, LeavesAloneWhatIsNotInDoubt) {
    ProbingSuccessors successors;
    successors.send(1, "k");
    successors.add_tool([](std::string_view, const Object&, CallContext&) -> Reconciliation {
        ADD_FAILURE() << "its owner lives";
        return Verdict::applied;
    });
    const ReconcileReport report = must(successors.second->reconcile());
    EXPECT_EQ(report.probed + report.no_tool, 0u);
}

TEST_WITH_EITHER_LEDGER(Reconcile, CountsWhatNoToolCanBeAskedAboutAndLeavesItInDoubt) {
    const auto applied = [](std::string_view, const Object&, CallContext&) -> Reconciliation {
        return Verdict::applied;
    };
    const auto left = [](ProbingSuccessors& successors) {
        const ReconcileReport report = must(successors.second->reconcile());
        EXPECT_EQ(report.probed, 0u);
        EXPECT_EQ(must(successors.first.ledger->in_doubt()).size(), 1u);
        return report.no_tool;
    };
    ProbingSuccessors successors;
    successors.send(1, "k");
    successors.first_dies();
    EXPECT_EQ(left(successors), 1u) << "there is no such tool";
    successors.add_tool(nullptr);
    EXPECT_EQ(left(successors), 1u) << "it has no probe";
    ASSERT_TRUE(successors.second->tools().remove("book"));
    successors.add_tool(applied);
    successors.second->tools().quarantine("book", "it looked at me");
    EXPECT_EQ(left(successors), 1u) << "its code must not be run";
    successors.second->tools().release("book");
    Tool changed = schema_tool(
        booking(), [](const Object&, CallContext&) -> ToolReturn { return ToolResult(Value(1)); });
    changed.definition.description = "Books something else";
    ASSERT_TRUE(successors.second->tools().add(changed.effect(EffectClass::verify).probe(applied),
                                               IfPresent::replace));
    EXPECT_EQ(left(successors), 1u) << "it is not the tool that was called";
}

TEST_WITH_EITHER_LEDGER(Reconcile, AProbeThatThrowsOrOutlivesItsDeadlineCannotTell) {
    ProbingSuccessors successors;
    successors.send(1, "k1");
    successors.send(2, "k2");
    successors.first_dies();
    std::promise<void> entered;
    successors.add_tool(
        [&](std::string_view, const Object& arguments, CallContext& context) -> Reconciliation {
            if (ProbingSuccessors::room_in(arguments) == 1) throw std::runtime_error("no line");
            entered.set_value();
            while (!context.cancelled()) std::this_thread::yield();
            return Verdict::applied;  // too late
        });
    auto report = std::async(std::launch::async, [&] { return must(successors.second->reconcile()); });
    entered.get_future().wait();
    successors.second.timers->advance(31s);
    EXPECT_EQ(report.get().cannot_tell, 2u);
    EXPECT_EQ(must(successors.first.ledger->list(ledger::CallState::unknown)).size(), 2u);
}

TEST_WITH_EITHER_LEDGER(Reconcile, AsksSeveralAtOnce) {
    ProbingSuccessors successors;
    for (int room = 0; room < 3; ++room) successors.send(room, "k" + std::to_string(room));
    successors.first_dies();
    std::latch all(3);
    successors.add_tool([&](std::string_view, const Object&, CallContext&) -> Reconciliation {
        all.arrive_and_wait();  // only ends if all three are asked at once
        return Verdict::applied;
    });
    EXPECT_EQ(must(successors.second->reconcile()).applied, 3u);
}

TEST_WITH_EITHER_LEDGER(Reconcile, WhatAProbeFindsIsKeptWithoutSecrets) {
    const auto secrets = std::make_shared<MemorySecrets>();
    ASSERT_TRUE(secrets->set("book", "token", "tok-0123456789-abcdef"));
    RuntimeOptions options;
    options.secrets = secrets;
    ProbingSuccessors successors(options);
    successors.send(1, "k1");
    successors.send(2, "k2");
    successors.first_dies();
    successors.add_tool([](std::string_view, const Object&, CallContext& context) -> Reconciliation {
        std::string text;
        EXPECT_TRUE(context.with_secret("token", [&](const Secret& secret) { text = secret.expose(); }));
        return {Verdict::applied, ToolResult(Value("with " + text))};
    });
    // By the next call with its key, and by reconcile().
    EXPECT_EQ(successors.second->call("book", {{"room", 1}}, with_key("k1")).text(), "with [REDACTED]");
    EXPECT_EQ(must(successors.second->reconcile()).applied, 1u);
    for (const char* key : {"k1", "k2"}) {
        const int room = key[1] - '0';
        EXPECT_EQ(successors.second->call("book", {{"room", room}}, with_key(key)).text(), "with [REDACTED]");
    }
}

TEST_WITH_EITHER_LEDGER(Reconcile, MayBeAskedForByATool) {
    RuntimeOptions options;
    options.pool_threads = 1;
    ProbingSuccessors successors(options);
    successors.send(1, "k");
    successors.first_dies();
    successors.add_tool(
        [](std::string_view, const Object&, CallContext&) -> Reconciliation { return Verdict::applied; });
    ASSERT_TRUE(successors.second->tools().add(tool("recover", "", [&] {
        return static_cast<std::int64_t>(must(successors.second->reconcile()).applied);
    })));
    EXPECT_EQ(successors.second->call("recover").text(), "1");
}

TEST_WITH_EITHER_LEDGER(Reconcile, WhatTheLedgerDoesNotTakeStaysInDoubt) {
#ifdef CALLGATE_FAILPOINTS
    ProbingSuccessors successors;
    successors.send(1, "k");
    successors.first_dies();
    successors.add_tool(
        [](std::string_view, const Object&, CallContext&) -> Reconciliation { return Verdict::applied; });
    base::failpoints().arm("ledger.conclude", base::FailAction::error);
    const ReconcileReport report = must(successors.second->reconcile());
    base::failpoints().clear();
    EXPECT_EQ(report.probed, 1u);
    EXPECT_EQ(report.applied, 0u);
    EXPECT_EQ(report.unrecorded, 1u);
    EXPECT_THAT(successors.second.recorder->audit_types(), ElementsAre("tool_call.reconciling"));
    successors.first.ledger->owner_gone(successors.second->core()->owner);
    EXPECT_EQ(must(successors.first.ledger->in_doubt()).size(), 1u);
#else
    GTEST_SKIP() << "not in this build: it has no failpoints";
#endif
}

}  // namespace
}  // namespace callgate::pipeline
