// Exceptions for hosts that want them: call_or_throw() throws one of these, built from the outcome it would
// have returned. The audit has the event before the exception is thrown.
#pragma once

#include <stdexcept>
#include <string>

#include <callgate/outcome.h>

namespace callgate {

/// Any outcome that is not a success. what() is "Tool '<name>' failed: <message>".
class ToolExecutionError : public std::runtime_error {
public:
    explicit ToolExecutionError(Outcome outcome);
    const Outcome& outcome() const noexcept { return outcome_; }

private:
    Outcome outcome_;
};

class ToolNotFound : public ToolExecutionError {
    using ToolExecutionError::ToolExecutionError;
};
class ToolUnavailable : public ToolExecutionError {
    using ToolExecutionError::ToolExecutionError;
};
class ScopeViolation : public ToolExecutionError {
    using ToolExecutionError::ToolExecutionError;
};
class InvalidArguments : public ToolExecutionError {
    using ToolExecutionError::ToolExecutionError;
};
class ApprovalRequired : public ToolExecutionError {
    using ToolExecutionError::ToolExecutionError;
};
class PreviewRequired : public ToolExecutionError {
    using ToolExecutionError::ToolExecutionError;
};
class HardBlocked : public ToolExecutionError {
    using ToolExecutionError::ToolExecutionError;
};
class OutcomeUnknown : public ToolExecutionError {
    using ToolExecutionError::ToolExecutionError;
};
class AuditWriteError : public ToolExecutionError {
    using ToolExecutionError::ToolExecutionError;
};

/// Throws the exception that belongs to the outcome; returns if it is a success.
void throw_if_failed(const Outcome& outcome);

}  // namespace callgate
