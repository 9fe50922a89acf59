// The last part of the gate: what was allowed must also be admitted now. No flapping and no storm, no loop,
// breaker shut, within the limits, and the resource it names free. Nothing is taken by a call that is not
// admitted.
#pragma once

#include "pipeline/step.h"

namespace callgate::pipeline {

[[gnu::hot]] Step admit(Call& call);

}  // namespace callgate::pipeline
