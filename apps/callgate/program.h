// The callgate program without main(): the command line in, an exit code out.
//
// The list of verbs is here; each verb is a file of its own (verb_*.cpp).
//
// Threads: one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "terminal.h"

namespace callgate::cli {

/// Wrong usage; also what every verb answers to unusable input.
constexpr int kUnusable = 2;

/// Every verb. When one is chosen, `chosen` becomes what runs it and gives the exit code.
void add_verbs(CLI::App& app, const Console& console, std::function<int()>& chosen);

/// `arguments` without the program's own name.
int run_program(const std::vector<std::string>& arguments, const Console& console);

}  // namespace callgate::cli
