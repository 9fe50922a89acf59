// `callgate ledger stats|check|backup|gc`: the care of a ledger, while calls run and while none do.
//
// Exit codes: 0 done, kNo where a check found something or it was called off, kUnusable.
//
// Threads: one thread.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds it to the program. `console` must outlive the program.
void add_ledger(Verb& program, const Console& console);

}  // namespace callgate::cli
