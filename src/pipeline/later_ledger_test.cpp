// What can happen to a call while the ledger has not answered yet, one moment after the other.
#include <callgate/async.h>
#include <callgate/callgate.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/blocking_waiter.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

/// A node whose ledger answers when the test says so.
struct Held : TestRuntime {
    explicit Held(RuntimeOptions options = {})
        : TestRuntime(std::move(options), nullptr, nullptr, Answers::when_told) {}

    /// Begins it, and goes no further than the ledger lets it.
    Ended begin(std::string tool, Context context = {}) const {
        auto kept = std::make_shared<std::optional<Outcome>>();
        runtime->start(CallRequest(std::move(tool)), std::move(context),
                       [kept](Outcome ended) { *kept = std::move(ended); });
        return kept;
    }
    std::future<Outcome> call_on_another_thread(std::string tool, Context context = {}) const {
        return std::async(std::launch::async, [this, tool = std::move(tool), context = std::move(context)] {
            return runtime->call(tool, {}, context);
        });
    }
};

Tool plain_tool(std::string name, ToolFunction run) {
    return schema_tool(ToolDefinition(std::move(name), "", Object{{"type", "object"}}), std::move(run));
}

/// An inline tool that counts how often it was entered.
Tool counting_tool(std::string name, std::atomic<int>& entered) {
    return plain_tool(std::move(name),
                      [&](const Object&, CallContext&) -> ToolReturn { return ToolResult(Value(++entered)); })
        .run_inline();
}

/// A node on which the call of a tool "slow" runs under the key "k", until the test answers for its body.
struct HeldSlow : Held {
    HeldSlow() {
        auto [tool, deferred_body] = deferred("slow");
        runtime->tools().add_or_throw(std::move(tool));
        body = std::move(deferred_body);
        call = begin("slow", with_key("k"));
        answer("peek");
        answer("claim");
    }
    std::shared_ptr<DeferredBody> body;
    Ended call;
};

/// A node with an inline tool "act" that counts how often it was entered.
struct HeldAct : Held {
    HeldAct() { runtime->tools().add_or_throw(counting_tool("act", entered)); }
    std::atomic<int> entered{0};
};

// Where it goes on

TEST(LaterLedger, ACallGoesOnOnTheThreadThatWaitsForIt) {
    Held node;
    std::thread::id ran_on;
    ASSERT_TRUE(node->tools().add(plain_tool("act", [&](const Object&, CallContext&) -> ToolReturn {
                                      ran_on = std::this_thread::get_id();
                                      return ToolResult(Value(1));
                                  }).run_inline()));
    std::thread::id called_on;
    auto ended = std::async(std::launch::async, [&] {
        called_on = std::this_thread::get_id();
        return node->call("act");
    });
    node.answer("claim");
    node.answer("settle");
    EXPECT_TRUE(ended.get().ok());
    EXPECT_EQ(ran_on, called_on);
    EXPECT_EQ(node->core()->turns.counts().threads, 0u) << "no other thread was needed";
}

