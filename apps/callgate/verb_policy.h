// `callgate policy test CALL.json` explains what would be decided about a call, stage by stage;
// `callgate policy lint POLICY.json` says which rules can never decide and which tools none covers.
//
// Both look at the demo set. Nothing is run.
//
// Threads: one thread.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "terminal.h"

namespace callgate::cli {

/// Add the verb. When it is chosen, `chosen` becomes what runs it and gives the exit code.
void add_policy(CLI::App& app, const Console& console, std::function<int()>& chosen);

}  // namespace callgate::cli
