// Calls that a host begins and does not wait for: ids, what is reported and where, how they are listed, found
// and called off.
#include <deque>
#include <functional>
#include <future>
#include <mutex>

#include <gtest/gtest.h>

#include "base/ids.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

/// A host's own loop: work is run when the test says so.
class Loop {
public:
    Executor executor() {
        return [this](std::function<void()> work) {
            const std::lock_guard lock(mutex_);
            work_.push_back(std::move(work));
        };
    }
    std::size_t run() {
        std::size_t done = 0;
        for (;; ++done) {
            std::function<void()> work;
            {
                const std::lock_guard lock(mutex_);
                if (work_.empty()) return done;
                work = std::move(work_.front());
                work_.pop_front();
            }
            work();
        }
    }
    std::size_t waiting() const {
        const std::lock_guard lock(mutex_);
        return work_.size();
    }

private:
    mutable std::mutex mutex_;
    std::deque<std::function<void()>> work_;
};

/// What was reported of one call, in order.
struct Reported {
    std::vector<std::string> order;
    std::string recorded_id;
    std::optional<Outcome> outcome;

    Completion completion(Executor executor = {}) {
        Completion all([this](Outcome ended) {
            order.emplace_back("done");
            outcome = std::move(ended);
        });
        all.recorded = [this](std::string_view id) {
            order.emplace_back("recorded");
            recorded_id = id;
        };
        all.executor = std::move(executor);
        return all;
    }
};

Tool inline_write(std::string name = "write") {
    return tool(std::move(name), "", [] { return 1; }).risk(Risk::low).run_inline();
}
Tool inline_read(std::string name = "read") {
    return tool(std::move(name), "", [] { return 1; }).read_only().run_inline();
}

TEST_WITH_EITHER_LEDGER(BegunCalls, StartReturnsTheIdThatItsOutcomeHas) {
    TestRuntime node;
    node->tools().add_or_throw(inline_write());
    Reported reported;
    const std::string id = node->start(CallRequest("write"), {}, reported.completion());
    node.calm();
    ASSERT_TRUE(reported.outcome);
    EXPECT_EQ(reported.outcome->call_id(), id);
    EXPECT_EQ(reported.recorded_id, id);
    EXPECT_EQ(reported.order, (std::vector<std::string>{"recorded", "done"}));
}

TEST(BegunCalls, TheRecordIsReportedBeforeTheToolBegins) {
    TestRuntime node({}, nullptr, nullptr, Answers::when_told);
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.risk(Risk::low));
    Reported reported;
    node->start(CallRequest("slow"), with_key("k"), reported.completion());
    node.answer("peek");
    EXPECT_TRUE(reported.order.empty()) << "nothing is on the record yet";
    node.answer("claim");
    while (node.runtime->core()->host.counts().busy != 0) std::this_thread::yield();
    EXPECT_EQ(body->entered(), 1);
    EXPECT_EQ(reported.order, (std::vector<std::string>{"recorded"}));
    node.later->answer_soon();
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    EXPECT_EQ(reported.order, (std::vector<std::string>{"recorded", "done"}));
}

TEST_WITH_EITHER_LEDGER(BegunCalls, AReadWithoutAKeyIsRecordedWithItsEnd) {
    TestRuntime node;
    node->tools().add_or_throw(inline_read());
    Reported reported;
    node->start(CallRequest("read"), {}, reported.completion());
    node.calm();
    EXPECT_EQ(reported.order, (std::vector<std::string>{"recorded", "done"}));
}

TEST_WITH_EITHER_LEDGER(BegunCalls, OnlyWhatIsOnTheRecordIsReportedSo) {
    TestRuntime node;
    node->tools().add_or_throw(inline_write());
    node->tools().add_or_throw(inline_read());
    node->tools().add_or_throw(inline_write("scoped").scopes({"top"}));
    node->tools().add_or_throw(inline_write("gated").risk(Risk::high));
    struct Case {
        const char* tool;
        const char* key;
        State state;
        bool recorded;
    };
    for (const Case& one :
         {Case{"write", "k", State::succeeded, true}, Case{"write", "k", State::replayed, false},
          Case{"read", "k", State::succeeded, true}, Case{"read", "k", State::replayed, false},
          Case{"nothing", "", State::not_found, false}, Case{"scoped", "", State::scope_denied, false},
          Case{"gated", "", State::needs_approval, true}}) {
        SCOPED_TRACE(std::string(one.tool) + " " + std::string(to_string(one.state)));
        Reported reported;
        node->start(CallRequest(one.tool), with_key(one.key), reported.completion());
        node.calm();
        EXPECT_EQ(reported.outcome->state(), one.state);
        EXPECT_EQ(reported.order.size(), one.recorded ? 2u : 1u);
    }
}

