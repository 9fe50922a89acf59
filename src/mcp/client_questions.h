// What a server asks of its client, read into a question that any edge can be asked, and the answer in the
// server's words.
//
// Threads: pure functions, except QuestionRound, which belongs to the client's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "mcp/client_options.h"
#include "net/loop.h"

namespace callgate::mcp {

/// elicitation/create, sampling/createMessage or roots/list. invalid_arguments {reason: not_a_question}.
Result<InputRequest> read_question(std::string_view method, const Object& params);

/// A form's answer with what its schema has a default for and the answer leaves out.
InputAnswer with_defaults(const InputRequest& question, InputAnswer answer);

/// The result that the server gets. denied {reason: declined}: this kind of question has no words for a no.
Result<Value> answer_value(InputRequest::Kind kind, InputAnswer answer);

/// Asks, and gives the answer on the client's thread, in a turn of its own, once: also where nobody can be
/// asked, or the one who was asked never says anything and is gone.
void ask_on(const std::shared_ptr<net::LoopThread>& thread, const std::shared_ptr<ClientQuestions>& whom,
            InputRequest question, std::function<void(Result<Value>)> answered);

/// Questions that were asked together (`input_required`).
class QuestionRound : public std::enable_shared_from_this<QuestionRound> {
public:
    using Done = std::function<void(Result<Object>)>;  ///< by key; or the first that cannot be answered

    /// output_invalid {reason: not_a_question | too_many_questions}: what is asked is no set of questions.
    static Result<std::shared_ptr<QuestionRound>> read(const Object& requests, std::size_t most);
    void ask(const std::shared_ptr<net::LoopThread>& thread, const std::shared_ptr<ClientQuestions>& whom,
             Done done);
    /// Answers that come are dropped.
    void drop() { done_ = nullptr; }

private:
    std::map<std::string, InputRequest, std::less<>> questions_;
    std::size_t open_ = 0;
    Object answers_;
    Done done_;
};

}  // namespace callgate::mcp
