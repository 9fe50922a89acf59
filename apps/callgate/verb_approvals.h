// `callgate approvals list|show|approve|deny|revoke|watch`: what waits for a person, and the person's answer.
//
// Whoever runs it decides in their own name, as the operating system knows it. What is approved is what was
// shown: its digest goes with the vote. Exit codes: 0 done, kNo refused or declined, kUnusable.
//
// Threads: one thread.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds it to the program. `console` must outlive the program.
void add_approvals(Verb& program, const Console& console);

}  // namespace callgate::cli