TEST(LaterLedger, TheLedgersThreadRunsNeitherToolsNorObserversNorWhoIsTold) {
    struct Noting final : Observer {
        void on_audit(const AuditEvent&) override { note(); }
        void on_telemetry(const TelemetryEvent&) override { note(); }
        void on_log(LogLevel, std::string_view) override { note(); }
        void note() {
            const std::lock_guard lock(mutex);
            threads.insert(std::this_thread::get_id());
        }
        std::mutex mutex;
        std::set<std::thread::id> threads;
    };
    const auto noting = std::make_shared<Noting>();
    RuntimeOptions options;
    options.observers.push_back(noting);
    options.audit_allowed = true;
    TestRuntime node(options, nullptr, nullptr, Answers::soon);
    const auto run = [&](const Object&, CallContext&) -> ToolReturn {
        noting->note();
        return ToolResult(Value(1));
    };
    ASSERT_TRUE(node->tools().add(plain_tool("inline", run).run_inline()));
    ASSERT_TRUE(node->tools().add(plain_tool("pooled", run)));
    ASSERT_TRUE(node->tools().add(plain_tool("look", run).read_only().run_inline()));
    ASSERT_TRUE(node->tools().add(plain_tool("nest", [&](const Object&, CallContext& context) -> ToolReturn {
                                      noting->note();
                                      return ToolResult(Value(context.call("inline", {}).ok()));
                                  }).run_inline()));
    auto [late, body] = deferred("late");
    ASSERT_TRUE(node->tools().add(late));
    for (const char* name : {"inline", "pooled", "look", "nest"}) {
        EXPECT_TRUE(node->call(name, {}, with_key(name)).ok());
        EXPECT_TRUE(node->call(name).ok());
        std::promise<bool> told;
        node->start(CallRequest(name), {}, [&](Outcome outcome) {
            noting->note();
            told.set_value(outcome.ok());
        });
        EXPECT_TRUE(told.get_future().get());
        for (const Outcome& outcome : node->call_batch({CallRequest(name), CallRequest(name)}))
            EXPECT_TRUE(outcome.ok());
    }
    // A duplicate that waits, and an answer that comes too late.
    const auto first = node.start("late", {}, with_key("k"));
    const auto second = node.start("late", {}, with_key("k"));
    node.advance(31s);
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    EXPECT_TRUE(*first && *second);
    EXPECT_FALSE(noting->threads.contains(node.later->thread()));
}

TEST(LaterLedger, ADuplicateThatWaitsGoesOnOnItsOwnThread) {
    HeldSlow node;
    auto second = node.call_on_another_thread("slow", with_key("k"));
    node.answer("peek");
    node.answer("wait_for_end");
    node.body->take()->finish(ToolResult(Value(7)));
    node.answer("settle");
    ASSERT_TRUE(*node.call);
    node.answer("peek");
    node.answer("record");
    EXPECT_EQ(second.get().text(), "7");
    EXPECT_EQ(node.body->entered(), 1);
}

TEST(LaterLedger, ADuplicateHearsOfAnEndThatComesWhileItAsksWhetherToWait) {
    HeldSlow node;
    auto second = node.call_on_another_thread("slow", with_key("k"));
    node.answer("peek");
    node.later->wait_until_open(1);
    EXPECT_EQ(node.later->open_names().front(), "wait_for_end");
    // The ledger saw that it runs; it ends before who asked has heard that.
    ledger::SettleRequest end;
    end.call_id = must(node.ledger->list({})).at(0).call_id;
    end.attempt = 1;
    end.end = ledger::AttemptEnd::succeeded;
    auto stored = std::make_shared<ledger::StoredOutcome>();
    stored->succeeded = true;
    stored->state = State::succeeded;
    stored->result.value = 7;
    end.outcome = std::move(stored);
    ledger::SettleReply settled;
    ledger::BlockingWaiter nobody;
    nobody.wait(node.ledger->settle(std::move(end), settled, nobody));
    ASSERT_TRUE(settled.settled.accepted);
    node.answer("wait_for_end");
    node.answer("peek");
    node.answer("record");
    EXPECT_EQ(second.get().text(), "7");
    node.later->answer_soon();
    node.body->take()->finish(ToolResult(Value(7)));
    node.calm();
}

TEST(LaterLedger, WhoRunsOutOfTimeWhileItAsksWhetherToWaitDoesNotWait) {
    HeldSlow node;
    Context hurried = with_key("k");
    hurried.timeout = 1s;
    const Ended second = node.begin("slow", hurried);
    node.answer("peek");
    node.later->wait_until_open(1);
    node.timers->advance(2s);
    node.answer("wait_for_end");
    node.answer("record");
    ASSERT_TRUE(*second);
    EXPECT_EQ((*second)->state(), State::in_progress);
    node.body->take()->finish(ToolResult(Value(7)));
    node.answer("settle");
}

