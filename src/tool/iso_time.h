// Points in time as text: ISO 8601, UTC, microseconds: 2026-01-01T00:00:00.000000Z.
//
// Threads: may be called from any thread.
#pragma once

#include <chrono>
#include <string>

namespace callgate {

std::string iso_utc(std::chrono::system_clock::time_point at);

}  // namespace callgate
