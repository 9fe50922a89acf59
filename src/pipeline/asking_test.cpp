// A tool asks its caller: every moment of a suspended call.
#include <future>
#include <mutex>

#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using Kind = InputRequest::Kind;

/// A caller that answers when the test says so.
class Caller final : public InputChannel {
public:
    InputAbilities abilities() const override { return able; }
    void ask(std::shared_ptr<PendingInput> question) override {
        std::function<void(PendingInput&)> at_once;
        {
            const std::lock_guard lock(mutex_);
            if (!answers_at_once) open_.push_back(question);
            at_once = answers_at_once;
        }
        if (at_once) at_once(*question);
    }
    /// The oldest that is open.
    std::shared_ptr<PendingInput> take() {
        const std::lock_guard lock(mutex_);
        if (open_.empty()) return nullptr;
        auto first = open_.front();
        open_.erase(open_.begin());
        return first;
    }
    std::size_t open() const {
        const std::lock_guard lock(mutex_);
        return open_.size();
    }

    InputAbilities able{true, true, true, true};
    std::function<void(PendingInput&)> answers_at_once;

private:
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<PendingInput>> open_;
};

Value form_of_name() {
    return Object{{"type", "object"},
                  {"properties", Object{{"name", Object{{"type", "string"}}}}},
                  {"required", Array{"name"}}};
}

InputRequest who() {
    return InputRequest::form("Who are you?", form_of_name());
}

std::string reason_in(const Error& error) {
    const Value* reason = error.details.if_contains("reason");
    return reason == nullptr ? "" : std::string(reason->as_string());
}

struct Asking : testing::Test {
    RuntimeOptions options;
    std::shared_ptr<Caller> caller = std::make_shared<Caller>();
    std::unique_ptr<TestRuntime> made;
    std::shared_ptr<DeferredBody> body = std::make_shared<DeferredBody>();
    std::vector<Result<InputAnswer>> answers;

    TestRuntime& node() {
        if (!made) {
            made = std::make_unique<TestRuntime>(options);
            (*made)->tools().add_or_throw(deferred("pay", body).timeout(10s));
        }
        return *made;
    }
    Context context(std::string key = {}) const {
        Context with;
        with.principal = "ada";
        with.idempotency_key = std::move(key);
        with.input = caller;
        return with;
    }
    void ask(CallContext& from, InputRequest request = who()) {
        from.ask(std::move(request),
                 [this](Result<InputAnswer> answer) { answers.push_back(std::move(answer)); });
    }
    std::string asked_reason() {
        return answers.empty() || answers.back() ? "none" : reason_in(answers.back().error());
    }
};

TEST_F(Asking, AnAnswerComesBackAndTheCallGoesOnAsOne) {
    const Ended ended = node().start("pay", {}, context("k"));
    const auto attempt = body->take();
    EXPECT_TRUE(attempt->context().can_ask(Kind::form));
    ask(attempt->context());
    const auto question = caller->take();
    ASSERT_TRUE(question);
    EXPECT_EQ(question->request().message, "Who are you?");
    EXPECT_EQ(question->request().content, form_of_name());
    EXPECT_EQ(question->round(), 1u);
    EXPECT_EQ(question->call_id(), attempt->context().call_id());
    EXPECT_TRUE(answers.empty());
    ASSERT_TRUE(question->answer(InputAnswer::accept(Object{{"name", "Ada"}})));
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_TRUE((*answers[0]).accepted());
    EXPECT_EQ((*answers[0]).content.at("name").as_string(), "Ada");
    attempt->finish(ToolResult(Value("paid")));
    node().calm();
    EXPECT_EQ((*ended)->text(), "paid");
    EXPECT_EQ((*ended)->attempts(), 1u);
    EXPECT_EQ(body->entered(), 1);
}

TEST_F(Asking, DecliningAndGoingAwayAreAnswersWithoutContent) {
    const Ended ended = node().start("pay", {}, context());
    const auto attempt = body->take();
    ask(attempt->context());
    ASSERT_TRUE(caller->take()->answer(InputAnswer(InputAnswer::What::decline, "secretly this")));
    EXPECT_EQ((*answers.back()).what, InputAnswer::What::decline);
    EXPECT_TRUE((*answers.back()).content.is_null());
    ask(attempt->context());
    ASSERT_TRUE(caller->take()->answer(InputAnswer(InputAnswer::What::cancel)));
    EXPECT_EQ((*answers.back()).what, InputAnswer::What::cancel);
    attempt->finish(ToolResult(Value(1)));
}

