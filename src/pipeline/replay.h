// Stage 5, replay: a read-only look at the idempotency key.
//
// A call that has been answered is answered again from the record, without asking a person and without
// running anything. One that is still running is waited for until this call's own deadline. The scopes were
// checked before.
#pragma once

#include "pipeline/step.h"

namespace callgate::pipeline {

struct ReplayCounters {
    Counter replayed;
    Counter waited;
    Counter in_progress;
    Counter key_reused;
    Counter key_expired;
    Counter unknown;
};

[[gnu::hot]] Step replay(Call& call);

}  // namespace callgate::pipeline
