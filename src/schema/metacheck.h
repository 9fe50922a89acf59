// Is this document a schema? Asked of its metaschema, by the same engine that checks instances.
//
// Threads: any; the compiled metaschemas are built on first use and shared.
#pragma once

#include <callgate/error.h>

#include "schema/index.h"

namespace callgate::schema {

/// config_error, reason not_a_schema, naming every violation. A resource with a metaschema of its own is not
/// checked here: the compiler refuses what it cannot read.
Result<void> check_against_metaschema(const Resource& resource);

}  // namespace callgate::schema
