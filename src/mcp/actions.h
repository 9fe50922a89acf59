// A tool with actions, as a client of MCP sees it: MCP has no word for them, so one more argument, `action`,
// says which one is meant. It is taken out again before the tool's own schema judges the others. A tool whose
// schema has an argument of that name gets `callgate_action` instead.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <string>

#include <callgate/json.h>

namespace callgate::mcp {

/// The schema as it is listed, for a tool with these actions.
Value with_action(const Value& input_schema, std::span<const std::string> actions);
/// Which action the arguments name, taken out of them; `call` where they name none.
std::string take_action(Object& arguments, const Value& input_schema, std::span<const std::string> actions);

}  // namespace callgate::mcp
