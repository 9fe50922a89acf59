// Every world that can be reached from the first one, breadth first, with the shortest way to what is wrong.
//
// Threads: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "world.h"

namespace callgate::model {

struct Finding {
    std::string what;
    std::vector<std::string> steps;  ///< from the beginning, each with the world after it
};

struct Explored {
    std::uint64_t states = 0;
    std::uint64_t transitions = 0;
    std::uint32_t depth = 0;  ///< moves to the farthest world; all nearer ones were looked at
    std::uint64_t stuck = 0;  ///< worlds from which some call can never end
    bool complete = false;    ///< everything was looked at: neither a finding nor `max_states` came first
    std::optional<Finding> finding;
};

/// Stops at the first broken invariant. Otherwise looks for worlds that are stuck.
Explored explore(const Settings& settings, std::uint64_t max_states, Seen& seen);

}  // namespace callgate::model
