// Exceptions for hosts that want them. call_or_throw() throws a ToolExecutionError, built from the outcome it
// would have returned; the audit has the event before the exception is thrown. Registry::add_or_throw()
// throws a RegistrationError.
//
// Threads: plain values.
#pragma once

#include <stdexcept>
#include <string>

#include <callgate/error.h>
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

/// A tool that was not registered. what() is the error's message.
class RegistrationError : public std::invalid_argument {
public:
    explicit RegistrationError(Error error);
    const Error& error() const noexcept { return error_; }

private:
    Error error_;
};

/// Throws the exception that belongs to the outcome; returns if it is a success.
void throw_if_failed(const Outcome& outcome);

}  // namespace callgate
