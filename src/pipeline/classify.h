// Stage 4, classify: the risk of this very call: the contract's, by action, then the adjusters and raise-risk
// rules, which only ever raise it.
#pragma once

#include "pipeline/counter.h"
#include "pipeline/step.h"

namespace callgate::pipeline {

#define CALLGATE_CLASSIFY_COUNTERS(X) \
    X(raised)                         \
    X(predicate_faults) /* of a rule that raises the risk */
CALLGATE_STAGE_COUNTERS(ClassifyCounters, CALLGATE_CLASSIFY_COUNTERS);

[[gnu::hot]] Step classify(Call& call);

}  // namespace callgate::pipeline
