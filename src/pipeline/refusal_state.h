// How a call ends that was refused: the state that follows from its error's code.
#pragma once

#include <callgate/error.h>
#include <callgate/outcome.h>

namespace callgate::pipeline {

State refusal_state(ErrorCode code) noexcept;

}  // namespace callgate::pipeline
