// A tool asks its caller while it runs: a person for a form or to open a page, the caller's model for a text,
// the caller for its roots.
//
// A caller that can be asked brings an InputChannel in its Context. A tool asks through its CallContext:
//
//     const cg::Value account = cg::Object{{"type", "object"}, {"required", cg::Array{"account"}}};
//     auto pay = [account](cg::CallContext& context) {
//         const auto answer = context.ask(cg::InputRequest::form("From which account?", account));
//         return answer && answer->accepted() ? "paid" : "not paid";
//     };
//
// However often it asks, it is one call: one claim, one attempt. While a question is open the call is
// suspended: its deadline stands still, and that of the calls it was made from; the question's own time
// counts (RuntimeOptions::max_input_time). The end of the call, a cancel, and the end of the runtime withdraw
// it; who asks after that is refused at once: cancelled {reason: call_ended}. What is asked carries no secret
// that the call has used. The record has when a call was suspended and continued, and no word of question or
// answer. A program that ends meanwhile leaves the call as one whose tool ran.
//
// An answer comes from outside: it is bounded, and the answer to a form must fit its schema, or the question
// stays open and the one who answered learns what was wrong.
//
// Threads: ask() of a channel is called on the thread that asks, and must neither block nor throw. A
// PendingInput may be used from any thread, for as long as anybody holds it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <callgate/error.h>
#include <callgate/json.h>

namespace callgate {

struct InputRequest {
    enum class Kind : std::uint8_t {
        form,      ///< `message`, and `content` is the JSON Schema of the answer: an object
        url,       ///< `message`, and `url` to open; what happens there does not come back as content
        sampling,  ///< `content` says what the caller's model is to do, as in MCP's sampling/createMessage
        roots      ///< the caller's roots
    };
    Kind kind = Kind::form;
    /// What the caller knows the question by, where it is asked several at once; "": a name of its own is
    /// found.
    std::string name;
    std::string message;
    std::string url;
    Value content;
    /// Takes the place of RuntimeOptions::max_input_time where it is shorter.
    std::optional<std::chrono::milliseconds> timeout;
    /// Another question follows at once: they are put to the caller together, where it takes several.
    bool more_follow = false;

    InputRequest() = default;
    static InputRequest form(std::string message, Value schema) {
        InputRequest request;
        request.message = std::move(message);
        request.content = std::move(schema);
        return request;
    }
    static InputRequest open_url(std::string message, std::string url) {
        InputRequest request;
        request.kind = Kind::url;
        request.message = std::move(message);
        request.url = std::move(url);
        return request;
    }
    static InputRequest sampling(Value params) {
        InputRequest request;
        request.kind = Kind::sampling;
        request.content = std::move(params);
        return request;
    }
    static InputRequest roots() {
        InputRequest request;
        request.kind = Kind::roots;
        return request;
    }

    InputRequest named(std::string what) && {
        name = std::move(what);
        return std::move(*this);
    }
    InputRequest with_more() && {
        more_follow = true;
        return std::move(*this);
    }
};
std::string_view to_string(InputRequest::Kind kind) noexcept;  ///< "form", "url", "sampling", "roots"

struct InputAnswer {
    enum class What : std::uint8_t {
        accept,
        decline,  ///< the person said no
        cancel    ///< the person went away without a word
    };
    What what = What::cancel;
    Value content;  ///< accept: of a form; of sampling, the model's message; of roots, the list

    InputAnswer() = default;
    explicit InputAnswer(What action, Value given = {}) : what(action), content(std::move(given)) {}
    static InputAnswer accept(Value given) { return InputAnswer(What::accept, std::move(given)); }
    static InputAnswer decline() { return InputAnswer(What::decline); }
    bool accepted() const noexcept { return what == What::accept; }
};

/// What a caller can be asked for.
struct InputAbilities {
    bool form = false;
    bool url = false;
    bool sampling = false;
    bool roots = false;

    bool has(InputRequest::Kind kind) const noexcept {
        switch (kind) {
            case InputRequest::Kind::form: return form;
            case InputRequest::Kind::url: return url;
            case InputRequest::Kind::sampling: return sampling;
            case InputRequest::Kind::roots: return roots;
        }
        return false;
    }
};

/// An open question, as the one who puts it to the caller has it.
class PendingInput {
public:
    virtual ~PendingInput() = default;
    virtual const InputRequest& request() const noexcept = 0;
    virtual std::string call_id() const = 0;
    virtual std::uint32_t round() const noexcept = 0;  ///< 1, 2, … within the call
    /// Once. denied {reason: already_answered | withdrawn}; invalid_arguments {reason: answer_too_large |
    /// answer_does_not_fit}, and then the question is still open. The tool goes on before this returns, on
    /// this thread or another.
    virtual Result<void> answer(InputAnswer answer) = 0;
    /// The caller cannot answer any more, and this is why: the tool gets the error.
    virtual Result<void> fail(Error why) = 0;
    /// Called once if the question is withdrawn, on a thread that exists for such code; at once if it is so
    /// already. One function; the last that is given counts.
    virtual void on_withdrawn(std::function<void()> function) = 0;
};

/// How a caller is asked. Belongs to the host; a Context carries it.
class InputChannel {
public:
    virtual ~InputChannel() = default;
    virtual InputAbilities abilities() const = 0;
    /// Puts the question to the caller. Must neither block nor throw; it may answer before it returns.
    /// Whoever releases the last reference without an answer has failed it.
    virtual void ask(std::shared_ptr<PendingInput> question) = 0;
};

}  // namespace callgate
