// What became of a call, found by its id: where it runs, waits for a person, or what the record has of its
// end.
//
// Threads: may be used from any thread; blocks while the ledger looks.
#pragma once

#include <string_view>

#include <callgate/calls.h>
#include <callgate/result.h>

#include "pipeline/core.h"

namespace callgate::pipeline {

/// As Runtime::outcome().
Result<CallStatus> status_of(Runtime::Core& core, std::string_view call_id, const Context& caller);

}  // namespace callgate::pipeline
