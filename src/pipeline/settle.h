// Stage 10, settle: the outcome goes on the record, and then everybody is told: telemetry, log, observers,
// health, limits.
//
// The only place where a call ends.
#pragma once

#include "pipeline/step.h"

namespace callgate::pipeline {

struct SettleCounters {
    Counter audit_failures;
};

[[gnu::hot]] Step settle(Call& call);

}  // namespace callgate::pipeline
