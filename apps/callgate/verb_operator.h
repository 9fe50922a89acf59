// callgate operator: the key that an operator signs decisions with.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "terminal.h"

namespace callgate::cli {

void add_operator(CLI::App& app, const Console& console, std::function<int()>& chosen);

}  // namespace callgate::cli
