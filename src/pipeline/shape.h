// Stage 9, shape: the answer becomes the result.
//
// Output hooks and output schema, secrets masked by value, and a bound on its size; what was cut says so.
#pragma once

#include <callgate/error.h>
#include <callgate/result.h>

#include "pipeline/step.h"
#include "redact/redactor.h"

namespace callgate::pipeline {

struct ShapeCounters {
    Counter output_invalid;
    Counter cut;
};

[[gnu::hot]] Step shape(Call& call);

/// Secrets out, by value, wherever a tool may have put them.
void mask(ToolResult& result, const redact::Redactor& redactor);
void mask(Error& error, const redact::Redactor& redactor);

}  // namespace callgate::pipeline
