// Many hosts, in processes of their own: one that hangs or dies is a violation, and takes no other with it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace callgate::hosts {

struct Tally {
    std::uint64_t hosts = 0;
    std::uint64_t calls = 0;
    std::uint64_t violations = 0;
    std::size_t mutants = 0;
    std::size_t found = 0;
};

/// Prints each violation.
Tally play_all(std::uint64_t seed, std::uint64_t hosts, std::size_t lanes);
/// Each rule switched off by itself, until a host shows it. Prints a line for each.
Tally find_mutants(std::uint64_t seed, std::size_t lanes);

}  // namespace callgate::hosts
