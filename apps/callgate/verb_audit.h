// `callgate audit tail|show|verify|export|prove|checkpoint|key|rotate-key|archive|segments|erase`: the record
// of everything, and whether it is still what was recorded.
//
// The log is verified by this program, from what its owner exports, not by the owner. Exit codes: 0 done or
// found good, kNo not, kUnusable.
//
// Threads: one thread.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds it to the program. `console` must outlive the program.
void add_audit(Verb& program, const Console& console);

}  // namespace callgate::cli
