// `callgate approvals list|show|approve|deny|revoke|watch`: what waits for a person, and the person's answer.
//
// Whoever runs it decides in their own name, as the operating system knows it. What is approved is what was
// shown: its digest goes with the vote. Exit codes: 0 done, kNo refused or declined, kUnusable.
//
// Threads: one thread.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "terminal.h"

namespace callgate::cli {

/// Add the verbs. When one is chosen, `chosen` becomes what runs it and gives the exit code.
void add_approvals(CLI::App& app, const Console& console, std::function<int()>& chosen);

}  // namespace callgate::cli
