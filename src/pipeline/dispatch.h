// Stage 8, dispatch: the tool runs.
//
// Inline tools here and now, plain functions on the pool, async ones wherever they like. The deadline covers
// all attempts; at it, and when the call is called off, the answer goes out at once and the tool is left to
// itself. Another attempt is made only if the contract says so, and only where nothing can have happened or
// repeating does no harm.
#pragma once

#include <callgate/error.h>

#include "pipeline/counter.h"
#include "pipeline/step.h"

namespace callgate::pipeline {

#define CALLGATE_DISPATCH_COUNTERS(X)                        \
    X(retries)                                               \
    X(asked)        /* questions put to callers */           \
    X(not_asked)    /* that were not: limits, no channel */  \
    X(abandoned)    /* tools that outlived their deadline */ \
    X(late_answers) /* of those */                           \
    X(fenced)       /* another owner had taken the call over */
CALLGATE_STAGE_COUNTERS(DispatchCounters, CALLGATE_DISPATCH_COUNTERS);

[[gnu::hot]] Step dispatch(Call& call);

/// The call ends before its next attempt has passed the fence: as its last attempt did, or with `why`. What
/// the ledger still answers is somebody else's to settle.
Step end_without_attempt(Call& call, Error why);

}  // namespace callgate::pipeline
