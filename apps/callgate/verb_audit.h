// `callgate audit tail|show|verify|export|prove|checkpoint|key|rotate-key`: the record of everything, and
// whether it is still what was recorded.
//
// The log is verified by this program, from what its owner exports, not by the owner. Exit codes: 0 done or
// found good, kNo not, kUnusable.
//
// Threads: one thread.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "terminal.h"

namespace callgate::cli {

/// Add the verbs. When one is chosen, `chosen` becomes what runs it and gives the exit code.
void add_audit(CLI::App& app, const Console& console, std::function<int()>& chosen);

}  // namespace callgate::cli
