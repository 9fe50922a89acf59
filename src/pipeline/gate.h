// Stage 6, gate: the decision.
//
// Deny ends the call. Preview runs the tool's preview and nothing else. Confirm needs an approval for exactly
// this call: one that was given goes on to the claim, which uses it up; otherwise one is asked for, or the
// open one joined. What is allowed must then be admitted: no flapping, no loop, breaker shut, within the
// limits, and its resource free.
#pragma once

#include "pipeline/counter.h"
#include "pipeline/step.h"

namespace callgate::pipeline {

#define CALLGATE_GATE_COUNTERS(X)                                                           \
    X(denied)                                                                               \
    X(needs_approval)                                                                       \
    X(previewed)                                                                            \
    X(by_approval)                                                                          \
    X(by_grant)                                                                             \
    X(suppressed)                                                                           \
    X(looped)                                                                               \
    X(limited)                                                                              \
    X(circuit_open)                                                                         \
    X(abandoned_calls)  /* its tool holds as many threads past their deadlines as may be */ \
    X(queue_full)       /* no room for it to wait for a thread */                           \
    X(predicate_faults) /* of a rule that decides */                                        \
    X(waited_for_resource)                                                                  \
    X(waited_for_place)
CALLGATE_STAGE_COUNTERS(GateCounters, CALLGATE_GATE_COUNTERS);

[[gnu::hot]] Step gate(Call& call);

}  // namespace callgate::pipeline
