// callgate operator: the key that an operator signs decisions with.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds it to the program. `console` must outlive the program.
void add_operator(Verb& program, const Console& console);

}  // namespace callgate::cli
