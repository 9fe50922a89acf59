#include "pipeline/refusal_state.h"

namespace callgate::pipeline {

State refusal_state(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::not_found:
        case ErrorCode::ambiguous_name: return State::not_found;
        case ErrorCode::unavailable:
        case ErrorCode::quarantined:
        case ErrorCode::silenced:
        case ErrorCode::circuit_open: return State::unavailable;
        case ErrorCode::scope_denied: return State::scope_denied;
        case ErrorCode::invalid_arguments:
        case ErrorCode::unknown_action: return State::invalid;
        case ErrorCode::denied:
        case ErrorCode::approval_denied:
        case ErrorCode::approval_expired: return State::denied;
        case ErrorCode::approval_required: return State::needs_approval;
        case ErrorCode::preview_required: return State::previewed;
        case ErrorCode::suppressed: return State::suppressed;
        case ErrorCode::rate_limited:
        case ErrorCode::budget_exceeded:
        case ErrorCode::loop_detected: return State::limited;
        case ErrorCode::in_progress: return State::in_progress;
        case ErrorCode::key_reused:
        case ErrorCode::key_expired: return State::key_conflict;
        case ErrorCode::outcome_unknown: return State::unknown;
        case ErrorCode::timed_out: return State::timed_out;
        case ErrorCode::cancelled: return State::cancelled;
        default: return State::failed;
    }
}

}  // namespace callgate::pipeline
