// The owner of a ledger, as a program that talks with hostile children: starts and ends one kind after the
// other, several at once, while an approval is open.
//
// Threads: one function, which makes and joins its own.
#pragma once

#include <cstddef>
#include <string>

namespace callgate::children {

struct OwnerPlan {
    std::string marker;
    std::string directory;  ///< of its ledger, new
    int cycles = 0;
    int lanes = 4;
    bool refuses = true;  ///< its own descendants at control.sock; a control switches it off
};

struct OwnerReport {
    std::size_t orphans = 0;  ///< processes that outlived the end of what they came of
    std::size_t zombies = 0;
    std::size_t descriptors = 0;     ///< more than before
    std::size_t tried = 0;           ///< votes that children sent
    std::size_t refused = 0;         ///< and that they saw refused
    std::size_t self_approvals = 0;  ///< and that the ledger has
    std::size_t stuck = 0;  ///< children that did not do what they are for, or whose end was not seen
};

/// Blocks. At the end it says "served" on standard output and waits for a line of input, during which the
/// operator may vote.
OwnerReport run_owner(const OwnerPlan& plan);

/// What asks the owner's ledger to approve, and its id.
std::string vote_request();
std::string approval_id();
std::string approval_digest();

}  // namespace callgate::children
