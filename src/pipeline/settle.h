// Stage 10, settle: the outcome goes on the record, and then everybody is notified: telemetry, log,
// observers, health, limits.
//
// The only place where a call ends.
#pragma once

#include "pipeline/counter.h"
#include "pipeline/step.h"

namespace callgate::pipeline {

#define CALLGATE_SETTLE_COUNTERS(X) \
    X(audit_failures)               \
    X(left) /* calls that went on without the ledger's reply */
CALLGATE_STAGE_COUNTERS(SettleCounters, CALLGATE_SETTLE_COUNTERS);

[[gnu::hot]] Step settle(Call& call);

/// How the call ends is on its way to the record, and it leaves without waiting for that (leave.h).
Step leave_settle(Call& call);

}  // namespace callgate::pipeline
