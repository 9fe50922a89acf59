#include "tool_call.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"

namespace callgate::cli {

namespace {

constexpr std::string_view kKeyInMeta = "callgate/idempotencyKey";

const Object* object_at(const Object& object, std::string_view member) {
    const Value* const value = object.if_contains(member);
    return value == nullptr ? nullptr : value->if_object();
}

tl::unexpected<Error> no_call(std::string_view what) {
    return fail(
        ErrorCode::config_error,
        fmt::format("{} A call is an object such as {{\"name\": \"add\", \"arguments\": {{\"a\": 1}}}}, or "
                    "an MCP tools/call request.",
                    what),
        {{"reason", "not_a_call"}});
}

Result<ToolCall> read(const Object& parts, std::string_view arguments) {
    ToolCall call;
    const Value* const name = parts.if_contains("name");
    if (name == nullptr || !name->is_string()) return no_call("It has no 'name', or the name is no text.");
    call.name = name->get_string();
    const Value* const given = parts.if_contains(arguments);
    call.arguments = given == nullptr || given->is_null() ? Value(Object()) : *given;
    if (const Object* const meta = object_at(parts, "_meta")) {
        const Value* const key = meta->if_contains(kKeyInMeta);
        if (key != nullptr && key->is_string()) call.key = key->get_string();
    }
    return call;
}

}  // namespace

bool is_mcp_request(const Value& document) {
    const Object* const object = document.if_object();
    return object != nullptr && (object->contains("method") || object->contains("_meta"));
}

Result<ToolCall> tool_call_from_json(const Value& document) {
    const Object* const object = document.if_object();
    if (object == nullptr) return no_call("This is no JSON object.");
    if (const Value* const method = object->if_contains("method")) {
        if (*method != Value("tools/call"))
            return fail(ErrorCode::config_error,
                        "This request is not tools/call: nothing else can be asked here.",
                        {{"reason", "not_tools_call"}});
        const Object* const params = object_at(*object, "params");
        if (params == nullptr) return no_call("The request has no 'params'.");
        return read(*params, "arguments");
    }
    if (const Object* const function = object_at(*object, "function")) return read(*function, "arguments");
    if (const Object* const use = object_at(*object, "toolUse")) return read(*use, "input");
    if (const Object* const requested = object_at(*object, "functionCall")) return read(*requested, "args");
    for (const char* const member : {"arguments", "input", "args"})
        if (object->contains(member)) return read(*object, member);
    return read(*object, "arguments");
}

}  // namespace callgate::cli