TEST_WITH_EITHER_LEDGER(BegunCalls, AnExecutorGetsEverythingInOrderAndNothingRunsWithoutIt) {
    TestRuntime node;
    node->tools().add_or_throw(inline_write());
    Loop loop;
    Reported reported;
    node->start(CallRequest("write"), {}, reported.completion(loop.executor()));
    node.calm();
    EXPECT_TRUE(reported.order.empty());
    EXPECT_EQ(loop.run(), 2u);
    EXPECT_EQ(reported.order, (std::vector<std::string>{"recorded", "done"}));
    EXPECT_TRUE(reported.outcome->ok());
}

TEST_WITH_EITHER_LEDGER(BegunCalls, ProgressComesBeforeTheEndOnAnExecutorToo) {
    TestRuntime node;
    node->tools().add_or_throw(tool("talk", "", [](CallContext& context) {
                                   context.progress("half", 1, 2);
                                   return 1;
                               }).read_only());
    Loop loop;
    std::vector<std::string> order;
    Context context;
    context.on_progress = [&](const Progress&) { loop.executor()([&] { order.emplace_back("progress"); }); };
    std::promise<void> handed;
    Completion completion([&](const Outcome&) { order.emplace_back("done"); });
    completion.executor = [&](std::function<void()> work) {
        loop.executor()(std::move(work));
        handed.set_value();
    };
    node->start(CallRequest("talk"), context, completion);
    handed.get_future().wait();
    loop.run();
    EXPECT_EQ(order, (std::vector<std::string>{"progress", "done"}));
}

TEST(BegunCalls, AnExecutorThatThrowsLosesNothing) {
    TestRuntime node;
    node->tools().add_or_throw(inline_write());
    Reported reported;
    node->start(CallRequest("write"), {},
                reported.completion([](const std::function<void()>&) { throw std::runtime_error("full"); }));
    node.calm();
    EXPECT_EQ(reported.order, (std::vector<std::string>{"recorded", "done"}));
    EXPECT_EQ(node->stats().observer_faults, 2u);
}

TEST(BegunCalls, AnExecutorThatKeepsTheWorkAndThrowsDoesItOnce) {
    TestRuntime node;
    node->tools().add_or_throw(inline_write());
    Loop loop;
    Reported reported;
    const auto keep = loop.executor();
    node->start(CallRequest("write"), {}, reported.completion([&](const std::function<void()>& work) {
        keep(work);
        throw std::runtime_error("full");
    }));
    node.calm();
    EXPECT_EQ(loop.run(), 2u);
    EXPECT_EQ(reported.order, (std::vector<std::string>{"recorded", "done"}));
}

TEST(BegunCalls, WhatAReportThrowsIsCountedOnAnExecutorToo) {
    TestRuntime node;
    node->tools().add_or_throw(inline_write());
    Loop loop;
    Completion completion([](const Outcome&) { throw 7; });
    completion.executor = loop.executor();
    node->start(CallRequest("write"), {}, completion);
    EXPECT_EQ(loop.run(), 1u);
    EXPECT_EQ(node->stats().observer_faults, 1u);
}

TEST(BegunCalls, WorkThatOutlivesTheRuntimeIsHarmless) {
    Loop loop;
    Reported reported;
    {
        TestRuntime node;
        node->tools().add_or_throw(inline_write());
        node->start(CallRequest("write"), {}, reported.completion(loop.executor()));
    }
    EXPECT_EQ(loop.run(), 2u);
    EXPECT_TRUE(reported.outcome->ok());
}

TEST_WITH_EITHER_LEDGER(BegunCalls, PreviewsHandedInToolsAndResumptionsAreBegunLikewise) {
    TestRuntime node;
    node->tools().add_or_throw(
        tool("pay", "", [] { return "paid"; })
            .risk(Risk::high)
            .run_inline()
            .preview([](const Object&, CallContext&) { return Preview("would pay"); }));
    Reported preview;
    node->start_preview(CallRequest("pay"), {}, preview.completion());
    node.calm();
    ASSERT_EQ(preview.outcome->state(), State::previewed);
    EXPECT_EQ(preview.outcome->preview()->summary, "would pay");

    Reported direct;
    const Tool own = tool("own", "", [] { return "mine"; }).read_only().run_inline();
    node->start_direct(own, CallRequest("whatever"), {}, direct.completion());
    node.calm();
    EXPECT_EQ(direct.outcome->text(), "mine");
    EXPECT_EQ(direct.outcome->tool(), "own");

    Context context;
    context.principal = "ada";
    Reported asked;
    const std::string id = node->start(CallRequest("pay"), context, asked.completion());
    node.calm();
    ASSERT_EQ(asked.outcome->state(), State::needs_approval);
    must(node->approvals().approve(asked.outcome->approval_id(), "bob"));
    Reported resumed;
    const std::string second = node->start_resume(id, context, resumed.completion());
    node.calm();
    EXPECT_NE(second, id);
    EXPECT_EQ(resumed.outcome->text(), "paid");
    Reported nothing;
    node->start_resume("", context, nothing.completion());
    node.calm();
    EXPECT_EQ(reason_of(*nothing.outcome), "no_such_call");
}

