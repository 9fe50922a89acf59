// Stage 3, validate: arguments become one normalised object that satisfies the tool's schema.
//
// They may come as an object, as JSON text, or not at all. What does not fit is brought into shape where
// nothing is guessed (coercion, on a copy); what still does not fit is refused with every reason at once, and
// nothing runs. Absent members that a native tool's schema has a default for are filled in: the schema, the
// rules, an approval and the tool see them alike. NaN and infinities are no JSON and are refused. A resumed
// call has the arguments that were approved: an action's hooks do not run again, and nothing is filled in.
#pragma once

#include "pipeline/counter.h"
#include "pipeline/step.h"

namespace callgate::pipeline {

#define CALLGATE_VALIDATE_COUNTERS(X) \
    X(unparsable)                     \
    X(invalid)                        \
    X(coerced)
CALLGATE_STAGE_COUNTERS(ValidateCounters, CALLGATE_VALIDATE_COUNTERS);

[[gnu::hot]] Step validate(Call& call);

}  // namespace callgate::pipeline
