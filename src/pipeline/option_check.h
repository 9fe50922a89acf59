// Whether a host's options can be kept: refused when the runtime is made, and not found out by a call.
//
// Threads: a pure function.
#pragma once

#include <callgate/error.h>
#include <callgate/runtime.h>

namespace callgate::pipeline {

/// config_error {reason: option_out_of_range, option, least, most} for the first one that is out of its
/// range.
Result<void> check_options(const RuntimeOptions& options);

}  // namespace callgate::pipeline
