// What happened to the calls of one runtime, as numbers: each stage lists its own (counter.h).
//
// Threads: may be used from any thread; reading is not a snapshot across counters.
#pragma once

#include <array>
#include <string_view>

#include <callgate/outcome.h>

#include "pipeline/authorize.h"
#include "pipeline/claim.h"
#include "pipeline/classify.h"
#include "pipeline/counter.h"
#include "pipeline/dispatch.h"
#include "pipeline/gate.h"
#include "pipeline/replay.h"
#include "pipeline/resolve.h"
#include "pipeline/settle.h"
#include "pipeline/shape.h"
#include "pipeline/validate.h"

namespace callgate::pipeline {

#define CALLGATE_COUNTING_STAGES(X) \
    X(ResolveCounters, resolve)     \
    X(AuthorizeCounters, authorize) \
    X(ValidateCounters, validate)   \
    X(ClassifyCounters, classify)   \
    X(ReplayCounters, replay)       \
    X(GateCounters, gate)           \
    X(ClaimCounters, claim)         \
    X(DispatchCounters, dispatch)   \
    X(ShapeCounters, shape)         \
    X(SettleCounters, settle)

struct Counters {
    Counter calls;
    std::array<Counter, kStateCount> ended;
    Counter observer_faults;

#define CALLGATE_STAGE_MEMBER(Struct, stage) Struct stage;
    CALLGATE_COUNTING_STAGES(CALLGATE_STAGE_MEMBER)
#undef CALLGATE_STAGE_MEMBER

    /// visit(stage, name, counter) for what the stages count.
    template <class Visit>
    void each(const Visit& visit) const {
#define CALLGATE_STAGE_VISIT(Struct, stage) \
    stage.each([&](std::string_view name, const Counter& counter) { visit(#stage, name, counter); });
        CALLGATE_COUNTING_STAGES(CALLGATE_STAGE_VISIT)
#undef CALLGATE_STAGE_VISIT
    }
};

}  // namespace callgate::pipeline
