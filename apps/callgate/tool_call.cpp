#include "tool_call.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "operator_verb.h"
#include "pipeline/tool_call.h"

namespace callgate::cli {

namespace {

constexpr std::string_view kKeyInMeta = "callgate/idempotencyKey";

Error not_a_call(std::string_view what) {
    return {
        ErrorCode::config_error,
        fmt::format("{} A call is an object such as {{\"name\": \"add\", \"arguments\": {{\"a\": 1}}}}, or "
                    "an MCP tools/call request.",
                    what),
        {{"reason", "not_a_call"}}};
}

}  // namespace

Result<ToolCall> tool_call_from_json(const Value& document) {
    auto parts = pipeline::parts_of_tool_call(document);
    if (!parts) {
        Error& error = parts.error();
        const std::string reason = text_at(error.details, "reason");
        if (reason == "no_tool_call")
            error = not_a_call(document.is_object() ? "It has no 'name', or the name is no text."
                                                    : "This is no JSON object.");
        if (reason == "not_tools_call") error.code = ErrorCode::config_error;
        return tl::unexpected(std::move(error));
    }
    ToolCall call{std::string(parts->name), Object(), {}};
    if (parts->arguments != nullptr && !parts->arguments->is_null()) call.arguments = *parts->arguments;
    if (parts->meta != nullptr) call.key = text_at(*parts->meta, kKeyInMeta);
    return call;
}

}  // namespace callgate::cli
