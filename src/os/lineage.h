// Which process descends from which, and where the peer of a socket comes from.
//
// Parents are read from /proc while processes come and go, so each step is read twice and repeated where it
// changed in between; what cannot be settled counts as gone. A child that was made to lose its parent (double
// fork) comes to the nearest subreaper: below one of our launchers, or a program that is a subreaper itself,
// it still descends from it. Elsewhere it comes to init, and nothing shows any more where it came from.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <sys/types.h>

#include "os/fd.h"

namespace callgate::os {

/// One process, for as long as the machine is up: its number and when it started.
struct ProcessId {
    pid_t pid = 0;
    std::uint64_t started = 0;

    bool operator==(const ProcessId&) const = default;
};

/// Nothing: there is none of this number, or we may not look.
std::optional<ProcessId> process_id(pid_t pid) noexcept;

enum class Descent : std::uint8_t {
    elsewhere,  ///< from none of them, as far as can be seen
    below,      ///< from one of them, or it is one
    gone,       ///< it has ended, or cannot be seen
};

Descent descent_of(pid_t pid, std::span<const ProcessId> roots) noexcept;

struct PeerOrigin {
    Descent from_us = Descent::gone;  ///< from this process, or from any launcher that we do not come from
    Descent from_others = Descent::gone;  ///< from the roots that were named
    pid_t pid = 0;
};

/// Where the process comes from that connected this socket, as the kernel knows it: by its pidfd
/// (SO_PEERPIDFD, Linux 6.5), else by its number, which another may have by now if it has ended. This process
/// itself comes from elsewhere. A peer that has ended is gone, whoever holds its end of the socket.
PeerOrigin origin_of_peer(const Fd& socket, std::span<const ProcessId> others) noexcept;

/// The client that started this process to talk with it over standard input: our nearest ancestor that does
/// not itself have that input, since a shell or `npx` between us does. Nothing where the input is no pipe or
/// socket, or the ancestor is init. Ask at the start: a client that ends takes its place in the line with it.
std::optional<ProcessId> client_of_stdio() noexcept;

}  // namespace callgate::os
