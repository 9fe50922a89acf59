// `callgate secrets set|rotate|remove|check|rotate-key`: the encrypted secrets file, from outside.
//
// A value is read from standard input or asked for without echo, is never an argument, and is never printed;
// nothing lists what the file holds.
//
// Threads: one thread.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds it to the program. `console` must outlive the program.
void add_secrets(Verb& program, const Console& console);

}  // namespace callgate::cli
