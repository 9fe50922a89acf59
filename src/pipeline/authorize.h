// Stage 2, authorize: every scope that the contract asks for is granted to the caller.
//
// Missing scopes are never retried and never asked for here. Where the contract hides the tool from those
// without them, the answer is that of an unknown tool; the audit keeps the truth.
#pragma once

#include "pipeline/counter.h"
#include "pipeline/step.h"

namespace callgate::pipeline {

#define CALLGATE_AUTHORIZE_COUNTERS(X) \
    X(scope_denied)                    \
    X(hidden) /* answered as an unknown tool */
CALLGATE_STAGE_COUNTERS(AuthorizeCounters, CALLGATE_AUTHORIZE_COUNTERS);

[[gnu::hot]] Step authorize(Call& call);

}  // namespace callgate::pipeline
