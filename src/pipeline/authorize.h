// Stage 2, authorize: every scope that the contract asks for is granted to the caller.
//
// Missing scopes are never retried and never asked for here. Where the contract hides the tool from those
// without them, the answer is that of an unknown tool; the audit keeps the truth.
#pragma once

#include "pipeline/step.h"

namespace callgate::pipeline {

struct AuthorizeCounters {
    Counter scope_denied;
    Counter hidden;
};

[[gnu::hot]] Step authorize(Call& call);

}  // namespace callgate::pipeline
