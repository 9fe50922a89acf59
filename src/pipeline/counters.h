// What happened to the calls of one runtime, as numbers: each stage lists its own.
//
// Threads: may be used from any thread; reading is not a snapshot across counters.
#pragma once

#include <array>

#include <callgate/outcome.h>

#include "pipeline/authorize.h"
#include "pipeline/claim.h"
#include "pipeline/classify.h"
#include "pipeline/dispatch.h"
#include "pipeline/gate.h"
#include "pipeline/replay.h"
#include "pipeline/resolve.h"
#include "pipeline/settle.h"
#include "pipeline/shape.h"
#include "pipeline/validate.h"

namespace callgate::pipeline {

struct Counters {
    Counter calls;
    std::array<Counter, kStateCount> ended;
    Counter observer_faults;

    ResolveCounters resolve;
    AuthorizeCounters authorize;
    ValidateCounters validate;
    ClassifyCounters classify;
    ReplayCounters replay;
    GateCounters gate;
    ClaimCounters claim;
    DispatchCounters dispatch;
    ShapeCounters shape;
    SettleCounters settle;
};

}  // namespace callgate::pipeline
