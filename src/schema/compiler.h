// From schema document to program.
//
// Every reachable subschema becomes one block; a subschema that only refers elsewhere becomes no block of its
// own. Compiling fails, with the place in the schema named, where the document breaks the rules of its
// dialect, refers to something that is not at hand, refers in a circle without ever looking at a smaller part
// of the instance, holds a pattern the engine cannot run, or passes a limit.
//
// Threads: one compile on one thread.
#pragma once

#include <cstdint>
#include <memory>

#include <callgate/schema.h>

#include "schema/program.h"

namespace callgate::schema {

/// A metaschema is not asked whether it is a schema.
enum class CheckMetaschema : std::uint8_t { no, yes };

Result<std::shared_ptr<const Program>> compile_program(const Value& document, const CompileOptions& options,
                                                       CheckMetaschema check = CheckMetaschema::yes);

}  // namespace callgate::schema
