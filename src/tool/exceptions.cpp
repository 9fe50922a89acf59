#include <callgate/exceptions.h>

#include <fmt/format.h>

namespace callgate {
namespace {

std::string what_of(const Outcome& outcome) {
    const Error* const error = outcome.error();
    if (error == nullptr || error->message.empty()) return fmt::format("Tool '{}' failed", outcome.tool());
    return fmt::format("Tool '{}' failed: {}", outcome.tool(), error->message);
}

}  // namespace

ToolExecutionError::ToolExecutionError(Outcome outcome)
    : std::runtime_error(what_of(outcome)), outcome_(std::move(outcome)) {}

RegistrationError::RegistrationError(Error error)
    : std::invalid_argument(error.message), error_(std::move(error)) {}

void throw_if_failed(const Outcome& outcome) {
    if (outcome.ok()) return;
    // Whatever the call did: what its caller has to know first is that the record lacks it.
    if (outcome.error() != nullptr && outcome.error()->code == ErrorCode::audit_failure) {
        throw AuditWriteError(outcome);
    }
    switch (outcome.state()) {
        case State::not_found: throw ToolNotFound(outcome);
        case State::unavailable: throw ToolUnavailable(outcome);
        case State::scope_denied: throw ScopeViolation(outcome);
        case State::invalid: throw InvalidArguments(outcome);
        case State::needs_approval: throw ApprovalRequired(outcome);
        case State::previewed: throw PreviewRequired(outcome);
        case State::denied: throw HardBlocked(outcome);
        case State::unknown: throw OutcomeUnknown(outcome);
        default: break;
    }
    // What is left tells more by its code: a replay, for one, may be of an unknown outcome.
    switch (outcome.error() != nullptr ? outcome.error()->code : ErrorCode::tool_error) {
        case ErrorCode::ledger_unavailable: throw AuditWriteError(outcome);
        case ErrorCode::outcome_unknown: throw OutcomeUnknown(outcome);
        default: throw ToolExecutionError(outcome);
    }
}

}  // namespace callgate
