#include "mcp/codec.h"

#include <array>
#include <utility>

#include "mcp/message.h"

namespace callgate::mcp {
namespace {

Result<InputAnswer> bad_answer(std::string_view what) {
    return fail(ErrorCode::invalid_arguments, std::string(what), {{"reason", "bad_answer"}});
}

Result<InputAnswer> read_elicitation(Value result) {
    if (!result.is_object()) return bad_answer("The answer to an elicitation is an object.");
    Object& object = result.get_object();
    const Value* action = object.if_contains("action");
    if (action == nullptr || !action->is_string())
        return bad_answer("The answer to an elicitation has an action: accept, decline or cancel.");
    const std::string_view word = action->get_string();
    if (word == "decline") return InputAnswer::decline();
    if (word == "cancel") return InputAnswer(InputAnswer::What::cancel);
    if (word != "accept") return bad_answer("The action of an answer is accept, decline or cancel.");
    Value* content = object.if_contains("content");
    return InputAnswer::accept(content == nullptr ? Value(Object{}) : std::move(*content));
}

}  // namespace

int Codec::resource_not_found() const noexcept {
    return codes::kResourceNotFound;
}

Object Codec::question_params(const InputRequest& request, std::string_view elicitation_id) const {
    switch (request.kind) {
        case InputRequest::Kind::form: {
            Object params{{"message", request.message}, {"requestedSchema", request.content}};
            if (stream_polling() || modern()) params["mode"] = "form";
            return params;
        }
        case InputRequest::Kind::url: {
            Object params{{"mode", "url"}, {"message", request.message}, {"url", request.url}};
            if (!modern()) params["elicitationId"] = elicitation_id;
            return params;
        }
        case InputRequest::Kind::sampling:
            return request.content.is_object() ? request.content.get_object() : Object{};
        case InputRequest::Kind::roots: return {};
    }
    return {};
}

std::span<const Codec* const> codecs() {
    static const std::array<const Codec*, 5> all{&codec_2026_07_28(), &codec_2025_11_25(),
                                                 &codec_2025_06_18(), &codec_2025_03_26(),
                                                 &codec_2024_11_05()};
    return all;
}

const Codec* find_codec(std::string_view revision) noexcept {
    for (const Codec* one : codecs()) {
        if (one->revision() == revision) return one;
    }
    return nullptr;
}

const Codec& latest_legacy_codec() {
    return codec_2025_11_25();
}

std::string_view question_method(InputRequest::Kind kind) noexcept {
    switch (kind) {
        case InputRequest::Kind::form:
        case InputRequest::Kind::url: return "elicitation/create";
        case InputRequest::Kind::sampling: return "sampling/createMessage";
        case InputRequest::Kind::roots: return "roots/list";
    }
    return {};
}

Result<InputAnswer> read_answer(InputRequest::Kind kind, Value result) {
    switch (kind) {
        case InputRequest::Kind::form: return read_elicitation(std::move(result));
        case InputRequest::Kind::url: {
            auto answer = read_elicitation(std::move(result));
            if (answer) answer->content = nullptr;  // what happened at the URL does not come this way
            return answer;
        }
        case InputRequest::Kind::sampling:
        case InputRequest::Kind::roots:
            if (!result.is_object()) return bad_answer("The answer is an object.");
            return InputAnswer::accept(std::move(result));
    }
    return bad_answer("There is no such question.");
}

}  // namespace callgate::mcp
