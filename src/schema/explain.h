// Why an instance is invalid: every violation with its place and a sentence that tells how to mend it.
//
// Threads: any.
#pragma once

#include <cstddef>

#include <callgate/schema.h>

#include "schema/program.h"

namespace callgate::schema {

Explanation explain_instance(const Program& program, const Value& instance, std::size_t max_violations);

}  // namespace callgate::schema
