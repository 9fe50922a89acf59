#include "mcp/client_questions.h"

#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "mcp/members.h"

namespace callgate::mcp {
namespace {

tl::unexpected<Error> no_question(std::string message) {
    return fail(ErrorCode::invalid_arguments, std::move(message), {{"reason", "not_a_question"}});
}

Error nobody_answers() {
    return {ErrorCode::unavailable, "Nobody can answer what the server asks.", {{"reason", "cannot_ask"}}};
}

Result<InputRequest> read_elicitation_question(const Object& params) {
    const std::string_view message = string_member(params, "message");
    const Value* mode = params.if_contains("mode");
    if (mode != nullptr && *mode == "url") {
        const std::string_view url = string_member(params, "url");
        if (url.empty()) return no_question("An elicitation by URL has one.");
        return InputRequest::open_url(std::string(message), std::string(url));
    }
    if (mode != nullptr && *mode != "form") return no_question("An elicitation is by form or by URL.");
    const Object* schema = object_member(params, "requestedSchema");
    if (schema == nullptr) return no_question("An elicitation by form has a schema.");
    return InputRequest::form(std::string(message), *schema);
}

/// Gives one answer to the client's thread, the one that comes or, at its end, that there is none.
class AnswerWay {
public:
    AnswerWay(std::shared_ptr<net::LoopThread> thread, InputRequest question,
              std::function<void(Result<Value>)> answered)
        : thread_(std::move(thread)), question_(std::move(question)), answered_(std::move(answered)) {}
    ~AnswerWay() { give(tl::unexpected(nobody_answers())); }
    AnswerWay(const AnswerWay&) = delete;
    AnswerWay& operator=(const AnswerWay&) = delete;

    void give(Result<InputAnswer> answer) {
        if (given_.exchange(true)) return;
        thread_->post([question = std::move(question_), answered = std::move(answered_),
                       answer = std::move(answer)]() mutable {
            if (!answer) {
                answered(tl::unexpected(std::move(answer.error())));
                return;
            }
            answered(answer_value(question.kind, with_defaults(question, std::move(*answer))));
        });
    }

private:
    const std::shared_ptr<net::LoopThread> thread_;
    InputRequest question_;
    std::function<void(Result<Value>)> answered_;
    std::atomic<bool> given_{false};
};

}  // namespace

Result<InputRequest> read_question(std::string_view method, const Object& params) {
    if (method == "elicitation/create") return read_elicitation_question(params);
    if (method == "sampling/createMessage") return InputRequest::sampling(params);
    if (method == "roots/list") return InputRequest::roots();
    return no_question(fmt::format("{} is no question to a client.", method));
}

InputAnswer with_defaults(const InputRequest& question, InputAnswer answer) {
    if (question.kind != InputRequest::Kind::form || !answer.accepted() || !answer.content.is_object())
        return answer;
    const Object* properties =
        question.content.is_object() ? object_member(question.content.get_object(), "properties") : nullptr;
    if (properties == nullptr) return answer;
    Object& content = answer.content.get_object();
    for (const auto& [key, schema] : *properties) {
        const Value* preset = schema.is_object() ? schema.get_object().if_contains("default") : nullptr;
        if (preset != nullptr && !content.contains(key)) content[key] = *preset;
    }
    return answer;
}

Result<Value> answer_value(InputRequest::Kind kind, InputAnswer answer) {
    if (kind == InputRequest::Kind::form || kind == InputRequest::Kind::url) {
        Object result;
        switch (answer.what) {
            case InputAnswer::What::accept: result["action"] = "accept"; break;
            case InputAnswer::What::decline: result["action"] = "decline"; break;
            case InputAnswer::What::cancel: result["action"] = "cancel"; break;
        }
        if (kind == InputRequest::Kind::form && answer.accepted())
            result["content"] = answer.content.is_null() ? Value(Object{}) : std::move(answer.content);
        return result;
    }
    if (!answer.accepted())
        return fail(ErrorCode::denied, "What the server asked for was declined.", {{"reason", "declined"}});
    if (kind == InputRequest::Kind::roots && answer.content.is_array())
        return Object{{"roots", std::move(answer.content)}};
    return std::move(answer.content);
}

void ask_on(const std::shared_ptr<net::LoopThread>& thread, const std::shared_ptr<ClientQuestions>& whom,
            InputRequest question, std::function<void(Result<Value>)> answered) {
    const auto way = std::make_shared<AnswerWay>(thread, question, std::move(answered));
    if (whom == nullptr || !whom->abilities().has(question.kind)) return;  // the way's end says so
    whom->ask(std::move(question), [way](Result<InputAnswer> answer) { way->give(std::move(answer)); });
}

Result<std::shared_ptr<QuestionRound>> QuestionRound::read(const Object& requests, std::size_t most) {
    if (requests.size() > most)
        return fail(
            ErrorCode::output_invalid,
            fmt::format("The server asks {} questions at once; {} are allowed.", requests.size(), most),
            {{"reason", "too_many_questions"}});
    auto round = std::make_shared<QuestionRound>();
    for (const auto& [key, value] : requests) {
        const Object* request = value.if_object();
        const Object* params = request == nullptr ? nullptr : object_member(*request, "params");
        auto question = request == nullptr ? no_question("A question is an object.")
                                           : read_question(string_member(*request, "method"),
                                                           params == nullptr ? Object{} : *params);
        if (!question) {
            Error error = std::move(question.error());
            error.code = ErrorCode::output_invalid;
            return tl::unexpected(std::move(error));
        }
        question->name = key;
        round->questions_.emplace(key, std::move(*question));
    }
    return round;
}

// The last of them does not say that more follow.
void QuestionRound::ask(const std::shared_ptr<net::LoopThread>& thread,
                        const std::shared_ptr<ClientQuestions>& whom, Done done) {
    done_ = std::move(done);
    open_ = questions_.size();
    auto questions = std::exchange(questions_, {});
    std::size_t left = questions.size();
    for (auto& [key, question] : questions) {
        question.more_follow = --left > 0;
        ask_on(thread, whom, std::move(question),
               [self = shared_from_this(), name = key](Result<Value> answer) {
                   if (!self->done_) return;
                   if (!answer) {
                       std::exchange(self->done_, nullptr)(tl::unexpected(std::move(answer.error())));
                       return;
                   }
                   self->answers_[name] = std::move(*answer);
                   if (--self->open_ == 0) std::exchange(self->done_, nullptr)(std::move(self->answers_));
               });
    }
}

}  // namespace callgate::mcp
