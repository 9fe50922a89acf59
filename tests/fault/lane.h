// A lane: round after round, each with a ledger of its own, workers that are killed, and a check at the end.
//
// A round's workers die by a signal at a random moment (while they open the ledger, too), or by themselves at
// a failpoint: in a tool before or after its effect, or at one of the places that a census of an unharmed
// worker has shown to be passed. In every third round three processes want the same ledger, and the others
// go on trying while one has it. Everything follows from the seed but the moments.
//
// Processes: everything here runs in processes with one thread, made by fork() alone: nothing is loaded
// again, so that a worker is at work in a few milliseconds.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "board.h"

namespace callgate::fault {

struct LanePlan {
    std::string directory;  ///< rounds have theirs in it
    std::uint64_t seed = 1;
    std::uint64_t kills = 500;
    std::uint64_t kills_per_round = 50;
    bool resends = false;       ///< the control: unsafe calls are sent again
    bool until_double = false;  ///< ends with the first round that had a double effect
    std::string kept;           ///< audits are exported into this directory; "" nowhere
};

/// What a lane did, in memory that its parent sees.
struct LaneReport {
    std::uint64_t kills = 0;
    std::uint64_t in_effect = 0;  ///< kills while a tool ran: between C3 and C4 of a call
    std::uint64_t at_failpoints = 0;
    std::uint64_t while_opening = 0;  ///< before the worker had the ledger
    std::uint64_t in_races = 0;       ///< with others that wanted the ledger
    std::uint64_t refusals = 0;
    std::uint64_t two_owners = 0;
    std::uint64_t rounds = 0;
    Verdict found;  ///< of all rounds
    std::array<std::uint64_t, kStateCount> told{};
    std::array<char, 8'192> places{};   ///< "name kills\n"
    std::array<char, 2'048> trouble{};  ///< "" if all went as it should
};

/// In a process of its own.
[[noreturn]] void run_lane(const LanePlan& plan, LaneReport& report);

}  // namespace callgate::fault
