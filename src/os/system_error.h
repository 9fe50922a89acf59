// A failed system call as an Error.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <string>
#include <string_view>

#include <callgate/error.h>

namespace callgate::os {

/// The system's words for an errno, e.g. "No space left on device".
std::string errno_text(int error_number);

/// "Cannot <what> <subject>: <the system's words>.", details {reason: "system", errno, operation, subject}.
Error system_error(ErrorCode code, std::string_view what, std::string_view subject, int error_number);

/// details.errno, or 0.
int error_number(const Error& error) noexcept;

/// There is no room, on the device or within the user's share of it.
bool is_disk_full(int error_number) noexcept;

}  // namespace callgate::os
