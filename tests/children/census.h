// Counts what a test has left behind: processes, zombies, descriptors.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <sys/types.h>

namespace callgate::children {

/// Processes whose command line has this word, zombies (which have none) not among them.
std::size_t alive(const std::string& marker);
/// The same after at most so long, as soon as there are none.
std::size_t alive_after(const std::string& marker, std::chrono::milliseconds at_most);
/// Children of a process that nobody has reaped.
std::size_t zombies_of(pid_t parent);
/// Of this process.
std::size_t open_descriptors();

}  // namespace callgate::children
