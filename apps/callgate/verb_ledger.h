// `callgate ledger stats|check|backup|gc`: the care of a ledger, while calls run and while none do.
//
// Exit codes: 0 done, kNo where a check found something or it was called off, kUnusable.
//
// Threads: one thread.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "terminal.h"

namespace callgate::cli {

/// Add the verbs. When one is chosen, `chosen` becomes what runs it and gives the exit code.
void add_ledger(CLI::App& app, const Console& console, std::function<int()>& chosen);

}  // namespace callgate::cli
