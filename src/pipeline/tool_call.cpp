#include "pipeline/tool_call.h"

namespace callgate::pipeline {

Request request_from_tool_call(const Value& tool_call, Context context) {
    Request request;
    request.context = share(std::move(context));
    const Object* object = tool_call.if_object();
    if (object != nullptr) {
        if (const Value* function = object->if_contains("function")) object = function->if_object();
    }
    const Value* name = object == nullptr ? nullptr : object->if_contains("name");
    if (name == nullptr || !name->is_string()) {
        request.from().refused =
            Error(ErrorCode::invalid_arguments,
                  "This is no tool call: it must be an object with a string member \"name\", or with a "
                  "member \"function\" that is one.",
                  {{"reason", "no_tool_call"}});
        return request;
    }
    request.tool = std::string(name->get_string());
    // As OpenAI and MCP, Anthropic and Bedrock, and Gemini name them.
    for (const char* const member : {"arguments", "input", "args"}) {
        const Value* const arguments = object->if_contains(member);
        if (arguments == nullptr) continue;
        request.arguments = Args(*arguments);
        break;
    }
    return request;
}

}  // namespace callgate::pipeline
