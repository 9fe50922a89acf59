// A whole tool call as clients and models write it down: which tool, and with what.
//
// Recognised by shape: {"name", "arguments"}, which is also the params of an MCP tools/call request; that
// request itself; OpenAI's {"function": {"name", "arguments"}}; Anthropic's {"type": "tool_use", "name",
// "input"}; Bedrock's {"toolUse": {"name", "input"}};
// Gemini's {"functionCall": {"name", "args"}}, also without its wrapper.
//
// Threads: plain values and pure functions.
#pragma once

#include <string>

#include <callgate/error.h>
#include <callgate/json.h>

namespace callgate::cli {

struct ToolCall {
    std::string name;
    Value arguments;  ///< an object, or its text; an empty object where there are none
    std::string key;  ///< _meta["callgate/idempotencyKey"] of an MCP request, else ""
};

/// On failure: config_error {reason: not_a_call | not_tools_call}.
Result<ToolCall> tool_call_from_json(const Value& document);

/// An MCP request, or its params with what only they have: not yet a call that a runtime takes.
bool is_mcp_request(const Value& document);

}  // namespace callgate::cli