TEST(LaterLedger, CallsInsideCallsNeedNoThreadOfTheirOwn) {
    RuntimeOptions options;
    options.pool_threads = 1;
    TestRuntime node(options, nullptr, nullptr, Answers::soon);
    std::atomic<int> entered{0};
    ASSERT_TRUE(node->tools().add(counting_tool("inner", entered)));
    const auto nesting = [](const char* name) {
        return [name](const Object&, CallContext& context) -> ToolReturn {
            const Outcome inner = context.call(name, {});
            if (!inner.ok()) return tl::unexpected(ToolFailure::answered(inner.error()->message));
            return ToolResult(Value(inner.text()));
        };
    };
    ASSERT_TRUE(node->tools().add(plain_tool("pooled", nesting("inner"))));
    ASSERT_TRUE(node->tools().add(plain_tool("inlined", nesting("pooled")).run_inline()));
    ASSERT_TRUE(node->tools().add(plain_tool("outer", nesting("inlined"))));
    EXPECT_TRUE(node->call("outer").ok());
    std::vector<CallRequest> many(20, CallRequest("outer"));
    for (const Outcome& outcome : node->call_batch(many))
        EXPECT_TRUE(outcome.ok()) << outcome.error()->message;
    EXPECT_EQ(entered, 21);
}

TEST(LaterLedger, ABatchInsideAToolNeedsNoFreeThreadOfThePool) {
    RuntimeOptions options;
    options.pool_threads = 1;
    TestRuntime node(options, nullptr, nullptr, Answers::soon);
    std::atomic<int> entered{0};
    ASSERT_TRUE(node->tools().add(counting_tool("inner", entered)));
    Runtime* const runtime = node.runtime.get();
    ASSERT_TRUE(node->tools().add(plain_tool("outer", [runtime](const Object&, CallContext&) -> ToolReturn {
        std::vector<CallRequest> many(5, CallRequest("inner"));
        std::int64_t good = 0;
        for (const Outcome& outcome : runtime->call_batch(many)) good += outcome.ok() ? 1 : 0;
        return ToolResult(Value(good));
    })));
    EXPECT_EQ(node->call("outer").text(), "5");
}

TEST(LaterLedger, ACallOnTheIoThreadWaitsWithoutStoppingIt) {
    namespace asio = boost::asio;
    TestRuntime node({}, nullptr, nullptr, Answers::soon);
    std::atomic<int> entered{0};
    ASSERT_TRUE(node->tools().add(counting_tool("inner", entered)));
    const auto outer = [](CallContext& context) -> asio::awaitable<std::string> {
        co_return context.call("inner", {}).text();
    };
    ASSERT_TRUE(node->tools().add(async_tool("outer", "", outer)));
    const auto outermost = [](CallContext& context) -> asio::awaitable<std::string> {
        const std::string one = context.call("outer", {}).text();
        co_return one + context.call("outer", {}).text();
    };
    ASSERT_TRUE(node->tools().add(async_tool("outermost", "", outermost)));
    EXPECT_EQ(node->call("outermost").text(), "12");
    std::promise<std::string> told;
    node->start(CallRequest("outermost"), {}, [&](Outcome outcome) { told.set_value(outcome.text()); });
    EXPECT_EQ(told.get_future().get(), "34");
}

// Called off, or out of time, while an operation is open

/// Both ways in which a call can be stopped.
struct Stop {
    enum class How : std::uint8_t { cancel, deadline };
    explicit Stop(How what) : how(what) {}

    Context context(std::string key) {
        Context made = with_key(std::move(key));
        made.cancel = source.get_token();
        return made;
    }
    void operator()(const TestRuntime& node) {
        if (how == How::cancel) {
            source.request_stop();
        } else {
            node.timers->advance(31s);
        }
    }
    State state() const { return how == How::cancel ? State::cancelled : State::timed_out; }

    How how;
    std::stop_source source;
};
constexpr Stop::How kBoth[] = {Stop::How::cancel, Stop::How::deadline};

TEST(LaterLedger, WhatIsStoppedWhileItIsClaimedNeverBeginsAndItsKeyIsFreeAgain) {
    for (const auto how : kBoth) {
        HeldAct node;
        Stop stop(how);
        const Ended call = node.begin("act", stop.context("k"));
        node.answer("peek");
        node.later->wait_until_open(1);
        stop(node);
        EXPECT_FALSE(*call) << "the ledger may still write it down";
        node.answer("claim");
        EXPECT_FALSE(*call);
        node.answer("settle");
        ASSERT_TRUE(*call);
        EXPECT_EQ((*call)->state(), stop.state());
        EXPECT_TRUE((*call)->safe_new_key());
        EXPECT_EQ((*call)->attempts(), 0u);
        EXPECT_EQ(node.entered, 0);
        node.later->answer_soon();
        const Outcome again = node->call("act", {}, with_key("k"));
        EXPECT_EQ(again.state(), State::succeeded);
        EXPECT_EQ(node.entered, 1);
    }
}

