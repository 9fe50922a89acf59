// `callgate call NAME [JSON|-]`: one call of a demo tool through the whole runtime.
//
// The result goes to standard output; the verdict, progress, trace and questions go to standard error; with
// --json exactly one JSON document goes to standard output. The exit codes are CallExit.
//
// Threads: one thread; it starts the runtime's.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "terminal.h"

namespace callgate::cli {

/// Add the verb. When it is chosen, `chosen` becomes what runs it and gives the exit code.
void add_call(CLI::App& app, const Console& console, std::function<int()>& chosen);

}  // namespace callgate::cli