TEST_WITH_EITHER_LEDGER(BegunCalls, ThoseThatWaitAreListedAndFoundByTheirId) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow);
    Context context;
    context.principal = "ada";
    context.tenant = "acme";
    context.session_id = "s-1";
    Reported reported;
    const std::string id = node->start(CallRequest("slow"), context, reported.completion());
    node.calm();
    const std::vector<RunningCall> running = node->running();
    ASSERT_EQ(running.size(), 1u);
    EXPECT_EQ(running[0].call_id, id);
    EXPECT_EQ(running[0].parent_call_id, "");
    EXPECT_EQ(running[0].tool, "slow");
    EXPECT_EQ(running[0].action, "call");
    EXPECT_EQ(running[0].tenant, "acme");
    EXPECT_EQ(running[0].principal, "ada");
    EXPECT_EQ(running[0].session_id, "s-1");

    Context other = context;
    other.principal = "bob";
    EXPECT_FALSE(node->cancel(id, other)) << "it is not bob's";
    other = context;
    other.tenant = "umbrella";
    EXPECT_FALSE(node->cancel(id, other));
    EXPECT_FALSE(node->cancel("no id at all"));
    EXPECT_FALSE(node->cancel(base::Uuid{}.to_string()));
    EXPECT_FALSE(reported.outcome);
    EXPECT_TRUE(node->cancel(id, context));
    node.calm();
    ASSERT_TRUE(reported.outcome);
    EXPECT_EQ(reported.outcome->error()->code, ErrorCode::cancelled);
    EXPECT_TRUE(node->running().empty());
    EXPECT_FALSE(node->cancel(id)) << "it is over";
}

TEST(BegunCalls, AResumedCallIsListedAsWhatItResumes) {
    TestRuntime node({}, nullptr, nullptr, Answers::soon);
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.risk(Risk::high));
    Context context;
    context.principal = "ada";
    Reported asked;
    const std::string id = node->start(CallRequest("slow"), context, asked.completion());
    node.calm();
    must(node->approvals().approve(asked.outcome->approval_id(), "bob"));
    Reported resumed;
    node->start_resume(id, context, resumed.completion());
    node.calm();
    ASSERT_EQ(node->running().size(), 1u);
    EXPECT_EQ(node->running()[0].tool, "slow");
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    EXPECT_TRUE(resumed.outcome->ok());
}

// Calls of a batch.

TEST_WITH_EITHER_LEDGER(BegunBatches, OutcomesComeInTheOrderOfTheCallsWhenTheLastHasEnded) {
    RuntimeOptions options;
    options.batch_concurrency = 2;
    TestRuntime node(options);
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.open_arguments());
    std::optional<std::vector<Outcome>> outcomes;
    node->start_batch({{"slow", {{"n", 0}}}, {"slow", {{"n", 1}}}, {"nobody"}, {"slow", {{"n", 2}}}},
                      with_key("k"), [&](std::vector<Outcome> all) { outcomes = std::move(all); });
    node.calm();
    EXPECT_EQ(body->entered(), 2) << "not more than may run at once";
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(outcomes);
        const auto attempt = body->take();
        attempt->finish(ToolResult(attempt->arguments().at("n")));
        node.calm();
    }
    ASSERT_TRUE(outcomes);
    ASSERT_EQ(outcomes->size(), 4u);
    EXPECT_EQ((*outcomes)[0].text(), "0");
    EXPECT_EQ((*outcomes)[1].text(), "1");
    EXPECT_EQ((*outcomes)[2].state(), State::not_found);
    EXPECT_EQ((*outcomes)[3].text(), "2");
}

