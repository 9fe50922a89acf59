// `callgate tools`: the built-in demo set, for people and for programs.
//
// Threads: one thread.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds it to the program. `console` must outlive the program.
void add_tools(Verb& program, const Console& console);

}  // namespace callgate::cli
