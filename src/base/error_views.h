// An error as others see it: the views of the five seed systems, the audit and the model.
//
// All words come from the table (error_table.h). Facts that differ between two errors with the same code (was
// anything sent, may it have had an effect) are passed in as CallFacts. No view ever contains a stack trace:
// the members `stack` and `stacktrace` of an error's details are left out.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include <callgate/error.h>

#include "base/error_table.h"

namespace callgate::base {

/// What a view needs to know about the call besides the error.
struct CallFacts {
    bool in_process = true;   ///< a native tool, not a process or a remote server
    bool dispatched = false;  ///< something was handed to the tool
    bool effectful = true;    ///< running it may have changed something
};

std::string s0_text(const Error& error, std::string_view tool);

std::string s1_text(const Error& error, std::string_view tool);
boost::json::object s1_details(const Error& error);

std::string_view s2_code(ErrorCode code, const CallFacts& facts = {}) noexcept;
std::string s2_text(const Error& error, std::string_view tool);
/// A refusal has no S2 code of its own: it is `tool_error`, with our code as `reason` and its former `reason`
/// as `case`.
boost::json::object s2_details(const Error& error, const CallFacts& facts = {});

/// `tool_call.unknown` where the effect may have happened.
std::string_view s3_event(const Error& error, const CallFacts& facts) noexcept;
/// ErrorDetail.code.
std::string_view s3_code(const Error& error) noexcept;

std::string s4_text(const Error& error, std::string_view tool);

/// The message followed by what to do next.
std::string model_text(const Error& error);

}  // namespace callgate::base
