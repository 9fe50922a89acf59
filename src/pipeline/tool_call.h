// Tool calls as models send them: {"function":{"name","arguments"}} or {"name","arguments"}; the arguments
// may also be called "input" (Anthropic, Bedrock) or "args" (Gemini).
#pragma once

#include "pipeline/call.h"

namespace callgate::pipeline {

/// A request that carries its own refusal where the tool call has no usable name.
Request request_from_tool_call(const Value& tool_call, Context context);

}  // namespace callgate::pipeline
