// Stage 4, classify: the risk of this very call: the contract's, by action, then the adjusters and raise-risk
// rules, which only ever raise it.
#pragma once

#include "pipeline/step.h"

namespace callgate::pipeline {

struct ClassifyCounters {
    Counter raised;
};

[[gnu::hot]] Step classify(Call& call);

}  // namespace callgate::pipeline
