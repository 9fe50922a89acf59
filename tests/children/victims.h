// Owners of hostile children that are killed.
//
// Threads: one function, on one thread.
#pragma once

#include <cstddef>
#include <string>

namespace callgate::children {

struct VictimReport {
    std::size_t kills = 0;
    std::size_t orphans = 0;
    std::size_t children = 0;  ///< that had begun when their owner was killed
};

/// kill -9 for `kills` owners of four children each, some while they start them.
VictimReport kill_owners(const std::string& marker, int kills, unsigned seed);

}  // namespace callgate::children
