#include "mcp/conversation.h"

#include <cmath>
#include <utility>

#include "mcp/approval_question.h"
#include "mcp/server_core.h"
#include "mcp/session.h"

namespace callgate::mcp {

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

void Conversation::began(std::string call_id) {
    call_id_ = std::move(call_id);
    running_id_ = call_id_;
}

void Conversation::call_off(const std::shared_ptr<Exchange>& of) {
    if (exchange_ != of) return;
    exchange_ = nullptr;
    if (outcome_) return;
    end();
    core_->forget(*this);
}

void Conversation::end() {
    cancelled_ = true;
    (void)core_->runtime().cancel(running_id_);
    abandon();
}

void Conversation::done(Outcome outcome) {
    open_.clear();
    if (outcome.state() == State::needs_approval && wait_for_approval(outcome)) return;
    if (is_task() && was_used_elsewhere(outcome)) {
        core_->tasks().release(call_id_);
        return;
    }
    finish(std::move(outcome));
}

void Conversation::finish(Outcome outcome) {
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

// It only grows, so what does not is not said; nor is our count once the tool has one of its own.
void Conversation::progress(const Progress& progress) {
    if (exchange_ == nullptr || exchange_->ended || exchange_->progress_token.is_null()) return;
    if (progress.done)
        counts_itself_ = true;
    else if (counts_itself_)
        return;
    const double value = progress.done.value_or(static_cast<double>(progress.sequence));
    if (!std::isfinite(value) || (last_progress_ && value <= *last_progress_)) return;
    last_progress_ = value;
    Object params{{"progressToken", exchange_->progress_token}, {"progress", value}};
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

void Conversation::may_be_task(bool at_once) {
    task_ = at_once ? Task::wanted : Task::possible;
}

void Conversation::on_record(std::string call_id) {
    call_id_ = std::move(call_id);
    on_record_ = true;
    become_task();
}

void Conversation::go_on_as_task() {
    if (task_ != Task::possible) return;
    task_ = Task::wanted;
    on_record(call_id_);
}

// The client learns the id once the call is on the record, and not before.
void Conversation::become_task() {
    if (task_ != Task::wanted || !on_record_ || exchange_ == nullptr || outcome_) return;
    if (core_->closed() || core_->tasks().full() || !core_->tasks().known_to(*exchange_)) return;
    if (!approval_question_.expired()) return;  // its answer belongs to this way of asking
    task_ = Task::yes;
    for (const Open& one : open_) {
        task_names_.insert(one.name);
    }
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

void Conversation::changed() {
    changed_at_ = std::chrono::system_clock::now();
    core_->task_changed(*this);
}

}  // namespace callgate::mcp
