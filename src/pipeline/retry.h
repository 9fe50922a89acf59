// Whether a failed attempt may be followed by another, and when.
//
// Only if the contract gives retries, only where nothing can have happened or repeating does no harm, within
// the tool's retry budget, and only if there is time left for it.
#pragma once

#include <chrono>
#include <optional>

#include <callgate/result.h>

#include "pipeline/call.h"

namespace callgate::pipeline {

/// How long to wait before the next attempt; nothing: this was the last.
std::optional<std::chrono::milliseconds> next_attempt_in(Call& call, const ToolFailure& failure);

}  // namespace callgate::pipeline
