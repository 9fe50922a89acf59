// `callgate tools`: the built-in demo set, for people and for programs.
//
// Threads: one thread.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "terminal.h"

namespace callgate::cli {

/// Add the verb. When it is chosen, `chosen` becomes what runs it and gives the exit code.
void add_tools(CLI::App& app, const Console& console, std::function<int()>& chosen);

}  // namespace callgate::cli