TEST(LaterLedger, WhoWaitsIsStoppedLikeWhoDoesNot) {
    HeldAct node;
    Stop stop(Stop::How::cancel);
    auto call = node.call_on_another_thread("act", stop.context(""));
    node.later->wait_until_open(1);
    stop(node);
    node.answer("claim");
    node.answer("settle");
    const Outcome outcome = call.get();
    EXPECT_EQ(outcome.state(), State::cancelled);
    EXPECT_TRUE(outcome.safe_new_key());
    EXPECT_EQ(node.entered, 0);
}

TEST(LaterLedger, WhatIsStoppedWhileItsKeyIsLookedUpIsNotClaimed) {
    for (const auto how : kBoth) {
        HeldAct node;
        Stop stop(how);
        const Ended call = node.begin("act", stop.context("k"));
        node.later->wait_until_open(1);
        stop(node);
        node.answer("peek");
        node.answer("record");
        ASSERT_TRUE(*call);
        EXPECT_EQ((*call)->state(), stop.state());
        EXPECT_TRUE(must(node.ledger->list({})).empty());
    }
}

TEST(LaterLedger, WhatIsStoppedBeforeItsNextAttemptEndsAsTheLastOneDid) {
    for (const auto how : kBoth) {
        Held node;
        Stop stop(how);
        std::atomic<int> entered{0};
        ASSERT_TRUE(node->tools().add(plain_tool("flaky",
                                                 [&](const Object&, CallContext&) -> ToolReturn {
                                                     ++entered;
                                                     return tl::unexpected(
                                                         ToolFailure::unreachable("no route"));
                                                 })
                                          .retries(RetryPolicy(3))
                                          .run_inline()));
        const Ended call = node.begin("flaky", stop.context("k"));
        node.answer("peek");
        node.answer("claim");
        node.answer("settle");  // the attempt is over, and another one follows
        node.timers->advance(1s);
        node.later->wait_until_open(1);
        stop(node);
        node.answer("dispatch");
        EXPECT_FALSE(*call);
        node.answer("settle");
        ASSERT_TRUE(*call);
        EXPECT_EQ((*call)->error()->message, "no route");
        EXPECT_TRUE((*call)->safe_new_key());
        EXPECT_EQ(entered, 1);
        EXPECT_TRUE(must(node.ledger->list({})).empty()) << "the key is free again";
    }
}

TEST(LaterLedger, WhatHasHappenedIsToldEvenIfItIsStoppedWhileThatIsWritten) {
    for (const auto how : kBoth) {
        HeldAct node;
        Stop stop(how);
        const Ended call = node.begin("act", stop.context("k"));
        node.answer("peek");
        node.answer("claim");
        node.later->wait_until_open(1);
        stop(node);
        EXPECT_FALSE(*call);
        node.answer("settle");
        ASSERT_TRUE(*call);
        EXPECT_EQ((*call)->state(), State::succeeded);
    }
}

TEST(LaterLedger, WhatIsStoppedWhileAPersonIsAskedStillWaitsForThePerson) {
    Held node;
    Stop stop(Stop::How::cancel);
    std::atomic<int> entered{0};
    ASSERT_TRUE(node->tools().add(counting_tool("pay", entered).risk(Risk::high)));
    const Ended call = node.begin("pay", stop.context(""));
    node.answer("open_approval_for");
    node.later->wait_until_open(1);
    stop(node);
    node.answer("open_approval");
    ASSERT_TRUE(*call);
    EXPECT_EQ((*call)->state(), State::needs_approval) << "as the record has it";
    EXPECT_THAT(node.recorder->audit_types(), ElementsAre("gate.required"));
}

