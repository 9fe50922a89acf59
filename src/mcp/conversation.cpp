#include "mcp/conversation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "mcp/approval_question.h"
#include "mcp/request_state.h"
#include "mcp/server_core.h"
#include "mcp/session.h"

namespace callgate::mcp {
namespace {

// Of a question that is closed there is nothing more to say.
bool is_settled(const Result<void>& answered) {
    return answered || answered.error().code == ErrorCode::denied;
}

}  // namespace

Conversation::Conversation(std::shared_ptr<ServerCore> core, std::shared_ptr<Exchange> exchange,
                           std::string digest, Finish finish)
    : core_(std::move(core)),
      exchange_(std::move(exchange)),
      modern_(exchange_->modern()),
      session_(exchange_->session),
      digest_(std::move(digest)),
      abilities_(exchange_->codec->abilities(*exchange_->capabilities)),
      finish_(std::move(finish)),
      codec_(exchange_->codec) {}

void Conversation::ask(std::shared_ptr<PendingInput> question) {
    question->on_withdrawn([self = weak_from_this(), weak = std::weak_ptr(question)] {
        const auto conversation = self.lock();
        if (!conversation) return;
        conversation->core_->at_home([conversation, weak] {
            if (const auto withdrawn = weak.lock()) conversation->withdrawn(withdrawn);
        });
    });
    core_->at_home([self = shared_from_this(), asked = std::move(question)] { self->asked(asked); });
}

void Conversation::began(std::string call_id) {
    call_id_ = std::move(call_id);
    running_id_ = call_id_;
}

void Conversation::asked(const std::shared_ptr<PendingInput>& question) {
    if (outcome_ || core_->closed()) return;
    // A tool that asks has begun, and one that may be a task begins only when its call is on the record.
    if (task_ == Task::wanted) on_record();
    const InputRequest& request = question->request();
    Open one{request.name, question};
    const bool taken =
        std::any_of(open_.begin(), open_.end(), [&](const Open& other) { return other.name == one.name; });
    if (one.name.empty() || taken) one.name = fmt::format("input_{}", ++names_);
    if (!modern_) {
        put_legacy(question);
        return;
    }
    if (!answer_from_offered(one)) open_.push_back(std::move(one));
    if (is_task()) {
        if (!open_.empty()) changed();
        return;
    }
    if (!request.more_follow && !open_.empty()) put_modern();
}

// A wrong answer leaves the question open: the client is asked again.
bool Conversation::answer_from_offered(const Open& one) {
    Value* given = offered_.if_contains(one.name);
    if (given == nullptr) return false;
    auto answer = read_answer(one.question->request().kind, std::move(*given));
    offered_.erase(one.name);
    return answer && is_settled(one.question->answer(std::move(*answer)));
}

void Conversation::put_modern() {
    if (exchange_ == nullptr) return;  // the client has questions already; these come with its next request
    ++round_;
    offered_.clear();
    const auto exchange = std::exchange(exchange_, nullptr);
    core_->keep(shared_from_this());
    Object result{{"resultType", "input_required"},
                  {"inputRequests", questions()},
                  {"requestState", core_->states().seal({call_id_, digest_, round_})}};
    core_->respond(exchange, json::write(Value(std::move(result))));
}

void Conversation::put_legacy(const std::shared_ptr<PendingInput>& question) {
    if (exchange_ == nullptr || session_ == nullptr || session_->ended) {
        (void)question->fail(
            Error(ErrorCode::unavailable, "The client has gone.", {{"reason", "caller_gone"}}));
        return;
    }
    const std::int64_t id = session_->next_question++;
    session_->questions.emplace(id, OpenRequest{question, exchange_->outlet});
    const InputRequest& request = question->request();
    exchange_->outlet->message(
        request_text(id, question_method(request.kind),
                     exchange_->codec->question_params(
                         request, fmt::format("{}-{}", question->call_id(), question->round()))));
}

void Conversation::withdrawn(const std::shared_ptr<PendingInput>& question) {
    std::erase_if(open_, [&](const Open& one) { return one.question == question; });
    if (modern_ || session_ == nullptr) return;
    for (auto it = session_->questions.begin(); it != session_->questions.end(); ++it) {
        if (it->second.question != question) continue;
        it->second.outlet->message(notification_text(
            "notifications/cancelled", Object{{"requestId", it->first}, {"reason", "the call has ended"}}));
        session_->questions.erase(it);
        return;
    }
}

void Conversation::go_on(std::shared_ptr<Exchange> exchange, Object answers) {
    exchange_ = std::move(exchange);
    exchange_->conversation = weak_from_this();
    if (outcome_) {
        finish_(std::exchange(exchange_, nullptr), *outcome_);
        core_->forget(*this);
        return;
    }
    offered_ = std::move(answers);
    // Each leaves the list before it is answered: its answer may bring the next question.
    std::vector<Open> asked = std::exchange(open_, {});
    std::vector<Open> left;
    for (Open& one : asked) {
        if (!answer_from_offered(one)) left.push_back(std::move(one));
    }
    open_.insert(open_.begin(), std::make_move_iterator(left.begin()), std::make_move_iterator(left.end()));
    if (!left.empty()) put_modern();
}

void Conversation::call_off(const std::shared_ptr<Exchange>& of) {
    if (exchange_ != of) return;
    exchange_ = nullptr;
    if (outcome_) return;
    (void)core_->runtime().cancel(running_id_);
    abandon();
    core_->forget(*this);
}

void Conversation::done(Outcome outcome) {
    open_.clear();
    if (outcome.state() == State::needs_approval && !cancelled_ && (is_task() || task_ == Task::wanted)) {
        follow_approval(outcome);
        return;
    }
    if (outcome.state() == State::needs_approval && ask_for_approval(outcome)) return;
    outcome_ = std::move(outcome);
    if (is_task()) {
        core_->tasks().ended(call_id_, *outcome_);
        changed();
        return;
    }
    if (exchange_ == nullptr) return;  // kept for the client, for a while
    const auto exchange = std::exchange(exchange_, nullptr);
    finish_(exchange, *outcome_);
    core_->forget(*this);
}

void Conversation::progress(const Progress& progress) {
    if (exchange_ == nullptr || exchange_->ended || exchange_->progress_token.is_null()) return;
    Object params{{"progressToken", exchange_->progress_token},
                  {"progress", progress.done.value_or(static_cast<double>(progress.sequence))}};
    if (progress.total) params["total"] = *progress.total;
    if (!progress.message.empty() && exchange_->codec->progress_message())
        params["message"] = progress.message;
    exchange_->outlet->message(notification_text("notifications/progress", params));
}

void Conversation::log(LogLevel level, Value data, const std::string& logger) {
    if (exchange_ == nullptr || exchange_->ended) return;
    const std::optional<LogLevel> least = modern_    ? exchange_->log_level
                                          : session_ ? std::optional(session_->log_level)
                                                     : std::nullopt;
    if (!least || level < *least) return;
    Object params{{"level", to_string(level)}, {"data", std::move(data)}};
    if (!logger.empty()) params["logger"] = logger;
    exchange_->outlet->message(notification_text("notifications/message", params));
}

void Conversation::close_stream() {
    if (exchange_ != nullptr && !modern_) exchange_->outlet->close_stream();
}

Object Conversation::questions() const {
    Object all;
    for (const Open& one : open_) {
        const InputRequest& request = one.question->request();
        all[one.name] = Object{{"method", question_method(request.kind)},
                               {"params", codec_->question_params(request, {})}};
    }
    return all;
}

// Without the way to ask, which is this conversation itself.
void Conversation::remember(Context context) {
    context.input = nullptr;
    context_ = std::move(context);
}

// A question holds its call, and that its way to the client, which is this conversation.
void Conversation::abandon() {
    for (const Open& one : std::exchange(open_, {})) {
        (void)one.question->fail(
            Error(ErrorCode::cancelled, "Nobody will answer any more.", {{"reason", "call_ended"}}));
    }
}

void Conversation::may_be_task(bool at_once) {
    task_ = at_once ? Task::wanted : Task::possible;
}

void Conversation::on_record() {
    on_record_ = true;
    become_task();
}

void Conversation::go_on_as_task() {
    if (task_ != Task::possible) return;
    task_ = Task::wanted;
    on_record();
}

// The client learns the id once the call is on the record, and not before.
void Conversation::become_task() {
    if (task_ != Task::wanted || !on_record_ || exchange_ == nullptr || outcome_) return;
    if (core_->closed()) return;
    task_ = Task::yes;
    changed_at_ = std::chrono::system_clock::now();
    core_->tasks().keep(shared_from_this());
    core_->forget(*this);
    const auto exchange = std::exchange(exchange_, nullptr);
    Object result{{"resultType", "task"}};
    for (auto& [key, value] : core_->tasks().describe(*this)) {
        result[key] = value;
    }
    core_->respond(exchange, json::write(Value(std::move(result))));
}

// A person decides, and the task goes on with what they decided. A request for an approval is on the record.
void Conversation::follow_approval(const Outcome& asked) {
    on_record_ = true;
    become_task();
    status_message_ = fmt::format("waits for approval {}", asked.approval_id());
    changed();
    core_->runtime().approvals().when_decided(asked.approval_id(), [self = shared_from_this(),
                                                                    asked](Result<Approval> decided) {
        self->core_->at_home([self, asked, approved = decided && decided->state == ApprovalState::approved] {
            self->status_message_.clear();
            if (approved && !self->cancelled_)
                self->resume();
            else
                self->done(asked);
        });
    });
}

// What a person at the client says counts as the client's word: A1, and only where that is enough.
bool Conversation::ask_for_approval(const Outcome& asked) {
    if (!core_->options().approve_by_client || !abilities_.form || asked_for_approval_ ||
        exchange_ == nullptr || !client_may_decide(asked))
        return false;
    asked_for_approval_ = true;
    offered_.clear();  // nobody has seen this question yet
    this->asked(std::make_shared<ApprovalQuestion>(
        asked,
        [self = shared_from_this(), asked](std::optional<bool> allowed) { self->decided(asked, allowed); }));
    return true;
}

void Conversation::decided(const Outcome& asked, std::optional<bool> allowed) {
    if (!allowed) {
        done(asked);
        return;
    }
    const auto voted = [self = shared_from_this(), asked](const Result<Approval>& vote) {
        if (vote)
            self->resume();  // what was refused ends so
        else
            self->done(asked);
    };
    const std::string who = "client:" + core_->options().context.principal;
    Approvals& approvals = core_->runtime().approvals();
    if (*allowed)
        approvals.start_approve(asked.approval_id(), who, voted, core_->home(), Assurance::a1,
                                "allowed at the client");
    else
        approvals.start_deny(asked.approval_id(), who, voted, core_->home(), "refused at the client");
}

void Conversation::resume() {
    if (is_task()) changed();
    Context context = context_;
    context.idempotency_key.clear();  // the approval has it
    if (abilities_.form || abilities_.url || abilities_.sampling || abilities_.roots)
        context.input = shared_from_this();
    running_id_ = core_->runtime().start_resume(
        call_id_, std::move(context),
        Completion([self = shared_from_this()](Outcome outcome) { self->done(std::move(outcome)); },
                   core_->home()));
}

void Conversation::changed() {
    changed_at_ = std::chrono::system_clock::now();
    core_->task_changed(*this);
}

void Conversation::answer(Object answers) {
    offered_ = std::move(answers);
    std::vector<Open> asked = std::exchange(open_, {});
    std::vector<Open> left;
    for (Open& one : asked) {
        if (!answer_from_offered(one)) left.push_back(std::move(one));
    }
    open_.insert(open_.begin(), std::make_move_iterator(left.begin()), std::make_move_iterator(left.end()));
    offered_.clear();
    changed();
}

void Conversation::cancel() {
    cancelled_ = true;
    (void)core_->runtime().cancel(running_id_);
}

}  // namespace callgate::mcp
