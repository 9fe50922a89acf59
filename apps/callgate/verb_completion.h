// `callgate completion SHELL`: the script that makes a shell complete our command lines, and the hidden
// `callgate complete`, which the script asks.
//
// Threads: one thread.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds them to the program. `console` must outlive the program.
void add_completion(Verb& program, const Console& console);

}  // namespace callgate::cli
