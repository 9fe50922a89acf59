// Tool calls as models and their vendors send them: {"name", "arguments"}, as it is (OpenAI's Responses,
// Anthropic, MCP's params) or in its wrapper: {"function": …} (OpenAI, Mistral, Ollama), {"functionCall": …}
// (Gemini), {"toolUse": …} (Bedrock), {"method": "tools/call", "params": …} (MCP). The arguments may also be
// called "input" (Anthropic, Bedrock) or "args" (Gemini).
//
// No arguments are lost silently: those under a name that nobody knows, beside the wrapper, or under two
// names at once are refused. Members that vendors send beside (ids, signatures, _meta, …) are passed over.
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "pipeline/call.h"

namespace callgate::pipeline {

/// Views of the document that it was read from.
struct ToolCallParts {
    std::string_view name;
    const Value* arguments = nullptr;  ///< as they came, perhaps JSON text; nullptr: there are none
    const Object* meta = nullptr;      ///< "_meta" beside them
};

/// invalid_arguments {reason: no_tool_call | not_tools_call | misnamed_arguments | arguments_twice}; the last
/// two name the tool, too.
Result<ToolCallParts> parts_of_tool_call(const Value& tool_call);

/// A request that carries its own refusal where the tool call is none, or has no usable arguments.
Request request_from_tool_call(const Value& tool_call, Context context);

}  // namespace callgate::pipeline
