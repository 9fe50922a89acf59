// The last pass over a compiled program: what can only be known when all blocks are there.
//
// Threads: one compile on one thread.
#pragma once

#include <callgate/error.h>

#include "schema/program.h"

namespace callgate::schema {

/// Copies plain type checks to where they are used, finds members that tell alternatives apart, and refuses
/// references that lead in a circle at one place of the instance (reason cyclic_ref).
Result<void> finish_program(Program& program);

}  // namespace callgate::schema