TEST_WITH_EITHER_LEDGER(BegunBatches, ManyCallsThatEndAtOnceDoNotNest) {
    RuntimeOptions options;
    options.max_batch = 20'000;
    TestRuntime node(options);
    node->tools().add_or_throw(inline_read());
    std::optional<std::vector<Outcome>> outcomes;
    node->start_batch(std::vector<CallRequest>(20'000, CallRequest("read")), {},
                      [&](std::vector<Outcome> all) { outcomes = std::move(all); });
    while (node->stats().ended[static_cast<std::size_t>(State::succeeded)] < 20'000)
        std::this_thread::yield();
    node.calm();
    ASSERT_TRUE(outcomes);
    EXPECT_EQ(outcomes->size(), 20'000u);
}

TEST_WITH_EITHER_LEDGER(BegunBatches, NoCallsAndTooManyAreReportedToo) {
    TestRuntime node;
    std::optional<std::vector<Outcome>> none;
    node->start_batch({}, {}, [&](std::vector<Outcome> all) { none = std::move(all); });
    EXPECT_TRUE(none && none->empty());
    std::optional<std::vector<Outcome>> many;
    Loop loop;
    node->start_batch(
        std::vector<CallRequest>(129, CallRequest("read")), {},
        [&](std::vector<Outcome> all) { many = std::move(all); }, loop.executor());
    node.calm();
    EXPECT_FALSE(many);
    EXPECT_EQ(loop.run(), 1u);
    EXPECT_EQ(reason_of(many->at(128)), "batch_too_large");
}

TEST_WITH_EITHER_LEDGER(BegunBatches, OneSignalCallsAllOfThemOff) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.read_only());
    std::stop_source stop;
    std::optional<std::vector<Outcome>> outcomes;
    node->start_batch(
        {{"slow"}, {"slow"}}, {}, [&](std::vector<Outcome> all) { outcomes = std::move(all); }, {},
        stop.get_token());
    node.calm();
    stop.request_stop();
    node.calm();
    ASSERT_TRUE(outcomes);
    EXPECT_EQ((*outcomes)[0].state(), State::cancelled);
    EXPECT_EQ((*outcomes)[1].state(), State::cancelled);
}

TEST_WITH_EITHER_LEDGER(BegunBatches, CallsThatBeginLaterAreStillCallsOfTheBodyThatBeganThem) {
    RuntimeOptions options;
    options.batch_concurrency = 1;
    TestRuntime node(options);
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.read_only());
    std::optional<std::vector<Outcome>> outcomes;
    std::promise<void> release;
    auto released = release.get_future().share();
    Runtime& runtime = *node.runtime;
    node->tools().add_or_throw(tool("outer", "", [&runtime, &outcomes, released] {
                                   runtime.start_batch(
                                       {{"slow"}, {"slow"}}, {},
                                       [&](std::vector<Outcome> all) { outcomes = std::move(all); });
                                   released.wait();
                                   return 1;
                               }).read_only());
    Reported outer;
    std::promise<void> outer_ended;
    Completion completion = outer.completion();
    completion.done = [&, inner = completion.done](Outcome ended) {
        inner(std::move(ended));
        outer_ended.set_value();
    };
    const std::string id = node->start(CallRequest("outer"), {}, completion);
    while (body->waiting() == 0) std::this_thread::yield();
    body->take()->finish(ToolResult(Value(1)));
    while (body->waiting() == 0) std::this_thread::yield();
    for (const RunningCall& call : node->running()) {
        EXPECT_EQ(call.parent_call_id, call.tool == "slow" ? id : "");
    }
    release.set_value();
    outer_ended.get_future().wait();
    body->take()->finish(ToolResult(Value(2)));
    node.calm();
    ASSERT_TRUE(outcomes);
    EXPECT_TRUE((*outcomes)[1].ok());
}

TEST_WITH_EITHER_LEDGER(BegunBatches, NothingBeginsForABodyThatHasEnded) {
    RuntimeOptions options;
    options.batch_concurrency = 1;
    TestRuntime node(options);
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.read_only());
    std::optional<std::vector<Outcome>> outcomes;
    Runtime& runtime = *node.runtime;
    node->tools().add_or_throw(tool("outer", "",
                                    [&runtime, &outcomes] {
                                        runtime.start_batch(
                                            {{"slow"}, {"slow"}}, {},
                                            [&](std::vector<Outcome> all) { outcomes = std::move(all); });
                                        return 1;
                                    })
                                   .read_only()
                                   .run_inline());
    EXPECT_TRUE(node->call("outer").ok());
    node.calm();
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    ASSERT_TRUE(outcomes);
    EXPECT_EQ((*outcomes)[1].state(), State::cancelled);
    EXPECT_EQ(body->entered(), 1);
}

}  // namespace
}  // namespace callgate::pipeline
