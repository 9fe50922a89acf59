// Coercion: what a model meant, where nothing has to be guessed.
//
// A separate step before validation, on a copy. A value that already satisfies its subschema is never
// touched. A string becomes a number only if the whole string is one, a boolean only in full mode, an object
// or array only if it is that as JSON text; null goes where an optional parameter does not take null. Every
// change is reported. Integer to number needs no step: every integer is a number already.
//
// Threads: any.
#pragma once

#include <callgate/schema.h>

#include "schema/program.h"

namespace callgate::schema {

Coerced coerce_instance(const Program& program, const Value& instance, CoercionMode mode);

}  // namespace callgate::schema
