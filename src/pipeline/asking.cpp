#include "pipeline/asking.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/thread_role.h"
#include "base/try.h"
#include "json/size.h"
#include "pipeline/afterwards.h"
#include "pipeline/inside.h"
#include "pipeline/projection.h"

namespace callgate::pipeline {
namespace {

void run_counted(Runtime::Core& core, const std::function<void()>& work) {
    const Inside no_body(nullptr, inside::lent);
    try {
        work();
    } catch (...) {
        core.counters.observer_faults.add();
    }
}

std::string_view word_of(InputAnswer::What what) {
    switch (what) {
        case InputAnswer::What::accept: return "accept";
        case InputAnswer::What::decline: return "decline";
        case InputAnswer::What::cancel: return "cancel";
    }
    return "cancel";
}

Error cannot_ask(InputRequest::Kind kind) {
    return {ErrorCode::unavailable,
            fmt::format("The caller cannot be asked for this ({}).", to_string(kind)),
            {{"reason", "cannot_ask"}}};
}

Error call_ended() {
    return {ErrorCode::cancelled,
            "The call that asks has ended or was called off; nobody answers it any more.",
            {{"reason", "call_ended"}}};
}

Error too_large(std::string_view what, std::string_view reason, std::size_t limit) {
    return {ErrorCode::invalid_arguments,
            fmt::format("{} is larger than {} bytes (RuntimeOptions::max_input_bytes).", what, limit),
            {{"reason", reason}, {"limit", limit}}};
}

// As JSON. What is far too large is not written first.
bool is_larger(const Value& value, std::size_t limit) {
    return json::text_size_up_to(value, limit + 1) > limit || json::write(value).size() > limit;
}

bool is_larger(std::string_view text, std::size_t limit) {
    return text.size() > limit || is_larger(Value(text), limit);
}

// As the compiler says it, whose word for it is of tools and their configuration.
Error not_a_form(Error fault) {
    fault.code = ErrorCode::invalid_arguments;
    fault.message = "The answer cannot be asked for: " + fault.message;
    return fault;
}

// What cannot be asked, whoever the caller is.
std::optional<Error> fault_of(const InputRequest& request, std::size_t limit) {
    if (is_larger(request.message, limit) || is_larger(request.url, limit) ||
        is_larger(request.content, limit))
        return too_large("The question", "question_too_large", limit);
    if (json::find_not_finite(request.content)) {
        return Error(ErrorCode::invalid_arguments,
                     "The question has a number that is NaN or infinite, which JSON cannot say.",
                     {{"reason", "not_finite"}});
    }
    if (request.kind == InputRequest::Kind::url && request.url.empty())
        return Error(ErrorCode::invalid_arguments, "There is no URL to open.", {{"reason", "no_url"}});
    return std::nullopt;
}

InputRequest without_secrets(InputRequest request, const redact::Redactor& redactor) {
    request.message = redactor.redact_text(request.message);
    request.url = redactor.redact_text(request.url);
    redactor.redact_in_place(request.content, redact::Rules::values_only);
    return request;
}

// A round of the call's own, if it has one left, has not ended, and may be suspended. Closing gives the place
// back.
Result<std::uint32_t> take_round(Call& call) {
    Runtime::Core& core = *call.core;
    const std::size_t most_rounds = core.options.max_input_rounds;
    const std::size_t most_calls = core.options.max_suspended_calls;
    const base::MutexLock lock(call.shared.mutex);
    if (call.shared.ended || call.cancel_wanted()) return tl::unexpected(call_ended());
    if (call.shared.rounds >= most_rounds) {
        return fail(ErrorCode::denied,
                    fmt::format("A call asks its caller at most {} times (RuntimeOptions::max_input_rounds).",
                                most_rounds),
                    {{"reason", "too_many_rounds"}, {"limit", most_rounds}});
    }
    if (call.shared.open_questions == 0 && core.suspended.fetch_add(1) >= most_calls) {
        core.suspended.fetch_sub(1);
        return fail(
            ErrorCode::unavailable,
            fmt::format("As many calls as may wait for their callers do ({}); try again later.", most_calls),
            {{"reason", "too_many_suspended"}, {"limit", most_calls}});
    }
    ++call.shared.open_questions;
    return ++call.shared.rounds;
}

std::vector<std::shared_ptr<Call>> with_its_parents(const std::shared_ptr<Call>& call) {
    std::vector<std::shared_ptr<Call>> all{call};
    for (CallId parent = call->outcome.parent_call_id; parent != CallId{};) {
        auto next = call->core->waiting_calls.find(parent);
        if (!next) break;
        parent = next->outcome.parent_call_id;
        all.push_back(std::move(next));
    }
    return all;
}

Result<std::shared_ptr<Question>> make_question(const std::shared_ptr<Call>& call, const AuditEvent& facts,
                                                InputRequest request, Answered& answered) {
    Runtime::Core& core = *call->core;
    if (!can_ask(*call, request.kind)) return tl::unexpected(cannot_ask(request.kind));
    if (auto fault = fault_of(request, core.options.max_input_bytes))
        return tl::unexpected(std::move(*fault));
    std::optional<schema::Schema> form;
    if (request.kind == InputRequest::Kind::form) {
        auto compiled = schema::Schema::compile(request.content);
        if (!compiled) return tl::unexpected(not_a_form(std::move(compiled.error())));
        form = std::move(*compiled);
    }
    // What is not on the record must not happen: a tool that cannot say that it waits does not wait.
    if (core.ledger_has_thread) {
        if (auto trouble = core.ledger().ready_to_record()) return tl::unexpected(std::move(*trouble));
    }
    CALLGATE_TRY_ASSIGN(const std::uint32_t round, take_round(*call));
    return std::make_shared<Question>(call, facts, without_secrets(std::move(request), call->redactor()),
                                      std::move(form), round, std::move(answered));
}

}  // namespace

AuditEvent asking_facts(const Call& call) {
    return make_event(call, "tool_call.suspended", "info", "dispatch");
}

bool can_ask(const Call& call, InputRequest::Kind kind) {
    const auto& channel = call.request.context->input;
    return channel != nullptr && channel->abilities().has(kind);
}

void ask(const std::shared_ptr<Call>& call, const AuditEvent& facts, InputRequest request,
         Answered answered) {
    if (base::must_not_block()) {  // the form's schema is compiled
        call->core->run_on_host(
            [call, facts, request = std::move(request), answered = std::move(answered)]() mutable {
                ask(call, facts, std::move(request), std::move(answered));
            });
        return;
    }
    auto question = make_question(call, facts, std::move(request), answered);
    if (!question) {
        call->core->counters.dispatch.not_asked.add();
        run_counted(*call->core, [&] { answered(tl::unexpected(std::move(question.error()))); });
        return;
    }
    call->core->counters.dispatch.asked.add();
    (*question)->open();
    bool ended = false;
    {
        const base::MutexLock lock(call->shared.mutex);
        ended = call->shared.ended || call->cancel_wanted();
        auto& all = call->shared.questions;
        std::erase_if(all, [](const std::weak_ptr<Question>& one) { return one.expired(); });
        all.push_back(*question);
    }
    if (ended) {
        (*question)->withdraw(call_ended());
        return;
    }
    const std::shared_ptr<InputChannel> channel = call->request.context->input;
    try {
        channel->ask(std::move(*question));
    } catch (...) {
        call->core->counters.observer_faults.add();  // nobody has the question: it fails by itself
    }
}

void withdraw_questions(Call& call) {
    std::vector<std::weak_ptr<Question>> open;
    {
        const base::MutexLock lock(call.shared.mutex);
        open.swap(call.shared.questions);
    }
    for (const auto& one : open) {
        if (const auto question = one.lock()) question->withdraw(call_ended());
    }
}

Question::Question(const std::shared_ptr<Call>& call, const AuditEvent& facts, InputRequest request,
                   std::optional<schema::Schema> form, std::uint32_t round, Answered answered)
    : id_(call->id),
      max_bytes_(call->core->options.max_input_bytes),
      core_(call->core),
      facts_(facts),
      request_(std::move(request)),
      form_(std::move(form)),
      round_(round),
      calls_(with_its_parents(call)),
      answered_(std::move(answered)) {}

Question::~Question() {
    give_up(Error(ErrorCode::unavailable, "The caller let the question go without an answer.",
                  {{"reason", "caller_gone"}}),
            "let go");
}

std::string Question::call_id() const {
    return base::Uuid{id_}.to_string();
}

void Question::open() {
    const base::MutexLock lock(mutex_);
    for (const auto& one : calls_) one->stand_still();
    const std::shared_ptr<Call>& call = calls_.front();
    call->seems_to_ask(Asks::yes);
    record(call, "tool_call.suspended", to_string(request_.kind));
    const auto longest = call->core->options.max_input_time;
    const auto time =
        request_.timeout ? std::clamp(*request_.timeout, std::chrono::milliseconds(0), longest) : longest;
    const auto until = base::later(call->core->clock().monotonic_now(), time);
    timer_ = call->core->timers().at(until, [weak = weak_from_this(), time] {
        if (const auto question = weak.lock()) {
            question->give_up(
                Error(ErrorCode::timed_out, fmt::format("Nobody answered within {} ms.", time.count()),
                      {{"reason", "unanswered"}, {"timeout_ms", time.count()}}),
                "unanswered");
        }
    });
}

std::optional<Question::Closed> Question::close(Phase how, std::string_view detail) {
    Closed closed;
    TimerId timer;
    std::vector<std::shared_ptr<Call>> calls;
    {
        const base::MutexLock lock(mutex_);
        if (phase_ != Phase::open) return std::nullopt;
        phase_ = how;
        calls.swap(calls_);
        closed = {calls.front(), std::exchange(answered_, nullptr), std::exchange(on_withdrawn_, nullptr)};
        timer = timer_;
    }
    Call& call = *closed.call;
    call.core->timers().cancel(timer);
    record(closed.call, "tool_call.continued", detail);
    bool was_last = false;
    {
        const base::MutexLock lock(call.shared.mutex);
        was_last = --call.shared.open_questions == 0;
    }
    if (was_last) {
        call.core->suspended.fetch_sub(1);
        call.seems_to_ask(Asks::no);
    }
    for (const auto& one : calls) one->go_on_counting();
    return closed;
}

void Question::record(const std::shared_ptr<Call>& call, std::string_view type,
                      std::string_view detail) const {
    AuditEvent event = facts_;
    event.type = type;
    event.detail = detail;
    event.at = call->core->clock().wall_now();
    std::make_shared<Afterwards<ledger::Reply>>(call, event)
        ->begin([&call](AuditEvent& kept, ledger::Reply& reply, ledger::Waiter& waiter) {
            return call->core->ledger().record(kept, reply, waiter);
        });
}

Result<void> Question::not_open() {
    const base::MutexLock lock(mutex_);
    return callgate::fail(ErrorCode::denied, "This question is no longer open.",
                          {{"reason", phase_ == Phase::answered ? "already_answered" : "withdrawn"}});
}

Result<void> Question::check(const InputAnswer& answer) const {
    if (is_larger(answer.content, max_bytes_))
        return tl::unexpected(too_large("The answer", "answer_too_large", max_bytes_));
    if (json::find_not_finite(answer.content)) {
        return callgate::fail(ErrorCode::invalid_arguments,
                              "The answer has a number that is NaN or infinite, which JSON cannot say.",
                              {{"reason", "answer_does_not_fit"}});
    }
    if (!form_ || !answer.accepted()) return {};
    const schema::Explanation faults = form_->explain(answer.content);
    if (faults.verdict == schema::Verdict::valid) return {};
    return callgate::fail(ErrorCode::invalid_arguments,
                          "The answer does not fit what was asked for: " + schema::to_text(faults),
                          {{"reason", "answer_does_not_fit"}});
}

Result<void> Question::answer(InputAnswer answer) {
    CALLGATE_TRY(check(answer));
    if (!answer.accepted()) answer.content = nullptr;
    auto closed = close(Phase::answered, word_of(answer.what));
    if (!closed) return not_open();
    run_counted(*closed->call->core, [&] { closed->answered(std::move(answer)); });
    return {};
}

Result<void> Question::fail(Error why) {
    auto closed = close(Phase::answered, "failed");
    if (!closed) return not_open();
    run_counted(*closed->call->core, [&] { closed->answered(tl::unexpected(std::move(why))); });
    return {};
}

void Question::withdraw(Error why) {
    give_up(std::move(why), "withdrawn");
}

void Question::give_up(Error why, std::string_view detail) {
    auto closed = close(Phase::withdrawn, detail);
    if (!closed) return;
    const std::shared_ptr<Runtime::Core> core = closed->call->core;
    core->run_on_stops([core, closed = std::move(*closed), why = std::move(why)] {
        run_counted(*core, [&] { closed.answered(tl::unexpected(why)); });
        if (closed.on_withdrawn) run_counted(*core, closed.on_withdrawn);
    });
}

void Question::on_withdrawn(std::function<void()> function) {
    {
        const base::MutexLock lock(mutex_);
        if (phase_ == Phase::open) {
            on_withdrawn_ = std::move(function);
            return;
        }
        if (phase_ == Phase::answered) return;
    }
    if (const auto core = core_.lock()) {
        core->run_on_stops(std::move(function));
    } else {
        function();
    }
}

}  // namespace callgate::pipeline
