// The life of a call: ten stages, in this order.
//
//    1 resolve     is there such a tool, and is it fit
//    2 authorize   are its scopes granted
//    3 validate    do the arguments fit its schema
//    4 classify    how risky is this call
//    5 replay      has this key been answered already
//    6 gate        allow, preview, confirm or deny; limits; the resource's turn
//    7 claim       on the record, before anything happens; uses up the approval
//    8 dispatch    the tool runs: deadline, cancel, retries
//    9 shape       the result: schema, secrets masked, size
//   10 settle      the outcome on the record, and everybody is notified
//
// A stage says next, pending, awaits_reply or end. After `end`, shape is left out and settle ends the call;
// nothing else does.
#pragma once

#include <array>
#include <string_view>

#include "pipeline/authorize.h"
#include "pipeline/call.h"
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

struct Stage {
    std::string_view name;
    Step (*run)(Call&);
};

inline constexpr std::array<Stage, 10> kStages{{
    {"resolve", resolve},
    {"authorize", authorize},
    {"validate", validate},
    {"classify", classify},
    {"replay", replay},
    {"gate", gate},
    {"claim", claim},
    {"dispatch", dispatch},
    {"shape", shape},
    {"settle", settle},
}};
inline constexpr std::size_t kSettle = kStages.size() - 1;

}  // namespace callgate::pipeline
