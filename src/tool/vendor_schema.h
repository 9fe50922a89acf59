// What vendors have against schemas: found before they refuse the whole request for one tool.
//
// From the vendors' error messages and documentation; what is not refused here may still be refused there.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include <callgate/definitions.h>
#include <callgate/json.h>

#include "tool/gemini_schema.h"

namespace callgate {

/// The form's vendor does not take such a schema for arguments at all.
std::optional<SchemaFault> input_schema_fault(const Object& schema, DefinitionForm form);

/// It does not take it with `strict`.
std::optional<SchemaFault> strict_schema_fault(const Object& schema, DefinitionForm form);

/// Whether the schema means the same without its "$schema", that is, under 2020-12; else why not.
std::optional<SchemaFault> dialect_fault(const Object& schema);

}  // namespace callgate