TEST(LaterLedger, AProbeIsNotAskedForACallThatWasStoppedMeanwhile) {
    Held node;
    TestRuntime first({}, node.ledger, node.clock, std::nullopt);
    (void)first->call("nobody");
    std::atomic<int> probed{0};
    const auto body = std::make_shared<DeferredBody>();
    Tool book(ToolDefinition("book", "", Object{{"type", "object"}}), body);
    book.effect(EffectClass::verify).probe([&](std::string_view, const Object&, CallContext&) {
        ++probed;
        return Reconciliation(Reconciliation::Verdict::not_applied);
    });
    ASSERT_TRUE(first->tools().add(book));
    ASSERT_TRUE(node->tools().add(book));
    const auto lost = first.start("book", {}, with_key("k"));
    node.ledger->owner_gone(first->core()->owner);
    Stop stop(Stop::How::cancel);
    const Ended heir = node.begin("book", stop.context("k"));
    node.answer("peek");
    node.later->wait_until_open(1);
    stop(node);
    node.answer("claim");
    node.answer("conclude");
    node.answer("record");
    ASSERT_TRUE(*heir);
    EXPECT_EQ((*heir)->error()->code, ErrorCode::outcome_unknown);
    EXPECT_EQ(probed, 0);
}

TEST(LaterLedger, WhatTheProbeFoundMissingIsNotSentOnceTheCallWasStopped) {
    for (const auto how : kBoth) {
        Held node;
        TestRuntime first({}, node.ledger, node.clock, std::nullopt);
        (void)first->call("nobody");
        std::atomic<int> entered{0};
        Tool book = counting_tool("book", entered);
        book.effect(EffectClass::verify).probe([&](std::string_view, const Object&, CallContext&) {
            return Reconciliation(Reconciliation::Verdict::not_applied);
        });
        ASSERT_TRUE(node->tools().add(book));
        auto [held, body] = deferred("book");
        held.definition = book.definition;
        held.probe([](std::string_view, const Object&, CallContext&) { return Reconciliation(); });
        ASSERT_TRUE(first->tools().add(held.effect(EffectClass::verify)));
        const auto lost = first.start("book", {}, with_key("k"));
        node.ledger->owner_gone(first->core()->owner);
        Stop stop(how);
        const Ended heir = node.begin("book", stop.context("k"));
        node.answer("peek");
        node.answer("claim");
        node.later->wait_until_open(1);
        stop(node);
        node.answer("conclude");
        node.answer("settle");
        ASSERT_TRUE(*heir);
        EXPECT_EQ((*heir)->state(), stop.state());
        EXPECT_TRUE((*heir)->safe_new_key());
        EXPECT_EQ(entered, 0);
        EXPECT_TRUE(must(node.ledger->list({})).empty()) << "the key is free again";
    }
}

// What is recorded alone

TEST(LaterLedger, AReadIsToldWhenItIsOnTheRecord) {
    RuntimeOptions options;
    options.audit_allowed = true;
    Held node(options);
    std::atomic<int> entered{0};
    ASSERT_TRUE(node->tools().add(counting_tool("look", entered).read_only()));
    const Ended call = node.begin("look");
    node.later->wait_until_open(1);
    EXPECT_EQ(entered, 0);
    EXPECT_THAT(node.recorder->audit_types(), IsEmpty());
    node.answer("record");
    EXPECT_EQ(entered, 1);
    EXPECT_THAT(node.recorder->audit_types(), ElementsAre("gate.allowed"));
    EXPECT_FALSE(*call);
    node.answer("record");
    ASSERT_TRUE(*call);
    const auto told = node.recorder->audit();
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0].sequence, 1u);
    EXPECT_EQ(told[1].sequence, 2u);
    EXPECT_EQ(told[1].type, "tool_call.succeeded");
}

TEST(LaterLedger, AReadThatWasStoppedBeforeItWasAllowedOnTheRecordDoesNotRun) {
    for (const auto how : kBoth) {
        RuntimeOptions options;
        options.audit_allowed = true;
        Held node(options);
        Stop stop(how);
        std::atomic<int> entered{0};
        ASSERT_TRUE(node->tools().add(counting_tool("look", entered).read_only()));
        const Ended call = node.begin("look", stop.context(""));
        node.later->wait_until_open(1);
        stop(node);
        node.answer("record");
        node.answer("record");
        ASSERT_TRUE(*call);
        EXPECT_EQ((*call)->state(), stop.state());
        EXPECT_EQ(entered, 0);
    }
}

