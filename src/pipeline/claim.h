// Stage 7, claim: on the record before anything happens.
//
// One step of the ledger inserts the claim, uses up the approval, marks the call as dispatched and writes the
// audit event; if it cannot, nothing runs. A read without a key needs no claim.
#pragma once

#include "pipeline/counter.h"
#include "pipeline/step.h"

namespace callgate::pipeline {

#define CALLGATE_CLAIM_COUNTERS(X)                                           \
    X(claimed)                                                               \
    X(waited) /* for another call with its key */                            \
    X(lost)   /* somebody else has the key */                                \
    X(approval_refused)                                                      \
    X(reconciled) /* a probe was asked what became of a dead owner's call */ \
    X(ledger_down)
CALLGATE_STAGE_COUNTERS(ClaimCounters, CALLGATE_CLAIM_COUNTERS);

[[gnu::hot]] Step claim(Call& call);

}  // namespace callgate::pipeline
