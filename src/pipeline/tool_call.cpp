#include "pipeline/tool_call.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"

namespace callgate::pipeline {

namespace {

constexpr std::size_t kLongestMember = 80;

// As OpenAI and MCP, Anthropic and Bedrock, and Gemini name them.
constexpr std::array<std::string_view, 3> kArguments = {"arguments", "input", "args"};
constexpr std::array<std::string_view, 5> kWrappers = {"function", "functionCall", "function_call", "toolUse",
                                                       "params"};
// What is sent beside the arguments, and may be an object or its text.
constexpr std::array<std::string_view, 20> kBeside = {"_meta",
                                                      "meta",
                                                      "metadata",
                                                      "caller",
                                                      "cache_control",
                                                      "cacheControl",
                                                      "extra_content",
                                                      "extraContent",
                                                      "providerOptions",
                                                      "provider_specific_fields",
                                                      "providerMetadata",
                                                      "provider_metadata",
                                                      "partMetadata",
                                                      "additional_kwargs",
                                                      "inputResponses",
                                                      "requestState",
                                                      "task",
                                                      "thoughtSignature",
                                                      "thought_signature",
                                                      "usage"};

bool is_one_of(std::string_view name, const auto& names) {
    return std::ranges::find(names, name) != names.end();
}

// An object, or a text that is one, with something in it.
bool may_be_arguments(const Value& value) {
    if (const Object* const object = value.if_object()) return !object->empty();
    const boost::json::string* const text = value.if_string();
    if (text == nullptr) return false;
    constexpr std::string_view kSpace = " \t\r\n";
    const std::string_view all(*text);
    const std::size_t first = all.find_first_not_of(kSpace);
    return first != std::string_view::npos && all[first] == '{' && all[all.find_last_not_of(kSpace)] == '}';
}

tl::unexpected<Error> no_tool_call() {
    return fail(ErrorCode::invalid_arguments,
                "This is no tool call: it must be an object with a string member \"name\", or with a "
                "member \"function\" that is one.",
                {{"reason", "no_tool_call"}});
}

tl::unexpected<Error> misnamed(std::string_view tool, std::string_view member) {
    const std::string_view shown = base::truncate_to_bytes(member, kLongestMember);
    return fail(ErrorCode::invalid_arguments,
                fmt::format("The call has an object under \"{}\", and none under \"arguments\" beside its "
                            "\"name\", where a call's arguments are expected. Move them there.",
                            shown),
                {{"reason", "misnamed_arguments"}, {"member", shown}, {"tool", tool}});
}

tl::unexpected<Error> twice(std::string_view tool, std::string_view one, std::string_view other) {
    return fail(
        ErrorCode::invalid_arguments,
        fmt::format("The call has arguments twice, under \"{}\" and under \"{}\". Send them once, under "
                    "\"arguments\".",
                    one, other),
        {{"reason", "arguments_twice"}, {"members", Array{Value(one), Value(other)}}, {"tool", tool}});
}

// One object of the call, in one pass over its members.
struct Members {
    const Value* name = nullptr;
    const Value* arguments = nullptr;
    const Value* wrapped = nullptr;
    const Value* method = nullptr;
    const Object* meta = nullptr;
    std::string_view called;  // the arguments' name
    std::string_view again;   // and another one
    std::string_view wrapper;
    std::string_view stranger;  // a member that may have been meant as the arguments

    Members(const Object& object, bool may_wrap) {
        for (const auto& [key, value] : object) {
            const std::string_view member = key;
            if (member == "name") {
                name = &value;
            } else if (member == "_meta") {
                meta = value.if_object();
            } else if (member == "method") {
                method = &value;
            } else if (is_one_of(member, kArguments)) {
                if (value.is_null()) continue;
                (called.empty() ? called : again) = member;
                arguments = &value;
            } else if (may_wrap && value.is_object() && is_one_of(member, kWrappers) && wrapped == nullptr) {
                wrapper = member;
                wrapped = &value;
            } else if (stranger.empty() && !is_one_of(member, kBeside) && may_be_arguments(value)) {
                stranger = member;
            }
        }
    }
};

}  // namespace

Result<ToolCallParts> parts_of_tool_call(const Value& tool_call) {
    const Object* const object = tool_call.if_object();
    if (object == nullptr) return no_tool_call();
    const Members outer(*object, true);
    if (outer.method != nullptr && *outer.method != Value("tools/call"))
        return fail(ErrorCode::invalid_arguments,
                    "This request is not tools/call: nothing else can be asked here.",
                    {{"reason", "not_tools_call"}});
    // {"name": …, "params": {…}} is no wrapper, but arguments under another name.
    const bool is_wrapper = outer.wrapped != nullptr && (outer.wrapper != "params" || outer.name == nullptr);
    if (!is_wrapper) {
        if (outer.name == nullptr || !outer.name->is_string()) return no_tool_call();
        const std::string_view name = outer.name->get_string();
        if (!outer.again.empty()) return twice(name, outer.called, outer.again);
        if (outer.arguments == nullptr) {
            if (outer.wrapped != nullptr && may_be_arguments(*outer.wrapped))
                return misnamed(name, outer.wrapper);
            if (!outer.stranger.empty()) return misnamed(name, outer.stranger);
        }
        return ToolCallParts{name, outer.arguments, outer.meta};
    }
    const Members inner(outer.wrapped->get_object(), false);
    if (inner.name == nullptr || !inner.name->is_string()) return no_tool_call();
    const std::string_view name = inner.name->get_string();
    if (!inner.again.empty()) return twice(name, inner.called, inner.again);
    if (inner.arguments == nullptr) {
        for (const std::string_view member : {inner.stranger, outer.called, outer.stranger})
            if (!member.empty()) return misnamed(name, member);
    } else if (outer.arguments != nullptr) {
        return twice(name, inner.called, outer.called);
    }
    return ToolCallParts{name, inner.arguments, inner.meta};
}

Request request_from_tool_call(const Value& tool_call, Context context) {
    Request request;
    request.context = share(std::move(context));
    auto parts = parts_of_tool_call(tool_call);
    if (!parts) {
        // On the record under the tool's name, where there is one.
        Object& details = parts.error().details;
        if (const Value* const tool = details.if_contains("tool")) {
            request.tool = std::string(tool->get_string());
            details.erase("tool");
        }
        request.from().refused = std::move(parts.error());
        return request;
    }
    request.tool = std::string(parts->name);
    if (parts->arguments != nullptr) request.arguments = Args(*parts->arguments);
    return request;
}

}  // namespace callgate::pipeline
