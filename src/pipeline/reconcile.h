// What a program that is gone left in doubt: the probes of the tools are asked what became of it.
//
// Only calls of effect class `verify` have a probe. Each one is adopted first, so that nobody else goes on
// with it meanwhile; what its probe finds is on the record before it counts. A call that had no effect is not
// made up for: its key is free again, and whoever still wants it calls again.
#pragma once

#include <callgate/runtime.h>

#include "pipeline/core.h"

namespace callgate::pipeline {

/// Blocks until every probe has answered or its time is over; several at once.
Result<ReconcileReport> reconcile(Runtime::Core& core);

}  // namespace callgate::pipeline
