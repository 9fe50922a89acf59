// Parser of ECMA-262 patterns in u-mode (edition 2025: look-behind, named groups, modifiers).
//
// It keeps no recursion, so nesting costs memory only. In lenient mode two habits of patterns written for
// non-u engines are taken as their authors meant them: an escaped punctuation mark (`\-`, `\@`) and a hyphen
// beside a class escape (`[\w-.]`). Everything else is an error with its place and a remedy.
//
// Threads: a pure function.
#pragma once

#include <cstddef>
#include <string_view>

#include <tl/expected.hpp>

#include "schema/regex_ast.h"

namespace callgate::schema {

struct PatternSyntax {
    bool lenient = false;
    bool simplify = true;  ///< one set for a choice between characters
    std::size_t max_nesting = 250;

    PatternSyntax() {}
};

tl::expected<Ast, PatternError> parse_pattern(std::string_view pattern, const PatternSyntax& syntax);

}  // namespace callgate::schema
