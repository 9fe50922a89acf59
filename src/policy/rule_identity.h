// What a rule is known by: its name or, without one, its content; and in either case its predicate's name and
// version.
//
// The record, the digest of an approval and explanations name rules. A rule without a name is called after a
// hash of everything it decides by, so a rule that is inserted, removed or moved elsewhere changes nobody
// else's name, and a rule that was changed has another one. What a rule says (`reason`) does not count.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include <callgate/policy.h>

namespace callgate::policy {

/// What stands for a rule with a predicate in an approval's digest: its id, and which function was asked. The
/// function itself has no content that could be compared.
std::string identity_of(const Rule& rule);

/// "rule-" and 16 hexadecimal digits.
std::string name_by_content(const Rule& rule);

/// Whether a name has that form. Such a name is never taken from a configuration but made again, so that a
/// configuration that was read back, changed and set again means the same as one that was written by hand.
bool is_name_by_content(std::string_view name) noexcept;

}  // namespace callgate::policy
