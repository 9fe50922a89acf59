// A pause that a stop request ends early.
//
// Threads: may be called on any thread; the stop may be requested on any other.
#pragma once

#include <chrono>
#include <stop_token>

namespace callgate::base {

/// Waits that long, or until a stop is requested. False: it was requested.
bool wait_unless_stopped(const std::stop_token& stop, std::chrono::milliseconds time);

}  // namespace callgate::base
