// `callgate calls list|show|resolve`: what was called, what came of it, and a person's finding about an
// outcome that is unknown.
//
// Exit codes: 0 done, kNo refused or declined, kUnusable.
//
// Threads: one thread.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "terminal.h"

namespace callgate::cli {

/// Add the verbs. When one is chosen, `chosen` becomes what runs it and gives the exit code.
void add_calls(CLI::App& app, const Console& console, std::function<int()>& chosen);

}  // namespace callgate::cli
