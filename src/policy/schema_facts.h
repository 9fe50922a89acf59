// What can be proved about an argument schema without running it. Every answer "yes" is certain; "no" means
// only that it is not easily told.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <string>

#include <callgate/json.h>

namespace callgate::policy {

/// No arguments satisfy it: why, in a few words. Arguments are always an object.
std::optional<std::string> never_satisfied(const Value& schema);

/// Every document satisfies it.
bool always_satisfied(const Value& schema);

/// A member that arguments must have to satisfy `schema`, and that arguments accepted by `tool_schema` cannot
/// have.
std::optional<std::string> impossible_member(const Value& schema, const Value& tool_schema,
                                             bool open_arguments);

}  // namespace callgate::policy
