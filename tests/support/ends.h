// For the programs that judge many calls: what an outcome's state says about the tool.
#pragma once

#include <callgate/outcome.h>

namespace callgate::tests {

/// Ends that say the tool was not entered by this call.
inline bool is_refusal(State state) {
    switch (state) {
        case State::not_found:
        case State::unavailable:
        case State::scope_denied:
        case State::invalid:
        case State::denied:
        case State::needs_approval:
        case State::previewed:
        case State::suppressed:
        case State::limited:
        case State::replayed:
        case State::key_conflict: return true;
        default: return false;
    }
}

}  // namespace callgate::tests
