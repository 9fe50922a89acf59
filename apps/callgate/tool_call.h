// A whole tool call as clients and models write it down: which tool, and with what.
//
// Recognised by shape, as Runtime::call_json does (pipeline/tool_call.h): the same forms, and the same calls
// are refused.
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

/// On failure: config_error {reason: not_a_call | not_tools_call}; invalid_arguments {reason:
/// misnamed_arguments | arguments_twice}.
Result<ToolCall> tool_call_from_json(const Value& document);

}  // namespace callgate::cli
