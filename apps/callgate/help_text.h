// The help of a verb, from its description: what --help and `callgate help` print. It fits 80 columns.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>

#include "options.h"

namespace callgate::cli {

constexpr std::size_t kHelpWidth = 80;

std::string help_text(const Verb& verb);

}  // namespace callgate::cli
