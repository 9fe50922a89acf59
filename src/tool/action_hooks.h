// The hooks that the pipeline calls on an action's behalf, with what they throw turned into an error.
//
// Without hooks each is the identity, so a stage may call them for every tool.
//
// Threads: pure functions; the hooks themselves may be called from many threads at once.
#pragma once

#include <callgate/tool.h>

namespace callgate {

Result<Object> before_validate(const ActionHooks* hooks, Object arguments);
Result<Object> after_validate(const ActionHooks* hooks, Object arguments);
Result<ToolResult> after_output(const ActionHooks* hooks, ToolResult result);
bool can_compensate(const ActionHooks* hooks) noexcept;
/// The caller bounds its time by hooks->compensation_timeout.
Result<void> compensate(const ActionHooks* hooks, const Error& error, const Object& arguments,
                        CallContext& context);

}  // namespace callgate
