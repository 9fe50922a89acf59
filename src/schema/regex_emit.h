// Writes a parsed pattern in the syntax of RE2 or PCRE2.
//
// Sets are spelled as code points, so that both engines match what ECMA-262 says whatever their own
// shorthands mean. `^` and `$` become \A and \z.
//
// Threads: a pure function.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "schema/regex_ast.h"

namespace callgate::schema {

enum class RegexTarget : std::uint8_t { re2, pcre2 };

/// Fails, with a sentence, where the target has no words for it. Patterns with Ast::foreign are for PCRE2
/// only.
tl::expected<std::string, std::string> emit_pattern(const Ast& ast, RegexTarget target);

}  // namespace callgate::schema
