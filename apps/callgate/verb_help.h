// `callgate help [VERB...]` and `callgate version`: the verbs that speak of the program itself.
//
// Threads: one thread.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds them to the program, which must have its other verbs. `console` must outlive the program.
void add_help(Verb& program, const Console& console);

/// "callgate 1.2.3", or {"version": "1.2.3"}. The exit code.
int print_version(bool json, const Console& console);

}  // namespace callgate::cli
