// Stage 7, claim: on the record before anything happens.
//
// One step of the ledger inserts the claim, uses up the approval, marks the call as dispatched and writes the
// audit event; if it cannot, nothing runs. A read without a key needs no claim.
#pragma once

#include "pipeline/step.h"

namespace callgate::pipeline {

struct ClaimCounters {
    Counter claimed;
    Counter waited;
    Counter lost;  ///< somebody else has the key
    Counter approval_refused;
    Counter reconciled;  ///< a probe settled what a dead owner left
    Counter ledger_down;
};

[[gnu::hot]] Step claim(Call& call);

}  // namespace callgate::pipeline