TEST_F(Asking, AnAnswerThatDoesNotFitLeavesTheQuestionOpen) {
    options.max_input_bytes = 1'000;
    const Ended ended = node().start("pay", {}, context());
    const auto attempt = body->take();
    ask(attempt->context());
    const auto question = caller->take();
    for (const Value& wrong : {Value("Ada"), Value(Object{}), Value(Object{{"name", 7}})}) {
        const auto refused = question->answer(InputAnswer::accept(wrong));
        ASSERT_FALSE(refused);
        EXPECT_EQ(reason_in(refused.error()), "answer_does_not_fit");
    }
    const auto large = question->answer(InputAnswer::accept(Object{{"name", std::string(2'000, 'a')}}));
    EXPECT_EQ(reason_in(large.error()), "answer_too_large");
    EXPECT_TRUE(answers.empty());
    EXPECT_TRUE(question->answer(InputAnswer::accept(Object{{"name", "Ada"}})));
    EXPECT_EQ(answers.size(), 1u);
    attempt->finish(ToolResult(Value(1)));
}

TEST_F(Asking, ASecondAnswerIsRefused) {
    const Ended ended = node().start("pay", {}, context());
    const auto attempt = body->take();
    ask(attempt->context());
    const auto question = caller->take();
    ASSERT_TRUE(question->answer(InputAnswer::decline()));
    EXPECT_EQ(reason_in(question->answer(InputAnswer::decline()).error()), "already_answered");
    EXPECT_EQ(reason_in(question->fail(Error()).error()), "already_answered");
    EXPECT_EQ(answers.size(), 1u);
    attempt->finish(ToolResult(Value(1)));
}

TEST_F(Asking, TheDeadlineStandsStillWhileAQuestionIsOpen) {
    const Ended ended = node().start("pay", {}, context());
    const auto attempt = body->take();
    node().advance(4s);
    ask(attempt->context());
    EXPECT_EQ(attempt->context().time_left(), 6s);
    node().advance(200s);
    EXPECT_EQ(attempt->context().time_left(), 6s);
    EXPECT_FALSE(*ended);
    ASSERT_TRUE(caller->take()->answer(InputAnswer::decline()));
    node().advance(5s);
    EXPECT_FALSE(*ended) << "5 of its 6 seconds are over";
    EXPECT_EQ(attempt->context().time_left(), 1s);
    ask(attempt->context());
    node().advance(100s);
    ASSERT_TRUE(caller->take()->answer(InputAnswer::decline()));
    EXPECT_FALSE(*ended);
    node().advance(1s);
    ASSERT_TRUE(*ended) << "and it ends when it has had its ten seconds";
    EXPECT_EQ((*ended)->state(), State::unknown);
    EXPECT_EQ((*ended)->error()->code, ErrorCode::timed_out);
}

TEST_F(Asking, TheTimeOfTheCallsThatItIsMadeFromStandsStillToo) {
    auto outer = std::make_shared<DeferredBody>();
    node()->tools().add_or_throw(deferred("outer", outer).timeout(5s));
    const Ended ended = node().start("outer", {}, context());
    const auto attempt = outer->take();
    std::optional<Outcome> inner;
    attempt->context().start("pay", {}, [&](Outcome outcome) { inner = std::move(outcome); });
    node().calm();
    const auto nested = body->take();
    EXPECT_TRUE(nested->context().can_ask(Kind::form));
    ask(nested->context());
    node().advance(100s);
    EXPECT_FALSE(*ended);
    EXPECT_FALSE(inner);
    ASSERT_TRUE(caller->take()->answer(InputAnswer::decline()));
    nested->finish(ToolResult(Value(1)));
    node().calm();
    EXPECT_TRUE(inner->ok());
    node().advance(4s);
    EXPECT_FALSE(*ended);
    node().advance(1s);
    ASSERT_TRUE(*ended);
    EXPECT_EQ((*ended)->error()->code, ErrorCode::timed_out);
}

// An inline tool runs where its caller does, and is nobody's to find; the calls above it are.
TEST_F(Asking, TheTimeAboveAnInlineToolStandsStillToo) {
    Runtime& runtime = *node().runtime;
    const auto passes_to = [this, &runtime](const char* name) {
        return [this, &runtime, name] { return runtime.call(name, {}, context()).text(); };
    };
    node()->tools().add_or_throw(tool("inside", "", passes_to("pay")).run_inline().timeout(5s));
    node()->tools().add_or_throw(tool("between", "", passes_to("inside")).run_inline().timeout(5s));
    node()->tools().add_or_throw(tool("outer", "", passes_to("between")).timeout(5s));
    std::promise<Outcome> ended;
    node()->start(CallRequest("outer"), context(),
                  [&](Outcome outcome) { ended.set_value(std::move(outcome)); });
    while (body->waiting() == 0) std::this_thread::yield();
    const auto attempt = body->take();
    ask(attempt->context());
    node().advance(100s);
    EXPECT_EQ(node()->running().size(), 4u);
    ASSERT_TRUE(caller->take()->answer(InputAnswer::decline()));
    attempt->finish(ToolResult(Value("paid")));
    const Outcome outcome = ended.get_future().get();
    EXPECT_EQ(outcome.text(), "paid") << to_string(outcome.state());
}

TEST_F(Asking, AQuestionHasItsOwnTime) {
    const Ended ended = node().start("pay", {}, context());
    const auto attempt = body->take();
    ask(attempt->context());
    const auto question = caller->take();
    bool withdrawn = false;
    question->on_withdrawn([&] { withdrawn = true; });
    node().advance(299s);
    EXPECT_TRUE(answers.empty());
    node().advance(1s);
    EXPECT_EQ(asked_reason(), "unanswered");
    EXPECT_EQ(answers.back().error().code, ErrorCode::timed_out);
    EXPECT_TRUE(withdrawn);
    EXPECT_EQ(reason_in(question->answer(InputAnswer::decline()).error()), "withdrawn");
    EXPECT_FALSE(*ended) << "the tool decides what follows";
    InputRequest hurried = who();
    hurried.timeout = 2s;
    ask(attempt->context(), hurried);
    const auto second = caller->take();
    node().advance(2s);
    EXPECT_EQ(asked_reason(), "unanswered");
    EXPECT_EQ(answers.size(), 2u);
    attempt->finish(ToolResult(Value(1)));
}

TEST_F(Asking, ACancelWithdrawsTheQuestion) {
    std::stop_source stop;
    Context with = context();
    with.cancel = stop.get_token();
    const Ended ended = node().start("pay", {}, with);
    const auto attempt = body->take();
    ask(attempt->context());
    const auto question = caller->take();
    bool withdrawn = false;
    question->on_withdrawn([&] { withdrawn = true; });
    stop.request_stop();
    node().calm();
    ASSERT_TRUE(*ended);
    EXPECT_EQ((*ended)->state(), State::unknown);
    EXPECT_EQ(asked_reason(), "call_ended");
    EXPECT_TRUE(withdrawn);
    EXPECT_EQ(reason_in(question->answer(InputAnswer::decline()).error()), "withdrawn");
    ask(attempt->context());
    EXPECT_EQ(asked_reason(), "call_ended") << "it can ask no more";
    EXPECT_FALSE(attempt->context().can_ask(Kind::form));
    EXPECT_EQ(node()->stats().suspended_now, 0u);
}

TEST_F(Asking, AToolWithGraceHearsThatItsQuestionIsWithdrawn) {
    std::stop_source stop;
    Context with = context();
    with.cancel = stop.get_token();
    with.cancel_grace = 2s;
    const Ended ended = node().start("pay", {}, with);
    const auto attempt = body->take();
    ask(attempt->context());
    const auto question = caller->take();
    stop.request_stop();
    node().calm();
    EXPECT_EQ(asked_reason(), "call_ended");
    EXPECT_FALSE(*ended);
    answers.clear();
    EXPECT_FALSE(attempt->context().can_ask(Kind::form));
    ask(attempt->context());
    EXPECT_EQ(asked_reason(), "call_ended") << "nobody is asked any more";
    EXPECT_EQ(caller->open(), 0u);
    attempt->finish(tl::unexpected(ToolFailure::not_applied("not done")));
    node().calm();
    EXPECT_EQ((*ended)->state(), State::cancelled);
}

TEST_F(Asking, TheEndOfTheCallWithdrawsTheQuestion) {
    const Ended ended = node().start("pay", {}, context());
    const auto attempt = body->take();
    ask(attempt->context());
    const auto question = caller->take();
    attempt->finish(ToolResult(Value("without an answer")));
    node().calm();
    EXPECT_TRUE((*ended)->ok());
    EXPECT_EQ(asked_reason(), "call_ended");
    EXPECT_EQ(reason_in(question->answer(InputAnswer::decline()).error()), "withdrawn");
}

TEST_F(Asking, TheEndOfTheRuntimeWithdrawsTheQuestion) {
    std::promise<State> state;
    node()->start(CallRequest("pay"), context(),
                  [&](const Outcome& outcome) { state.set_value(outcome.state()); });
    auto attempt = body->take();
    ask(attempt->context());
    const auto question = caller->take();
    made->runtime.reset();
    EXPECT_EQ(state.get_future().get(), State::unknown);
    EXPECT_EQ(asked_reason(), "call_ended");
    EXPECT_EQ(reason_in(question->answer(InputAnswer::decline()).error()), "withdrawn");
    attempt.reset();
    made.reset();
}

TEST_F(Asking, ASuspendedCallThatItsProgramLeftIsUnknown) {
    const auto clock = std::make_shared<base::ManualClock>();
    const auto ledger = std::make_shared<ledger::MemoryLedger>(*clock);
    TestRuntime first({}, ledger, clock);
    const TestRuntime second({}, ledger, clock);
    first->tools().add_or_throw(deferred("pay", body));
    second->tools().add_or_throw(tool("pay", "", [] { return "again"; }));
    const Ended ended = first.start("pay", {}, context("k"));
    const auto attempt = body->take();
    const std::string id = attempt->context().call_id();
    ask(attempt->context());
    ledger->owner_gone(first->core()->owner);
    EXPECT_EQ(must(second->outcome(id, context())).outcome->state(), State::unknown);
    EXPECT_EQ(second->call("pay", {}, context("k")).state(), State::unknown) << "and nothing is sent again";
    attempt->finish(ToolResult(Value(1)));
    first.calm();
}

TEST_F(Asking, ACallerThatLetsTheQuestionGoHasFailedIt) {
    const Ended ended = node().start("pay", {}, context());
    const auto attempt = body->take();
    ask(attempt->context());
    caller->take().reset();
    node().calm();
    EXPECT_EQ(asked_reason(), "caller_gone");
    EXPECT_EQ(node()->stats().suspended_now, 0u);
    attempt->finish(ToolResult(Value(1)));
}

TEST_F(Asking, ACallersFailureReachesTheTool) {
    const Ended ended = node().start("pay", {}, context());
    const auto attempt = body->take();
    ask(attempt->context());
    ASSERT_TRUE(caller->take()->fail(Error(ErrorCode::transport, "The connection was lost.")));
    EXPECT_EQ(answers.back().error().code, ErrorCode::transport);
    attempt->finish(ToolResult(Value(1)));
}

TEST_F(Asking, OnlyWhatACallerCanDoIsAskedFor) {
    caller->able = {true, false, false, false};
    const Ended ended = node().start("pay", {}, context());
    const auto attempt = body->take();
    EXPECT_TRUE(attempt->context().can_ask(Kind::form));
    EXPECT_FALSE(attempt->context().can_ask(Kind::sampling));
    for (const InputRequest& request : {InputRequest::open_url("Sign in", "https://example.com"),
                                        InputRequest::sampling(Object{}), InputRequest::roots()}) {
        ask(attempt->context(), request);
        EXPECT_EQ(asked_reason(), "cannot_ask");
    }
    EXPECT_EQ(caller->open(), 0u);
    attempt->finish(ToolResult(Value(1)));

    const Ended alone = node().start("pay");
    const auto other = body->take();
    EXPECT_FALSE(other->context().can_ask(Kind::form));
    ask(other->context());
    EXPECT_EQ(asked_reason(), "cannot_ask");
    other->finish(ToolResult(Value(1)));
}

TEST_F(Asking, WhatCannotBeAskedIsSaid) {
    options.max_input_bytes = 1'000;
    const Ended ended = node().start("pay", {}, context());
    const auto attempt = body->take();
    ask(attempt->context(), InputRequest::form(std::string(1'001, 'a'), form_of_name()));
    EXPECT_EQ(asked_reason(), "question_too_large");
    ask(attempt->context(), InputRequest::form("?", Object{{"title", std::string(1'001, 'a')}}));
    EXPECT_EQ(asked_reason(), "question_too_large");
    for (const std::size_t bytes : {160u, 170u}) {  // six for each in JSON
        ask(attempt->context(), InputRequest::form(std::string(bytes, '\x01'), form_of_name()));
        EXPECT_EQ(answers.size() == 3, bytes == 170) << asked_reason();
    }
    EXPECT_EQ(asked_reason(), "question_too_large");
    const auto question = caller->take();
    const auto answer = question->answer(InputAnswer::accept(Object{{"name", std::string(170, '\x01')}}));
    EXPECT_EQ(reason_in(answer.error()), "answer_too_large");
    ASSERT_TRUE(question->answer(InputAnswer::decline()));
    const std::vector<std::pair<std::string, Value>> faults = {
        {"not_a_schema", Object{{"type", "nonsense"}}},
        {"not_a_schema", nullptr},
        {"remote_ref", Object{{"$ref", "https://example.org/x.json"}}},
        {"cyclic_ref", Object{{"$ref", "#"}}},
    };
    for (const auto& [reason, schema] : faults) {
        ask(attempt->context(), InputRequest::form("?", schema));
        EXPECT_EQ(asked_reason(), reason);
        EXPECT_EQ(answers.back().error().code, ErrorCode::invalid_arguments);
    }
    ask(attempt->context(), InputRequest::open_url("Sign in", ""));
    EXPECT_EQ(asked_reason(), "no_url");
    EXPECT_EQ(caller->open(), 0u);
    EXPECT_EQ(node()->stats().counters.at("dispatch.not_asked"), 8u);
    attempt->finish(ToolResult(Value(1)));
}

TEST_F(Asking, ACallHasSoManyRoundsAndARuntimeSoManySuspendedCalls) {
    options.max_input_rounds = 2;
    options.max_suspended_calls = 1;
    const Ended first = node().start("pay", {}, context());
    const Ended second = node().start("pay", {}, context());
    const auto one = body->take();
    const auto other = body->take();
    ask(one->context());
    EXPECT_EQ(node()->stats().suspended_now, 1u);
    ask(other->context());
    EXPECT_EQ(asked_reason(), "too_many_suspended");
    ask(one->context());
    EXPECT_EQ(caller->open(), 2u) << "it is suspended already";
    ASSERT_TRUE(caller->take()->answer(InputAnswer::decline()));
    EXPECT_EQ(node()->stats().suspended_now, 1u);
    ASSERT_TRUE(caller->take()->answer(InputAnswer::decline()));
    EXPECT_EQ(node()->stats().suspended_now, 0u);
    ask(one->context());
    EXPECT_EQ(asked_reason(), "too_many_rounds");
    ask(other->context());
    EXPECT_EQ(caller->open(), 1u);
    EXPECT_TRUE(caller->take()->answer(InputAnswer::decline()));
    one->finish(ToolResult(Value(1)));
    other->finish(ToolResult(Value(1)));
}

TEST_F(Asking, ASuspendedCallIsListedAndFoundAsOne) {
    const Ended ended = node().start("pay", {}, context("k"));
    const auto attempt = body->take();
    const std::string id = attempt->context().call_id();
    EXPECT_FALSE(node()->running().at(0).suspended);
    ask(attempt->context());
    EXPECT_TRUE(node()->running().at(0).suspended);
    EXPECT_EQ(must(node()->outcome(id, context())).is, CallStatus::Is::suspended);
    ASSERT_TRUE(caller->take()->answer(InputAnswer::decline()));
    EXPECT_FALSE(node()->running().at(0).suspended);
    EXPECT_EQ(must(node()->outcome(id, context())).is, CallStatus::Is::running);
    attempt->finish(ToolResult(Value(1)));
}

TEST_F(Asking, TheRecordSaysWhenAndNotWhat) {
    const Ended ended = node().start("pay", {}, context("k"));
    const auto attempt = body->take();
    ask(attempt->context(), InputRequest::form("What is your PIN, Ada?", form_of_name()));
    ASSERT_TRUE(caller->take()->answer(InputAnswer::accept(Object{{"name", "4711"}})));
    attempt->finish(ToolResult(Value(1)));
    node().calm();
    std::vector<std::string> types;
    for (const AuditEvent& event : must(node()->audit())) {
        types.emplace_back(event.type);
        EXPECT_EQ(event.detail.find("PIN"), std::string::npos);
        EXPECT_EQ(event.detail.find("4711"), std::string::npos);
    }
    EXPECT_EQ(types, (std::vector<std::string>{"tool_call.attempted", "tool_call.suspended",
                                               "tool_call.continued", "tool_call.succeeded"}));
    EXPECT_EQ(node().recorder->audit_types(), types);
}

TEST_F(Asking, AThreadMayWaitForTheAnswer) {
    node()->tools().add_or_throw(tool("greet", "", [](CallContext& from) {
        const Result<InputAnswer> answer = from.ask(who());
        return answer ? "Hello " + std::string((*answer).content.at("name").as_string())
                      : answer.error().message;
    }));
    caller->answers_at_once = [](PendingInput& question) {
        EXPECT_TRUE(question.answer(InputAnswer::accept(Object{{"name", "Ada"}})));
    };
    EXPECT_EQ(node()->call("greet", {}, context()).text(), "Hello Ada");
    caller->answers_at_once = nullptr;
    std::promise<Outcome> ended;
    node()->start(CallRequest("greet"), context(),
                  [&](Outcome outcome) { ended.set_value(std::move(outcome)); });
    while (caller->open() == 0) std::this_thread::yield();
    ASSERT_TRUE(caller->take()->answer(InputAnswer::accept(Object{{"name", "Bob"}})));
    EXPECT_EQ(ended.get_future().get().text(), "Hello Bob");
}

TEST_F(Asking, OpenQuestionsLeaveThreadsForOthers) {
    options.max_input_threads = 1;
    node()->tools().add_or_throw(tool("greet", "", [](CallContext& from) {
        const Result<InputAnswer> answer = from.ask(who());
        return answer ? "answered" : reason_in(answer.error());
    }));
    std::promise<Outcome> ended;
    node()->start(CallRequest("greet"), context(),
                  [&](Outcome outcome) { ended.set_value(std::move(outcome)); });
    while (caller->open() == 0) std::this_thread::yield();
    EXPECT_EQ(node()->call("greet", {}, context()).text(), "too_many_waiting");
    ASSERT_TRUE(caller->take()->answer(InputAnswer::accept(Object{{"name", "Bob"}})));
    EXPECT_EQ(ended.get_future().get().text(), "answered");
    caller->answers_at_once = [](PendingInput& question) {
        EXPECT_TRUE(question.answer(InputAnswer::accept(Object{{"name", "Ada"}})));
    };
    EXPECT_EQ(node()->call("greet", {}, context()).text(), "answered");
}

TEST_F(Asking, AnInlineToolMayAskToo) {
    node()->tools().add_or_throw(tool("greet", "", [](CallContext& from) {
                                     const Result<InputAnswer> answer = from.ask(who());
                                     return answer ? "answered" : answer.error().message;
                                 }).run_inline());
    caller->answers_at_once = [](PendingInput& question) {
        EXPECT_TRUE(question.answer(InputAnswer::accept(Object{{"name", "Ada"}})));
    };
    EXPECT_EQ(node()->call("greet", {}, context()).text(), "answered");
    EXPECT_EQ(node()->call("greet").text(), "The caller cannot be asked for this (form).");
}

}  // namespace
}  // namespace callgate::pipeline
