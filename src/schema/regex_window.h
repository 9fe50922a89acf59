// Takes a counted repetition out of a pattern where the length of the text says as much.
//
// ^[a-z][a-z0-9]{0,62}$ is ^[a-z][a-z0-9]*$ on texts of 1 to 63 characters. Counting is cheap, while an
// automaton needs a state for every count; so this keeps counted patterns of any size small in every engine.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

#include "schema/regex_ast.h"

namespace callgate::schema {

/// The lengths a text may have, in code points.
struct LengthWindow {
    std::size_t min = 0;
    std::size_t max = std::numeric_limits<std::size_t>::max();
    bool ascii_only = false;  ///< what the pattern matches is ASCII, so that bytes may be counted

    bool holds(std::string_view text) const noexcept;
};

/// Rewrites `ast` where it can, so that the old pattern matches what the new one matches within the window.
LengthWindow extract_window(Ast& ast);

}  // namespace callgate::schema
