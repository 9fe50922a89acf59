// Stage 6, gate: the decision.
//
// Deny ends the call. Preview runs the tool's preview and nothing else. Confirm needs an approval for exactly
// this call: one that was given goes on to the claim, which uses it up; otherwise one is asked for, or the
// open one joined. What is allowed must then be admitted: no flapping, no loop, breaker shut, within the
// limits, and its resource free.
#pragma once

#include "pipeline/step.h"

namespace callgate::pipeline {

struct GateCounters {
    Counter denied;
    Counter needs_approval;
    Counter previewed;
    Counter by_approval;
    Counter by_grant;
    Counter suppressed;
    Counter looped;
    Counter limited;
    Counter circuit_open;
    Counter waited_for_resource;
    Counter waited_for_place;
};

[[gnu::hot]] Step gate(Call& call);

}  // namespace callgate::pipeline
