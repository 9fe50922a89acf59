// `callgate call NAME [JSON|-]`: one call of a demo tool through the whole runtime.
//
// The result goes to standard output; the verdict, progress, trace and questions go to standard error; with
// --json exactly one JSON document goes to standard output. The exit codes are CallExit.
//
// Threads: one thread; it starts the runtime's.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds it to the program. `console` must outlive the program.
void add_call(Verb& program, const Console& console);

}  // namespace callgate::cli
