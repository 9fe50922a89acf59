// For tests: whom a server's questions are put to.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "mcp/client_testing.h"

namespace callgate::mcp {

inline const Object kNameForm{{"type", "object"},
                              {"properties", Object{{"name", Object{{"type", "string"}}}}},
                              {"required", Array{"name"}}};

inline std::shared_ptr<AnsweringQuestions> answering(AnsweringQuestions::Answer answer) {
    return std::make_shared<AnsweringQuestions>(std::move(answer));
}
inline std::shared_ptr<AnsweringQuestions> accepting(Value content) {
    return answering([content = std::move(content)](const InputRequest&) -> Result<InputAnswer> {
        return InputAnswer::accept(content);
    });
}
inline ClientRequest call_with(std::shared_ptr<ClientQuestions> questions, std::string_view tool = "t") {
    ClientRequest request("tools/call", {{"name", tool}, {"arguments", Object{}}});
    request.questions = std::move(questions);
    return request;
}

}  // namespace callgate::mcp
