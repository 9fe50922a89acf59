// `callgate calls list|show|resolve`: what was called, what came of it, and a person's finding about an
// outcome that is unknown.
//
// Exit codes: 0 done, kNo refused or declined, kUnusable.
//
// Threads: one thread.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds it to the program. `console` must outlive the program.
void add_calls(Verb& program, const Console& console);

}  // namespace callgate::cli
