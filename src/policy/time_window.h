// A TimeWindow, checked and with its zone looked up: is this moment inside?
//
// The answer follows the wall clock of the zone, so a window from 22:00 to 07:00 is an hour shorter or longer
// in the night the clocks change. `from` belongs to the window, `until` does not. Where the window spans
// midnight, the hours after midnight belong to the day it began on.
//
// Threads: immutable values; they refer to the process's zone database, which stays.
#pragma once

#include <cstdint>

#include <callgate/error.h>
#include <callgate/policy.h>

#include "base/clock.h"

namespace date {
class time_zone;  // NOLINT(readability-identifier-naming): theirs
}

namespace callgate::policy {

class CompiledWindow {
public:
    /// config_error {reason: bad_window | unknown_zone | no_zone_database}.
    static Result<CompiledWindow> compile(const TimeWindow& window);

    bool contains(base::WallTime now) const;

private:
    CompiledWindow() = default;

    const date::time_zone* zone_ = nullptr;  // null: UTC
    std::int32_t from_ = 0;                  // minutes of the day
    std::int32_t until_ = 0;
    std::uint8_t weekdays_ = 0;  // bit n: n days after Monday
};

}  // namespace callgate::policy
