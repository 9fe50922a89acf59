// `callgate secrets set|rotate|remove|check|rotate-key`: the encrypted secrets file, from outside.
//
// A value is read from standard input or asked for without echo, is never an argument, and is never printed;
// nothing lists what the file holds.
//
// Threads: one thread.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "terminal.h"

namespace callgate::cli {

/// Add the verb. When it is chosen, `chosen` becomes what runs it and gives the exit code.
void add_secrets(CLI::App& app, const Console& console, std::function<int()>& chosen);

}  // namespace callgate::cli
