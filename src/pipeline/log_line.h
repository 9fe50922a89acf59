// The log lines of a call, in the form that S2 gave them.
//
//     TOOL_CALL tool=read_file args={'path': '/etc/hosts'}
//     TOOL_SUCCESS tool=read_file duration=12ms content='127.0.0.1 localhost'
//     TOOL_FAILED tool=read_file duration=3ms error=[timeout_error] Tool execution timed out after 30s
//
// Each is one line whatever the call contained: quotes, backslashes, control characters and characters that
// change the direction of text are escaped, and a tool's name holds no space. Arguments are masked by name
// and by value while they are written. Every part is bounded. The level is the caller's: INFO, INFO, WARNING.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include <callgate/json.h>

#include "pipeline/log_line_text.h"
#include "redact/redactor.h"

namespace callgate::pipeline {

inline constexpr std::size_t kLogArgumentsBytes = 2'000;     ///< then "..."
inline constexpr std::size_t kLogContentCharacters = 100;    ///< then "..."
inline constexpr std::size_t kLogMessageCharacters = 1'000;  ///< then "..."
inline constexpr std::size_t kLogNameCharacters = 128;       ///< then "..."
inline constexpr std::size_t kLogStackBytes = 12'000;        ///< then "..."

/// Arguments in Python's notation. Those that are no object were refused: the line gives only their kind and
/// size, since nothing in them can be masked by name.
[[gnu::hot]] void tool_call_line(LineText& out, std::string_view tool, const Value& arguments,
                                 const redact::Redactor& redactor);

/// Without content there is no `content` field. Content is expected to be masked already, as results are.
[[gnu::hot]] void tool_success_line(LineText& out, std::string_view tool, std::chrono::nanoseconds duration,
                                    std::string_view content);

void tool_failed_line(LineText& out, std::string_view tool, std::chrono::nanoseconds duration,
                      std::string_view s2_code, std::string_view message);

/// Where an exception came from: its type, and its frames one after the other. At WARNING, before the call's
/// failure.
void tool_stack_line(LineText& out, std::string_view tool, std::string_view exception_type,
                     const Array& frames);

/// Somebody asked for a tool that is not registered: at WARNING, beside the call's own lines.
void security_warning_line(LineText& out, std::string_view tool, std::string_view principal);

}  // namespace callgate::pipeline
