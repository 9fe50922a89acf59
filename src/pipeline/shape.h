// Stage 9, shape: the answer becomes the result.
//
// Output hooks and output schema, secrets masked by value, and a bound on its size; what was cut says so. An
// answer with NaN or an infinity is no JSON: the call then ends as failed (output_invalid), its effect on the
// record.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <callgate/error.h>
#include <callgate/result.h>

#include "pipeline/counter.h"
#include "pipeline/step.h"
#include "redact/redactor.h"

namespace callgate::pipeline {

#define CALLGATE_SHAPE_COUNTERS(X) \
    X(output_invalid)              \
    X(cut)
CALLGATE_STAGE_COUNTERS(ShapeCounters, CALLGATE_SHAPE_COUNTERS);

[[gnu::hot]] Step shape(Call& call);

/// The content of a failure is kept as a result is: JSON, without secrets, within the limit. May be called
/// after the call has ended, too.
void shape_failure(const Call& call, ToolFailure& failure);

/// The last that is done to one before it is anybody's: it is found out what its raw is, secrets are masked,
/// and what is too large becomes what a model would be shown of it, which says so. True: it was cut.
enum class Of : std::uint8_t { success, failure };
bool finish_result(const Call& call, ToolResult& result, Of what = Of::success);

/// Why this is no answer that can be written as JSON and read again, if it is not: output_invalid {reason:
/// not_finite, part, path} or {reason: too_deep, part, limit}.
std::optional<Error> unwritable(const ToolResult& result, std::string_view tool);

/// The details of a failure that are no such JSON are named instead of kept.
void leave_out_unwritable(Object& details);

/// Secrets out, by value, wherever a tool may have put them.
void mask(ToolResult& result, const redact::Redactor& redactor);
void mask(Error& error, const redact::Redactor& redactor);

}  // namespace callgate::pipeline
