// The processes of this machine as /proc shows them: which is whose child, and since when.
//
// A pid together with its start names one process for as long as the machine is up; a pid alone does not.
// Everything here does without memory of its own and without the C++ library, since callgate-launch, which is
// linked statically and must not fail for want of memory, is made of it.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/types.h>

namespace callgate::os {

struct ProcessEntry {
    pid_t pid = 0;
    pid_t parent = 0;           ///< 0: it has none that we can see
    std::uint64_t started = 0;  ///< in ticks since the machine was started
    bool below = false;         ///< keep_below()'s own
};

/// False: there is none of this number, or /proc does not show it to us.
bool read_process(pid_t pid, ProcessEntry& entry) noexcept;

/// All that /proc shows, by increasing pid, as far as there is room; how many they are.
std::size_t list_processes(std::span<ProcessEntry> room) noexcept;

/// Moves to the front those of a list that descend from `root`, which is not one of them; how many they are.
std::size_t keep_below(std::span<ProcessEntry> listed, pid_t root) noexcept;

/// -1 and errno where it cannot be had.
int open_pidfd(pid_t pid) noexcept;

/// Signals this very process; one that has come to its number since is left alone. False: it was not there,
/// or is not ours to signal.
bool signal_process(const ProcessEntry& entry, int signal) noexcept;

/// Kills all that descends from `root`, which is stopped first: what is stopped cannot fork. What was made
/// while this looked is found by the next call; call it until nothing is left.
void kill_below(std::span<ProcessEntry> room, pid_t root) noexcept;

}  // namespace callgate::os
