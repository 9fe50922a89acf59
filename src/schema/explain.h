// Why an instance is invalid: every violation with its place and a sentence that tells how to mend it.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <string_view>

#include <callgate/schema.h>

#include "schema/program.h"

namespace callgate::schema {

/// `noun` is what the sentences call a named part of the instance.
Explanation explain_instance(const Program& program, const Value& instance, std::size_t max_violations,
                             std::string_view noun = "Parameter");

}  // namespace callgate::schema
