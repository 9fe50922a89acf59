// The place in a text that an error speaks of: the line, cut to what can be read, and a caret below it.
//
// Threads: plain values and pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/error.h>

#include "terminal.h"

namespace callgate::cli {

struct Excerpt {
    std::size_t line = 0;
    std::string text;        ///< printable
    std::size_t column = 0;  ///< of the caret in `text`, from 0
};

/// For an error with details.line and details.byte, as json::parse gives; nothing where the line is blank.
std::optional<Excerpt> excerpt_of(std::string_view text, const Error& error);

/// Two lines, the second with the caret.
std::string render(const Excerpt& excerpt, const Style& style);

}  // namespace callgate::cli