TEST(LaterLedger, AReadThatCannotBeRecordedIsRefusedBeforeItRuns) {
    for (const bool audit_allowed : {false, true}) {
        RuntimeOptions options;
        options.audit_allowed = audit_allowed;
        TestRuntime node(options, nullptr, nullptr, Answers::soon);
        std::atomic<int> entered{0};
        ASSERT_TRUE(node->tools().add(counting_tool("look", entered).read_only()));
        node.later->refuse_records(Error(ErrorCode::ledger_unavailable, "The disk is full."));
        const Outcome refused = node->call("look");
        EXPECT_EQ(refused.error()->code, ErrorCode::ledger_unavailable);
        EXPECT_EQ(refused.error()->message, "The disk is full.");
        EXPECT_TRUE(refused.safe_new_key());
        EXPECT_EQ(entered, 0);
        EXPECT_THAT(node.recorder->audit_types(), IsEmpty()) << "nothing of this is on the record";
        node.later->refuse_records(std::nullopt);
        EXPECT_TRUE(node->call("look").ok());
    }
}

TEST(LaterLedger, AnEventThatIsWrittenWithTheNextBatchIsToldWithoutANumber) {
    TestRuntime node({}, nullptr, nullptr, Answers::soon);
    std::atomic<int> entered{0};
    ASSERT_TRUE(node->tools().add(counting_tool("look", entered).read_only()));
    node.later->batch_records(true);
    EXPECT_TRUE(node->call("look").ok());
    ASSERT_EQ(node.recorder->audit().size(), 1u);
    EXPECT_EQ(node.recorder->audit()[0].sequence, 0u);
    EXPECT_EQ(node.recorder->audit()[0].type, "tool_call.succeeded");
}

TEST(LaterLedger, ALateAnswerIsToldWhenItIsOnTheRecord) {
    HeldSlow node;
    node.timers->advance(31s);
    node.answer("settle");
    ASSERT_TRUE(*node.call);
    EXPECT_EQ((*node.call)->state(), State::unknown);
    node.body->take()->finish(ToolResult(Value("after all")));
    EXPECT_THAT(node.recorder->audit_types(), Not(Contains("tool_call.resolved")));
    node.answer("settle");
    EXPECT_EQ(node.recorder->audit().back().type, "tool_call.resolved");
    EXPECT_EQ(node.recorder->audit().back().sequence, 3u);
}

TEST(LaterLedger, TheEndOfACallThatWasTakenOverIsToldWhenItIsOnTheRecord) {
    Held node;
    auto [send, body] = deferred("send");
    ASSERT_TRUE(node->tools().add(send.effect(EffectClass::keyed)));
    const Ended call = node.begin("send", with_key("k"));
    node.answer("peek");
    node.answer("claim");
    node.ledger->owner_gone(node->core()->owner);
    TestRuntime second({}, node.ledger, node.clock, std::nullopt);
    (void)second->call("nobody");
    (void)second->call("nobody");
    ASSERT_TRUE(second->tools().add(send));
    const auto heir = second.start("send", {}, with_key("k"));
    body->take()->finish(ToolResult(Value(1)));
    node.answer("settle");
    EXPECT_FALSE(*call);
    EXPECT_THAT(node.recorder->audit_types(), ElementsAre("tool_call.attempted"));
    node.answer("record");
    ASSERT_TRUE(*call);
    EXPECT_EQ((*call)->error()->details.at("reason"), "taken_over");
    EXPECT_THAT(node.recorder->audit_types(), ElementsAre("tool_call.attempted", "tool_call.unknown"));
}

// The end of the runtime

