// Agents that connect to their upstreams again and again, as those do that start a server for each session.
//
// Threads: one function, on one thread.
#pragma once

#include <cstddef>
#include <string>

namespace callgate::children {

struct ReconnectReport {
    std::size_t connections = 0;  ///< that answered
    std::size_t failed = 0;
    std::size_t zombies = 0;
    std::size_t orphans = 0;
    std::size_t descriptors = 0;
};

/// As many processes as agents, each with so many upstreams, each connected `times` times.
ReconnectReport reconnect(const std::string& marker, int agents, int upstreams, int times);

}  // namespace callgate::children
