// Stage 5, replay: a read-only look at the idempotency key.
//
// A call that has been answered is answered again from the record, without asking a person and without
// running anything. One that is still running is waited for until this call's own deadline. The scopes were
// checked before.
//
// The keys of a batch's calls are "key#0", "key#1", …, and no caller's own key may end so. A batch of one
// had the plain key in earlier versions: what is on record there counts as this call's, and it goes on
// under that key, too. Only where nothing is there does it go on as "key#0".
//
// Earlier versions did not fill in the defaults of a tool's schema: what they recorded counts for a call
// whose arguments are the same without those. So does what they recorded under a fingerprint that covered the
// tool's definition. A call that takes such a record over writes its own fingerprint there.
#pragma once

#include "pipeline/counter.h"
#include "pipeline/step.h"

namespace callgate::pipeline {

#define CALLGATE_REPLAY_COUNTERS(X)                                   \
    X(replayed)                                                       \
    X(waited)      /* for another call with its key */                \
    X(in_progress) /* and still ran when this one had no more time */ \
    X(key_reused)                                                     \
    X(key_expired)                                                    \
    X(unknown)
CALLGATE_STAGE_COUNTERS(ReplayCounters, CALLGATE_REPLAY_COUNTERS);

[[gnu::hot]] Step replay(Call& call);

}  // namespace callgate::pipeline