TEST(LaterLedger, TheRuntimeWaitsForWhatTheLedgerHasNotAnswered) {
    HeldAct node;
    const Ended call = node.begin("act", with_key("k"));
    node.answer("peek");
    node.later->wait_until_open(1);
    const std::weak_ptr<Runtime::Core> core = node->core();
    auto gone = std::async(std::launch::async, [&] { node.runtime.reset(); });
    while (!core.lock()->closing()) std::this_thread::yield();
    EXPECT_FALSE(*call);
    node.later->answer_one();
    node.later->wait_until_open(1);
    EXPECT_NE(gone.wait_for(0s), std::future_status::ready);
    node.later->answer_one();
    gone.wait();
    ASSERT_TRUE(*call);
    EXPECT_EQ((*call)->state(), State::cancelled);
    EXPECT_TRUE((*call)->safe_new_key());
    EXPECT_EQ(node.entered, 0);
    EXPECT_TRUE(core.expired());
    EXPECT_TRUE(must(node.ledger->list({})).empty());
}

TEST(LaterLedger, WhatRunsWhenTheRuntimeEndsIsCalledOffAndOnTheRecord) {
    HeldSlow node;
    const auto attempt = node.body->take();
    auto gone = std::async(std::launch::async, [&] { node.runtime.reset(); });
    node.later->wait_until_open(1);
    EXPECT_NE(gone.wait_for(0s), std::future_status::ready);
    node.later->answer_one();
    gone.wait();
    ASSERT_TRUE(*node.call);
    EXPECT_EQ((*node.call)->state(), State::unknown);
    EXPECT_EQ(must(node.ledger->list(ledger::CallState::unknown)).size(), 1u);
}

TEST(LaterLedger, AToolMayEndTheRuntimeItRunsIn) {
    for (const bool inlined : {true, false}) {
        for (const bool waits : {true, false}) {
            auto node = std::make_unique<TestRuntime>(RuntimeOptions(), nullptr, nullptr, Answers::soon);
            Tool end = plain_tool("end", [&](const Object&, CallContext&) -> ToolReturn {
                node->runtime.reset();
                return ToolResult(Value(1));
            });
            if (inlined) end.run_inline();
            ASSERT_TRUE((*node)->tools().add(end));
            Runtime* const runtime = node->runtime.get();
            std::promise<Outcome> told;
            if (waits) {
                told.set_value(runtime->call("end"));
            } else {
                runtime->start(CallRequest("end"), {}, [&](Outcome outcome) { told.set_value(outcome); });
            }
            const Outcome outcome = told.get_future().get();
            EXPECT_TRUE(outcome.ok() || outcome.error()->code == ErrorCode::cancelled)
                << outcome.error()->message << " inlined " << inlined << " waits " << waits;
        }
    }
}

TEST(LaterLedger, WhatIsAskedAfterTheRuntimeHasGoneIsWaitedForEachTime) {
    TestRuntime node({}, nullptr, nullptr, Answers::soon);
    Tool end = plain_tool("end", [&](const Object&, CallContext&) -> ToolReturn {
        node.runtime.reset();
        return tl::unexpected(ToolFailure::unreachable("no route"));  // one attempt is given back, then all
    });
    ASSERT_TRUE(node->tools().add(end.retries(RetryPolicy(1)).run_inline()));
    std::promise<Outcome> told;
    node->start(CallRequest("end"), {}, [&](Outcome outcome) { told.set_value(outcome); });
    EXPECT_EQ(told.get_future().get().error()->message, "no route");
    EXPECT_TRUE(must(node.ledger->list({})).empty());
}

TEST(LaterLedger, AnAnswerThatComesAfterTheRuntimeHasGoneIsStillRecorded) {
    TestRuntime node({}, nullptr, nullptr, Answers::soon);
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto call = node.start("slow", {}, with_key("k"));
    auto attempt = body->take();
    node.runtime.reset();
    ASSERT_TRUE(*call);
    EXPECT_EQ((*call)->state(), State::unknown);
    attempt->finish(ToolResult(Value("after all")));
    EXPECT_EQ(must(node.ledger->list(ledger::CallState::succeeded)).size(), 1u);
    EXPECT_EQ(node.recorder->audit().back().type, "tool_call.resolved");
    attempt = nullptr;
    EXPECT_EQ(node.later.use_count(), 1) << "nothing of the runtime is left";
}

}  // namespace
}  // namespace callgate::pipeline
