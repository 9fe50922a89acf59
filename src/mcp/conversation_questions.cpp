// What a call asks its client: put in the way of each era, answered, withdrawn.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/steady_timer.hpp>

#include "mcp/conversation.h"
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

void Conversation::asked(const std::shared_ptr<PendingInput>& question) {
    if (outcome_ || abandoned_ || core_->closed()) return;
    // A tool that asks has begun, and one that may be a task begins only when its call is on the record.
    if (task_ == Task::wanted) on_record(call_id_);
    const InputRequest& request = question->request();
    if (!modern_) {
        put_legacy(question);
        return;
    }
    Open one{name_for(request.name), question};
    const bool answered = answer_from_offered(one);
    if (is_task()) {
        if (answered) return;
        task_names_.insert(one.name);
        open_.push_back(std::move(one));
        changed();
        return;
    }
    if (!answered) open_.push_back(std::move(one));
    if (open_.empty()) return;
    if (request.more_follow)
        put_soon();
    else
        put_modern();
}

// More were to follow, and perhaps none does: the next may be refused before it gets here.
void Conversation::put_soon() {
    const auto timer =
        std::make_shared<boost::asio::steady_timer>(core_->loop().context(), core_->options().question_gap);
    timer->async_wait(
        [timer, weak = weak_from_this(), round = round_](const boost::system::error_code& error) {
            const auto self = error ? nullptr : weak.lock();
            if (self && self->round_ == round && !self->open_.empty()) self->put_modern();
        });
}

std::string Conversation::name_for(const std::string& wanted) {
    const auto is_taken = [&](const std::string& name) {
        return task_names_.contains(name) ||
               std::any_of(open_.begin(), open_.end(), [&](const Open& other) { return other.name == name; });
    };
    std::string name = wanted;
    while (name.empty() || is_taken(name)) {
        ++names_;
        name = wanted.empty() ? fmt::format("input_{}", names_) : fmt::format("{}_{}", wanted, names_ + 1);
    }
    return name;
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
    if (exchange_ == nullptr || session_ == nullptr || !session_->answers ||
        !exchange_->outlet->carries_messages()) {
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
    const auto gone = std::erase_if(open_, [&](const Open& one) { return one.question == question; });
    if (gone != 0 && is_task() && !outcome_) changed();
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
    codec_ = exchange_->codec;
    abilities_ = codec_->abilities(*exchange_->capabilities);
    last_progress_.reset();
    counts_itself_ = false;
    if (outcome_) {
        finish_(std::exchange(exchange_, nullptr), *outcome_);
        core_->forget(*this);
        return;
    }
    settle(std::move(answers));
    drop_what_cannot_be_asked();
    become_task();
    if (!open_.empty()) put_modern();
}

// This request says less of its client than the one before did.
void Conversation::drop_what_cannot_be_asked() {
    const InputAbilities can = abilities_;
    std::vector<Open> asked = std::exchange(open_, {});
    std::vector<Open> left;
    for (Open& one : asked) {
        if (can.has(one.question->request().kind)) {
            left.push_back(std::move(one));
            continue;
        }
        (void)one.question->fail(Error(ErrorCode::unavailable, "The caller cannot be asked for this.",
                                       {{"reason", "cannot_ask"}}));
    }
    open_.insert(open_.begin(), std::make_move_iterator(left.begin()), std::make_move_iterator(left.end()));
}

void Conversation::answer(Object answers) {
    settle(std::move(answers));
    offered_.clear();
    changed();
}

// Each leaves the list before it is answered: its answer may bring the next question.
void Conversation::settle(Object answers) {
    offered_ = std::move(answers);
    std::vector<Open> asked = std::exchange(open_, {});
    std::vector<Open> left;
    for (Open& one : asked) {
        if (!answer_from_offered(one)) left.push_back(std::move(one));
    }
    open_.insert(open_.begin(), std::make_move_iterator(left.begin()), std::make_move_iterator(left.end()));
}

// A question holds its call, and that its way to the client, which is this conversation.
void Conversation::abandon() {
    abandoned_ = true;
    for (const Open& one : std::exchange(open_, {})) {
        (void)one.question->fail(
            Error(ErrorCode::cancelled, "Nobody will answer any more.", {{"reason", "call_ended"}}));
    }
    stop_waiting();
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

}  // namespace callgate::mcp
