// A line that a person types, unless Ctrl-C comes first.
//
// While an Interrupt is there, the first Ctrl-C only asks the program to stop: a plain read of the terminal
// would go on waiting. This one looks at both.
//
// Threads: one reader of standard input.
#pragma once

#include <istream>
#include <optional>
#include <string>

#include "interrupt.h"

namespace callgate::cli {

/// Whatever was typed at a terminal so far: an answer is one to what is shown, not to what came before it.
/// Call it before the question is shown.
void forget_typed_ahead(std::istream& from);

/// Nothing: the input ended, or Ctrl-C came (then interrupt.requested()).
std::optional<std::string> read_line(std::istream& from, const Interrupt& interrupt);

}  // namespace callgate::cli
