// `callgate policy test CALL.json` explains what would be decided about a call, stage by stage;
// `callgate policy lint POLICY.json` says which rules can never decide and which tools none covers.
//
// Both look at the demo set. Nothing is run.
//
// Threads: one thread.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds it to the program. `console` must outlive the program.
void add_policy(Verb& program, const Console& console);

}  // namespace callgate::cli
