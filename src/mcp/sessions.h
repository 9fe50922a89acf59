// The sessions of a server: those over HTTP by their ids, and whoever is at the other end of standard input.
//
// There are so many at most. One that is in use is never ended to make room, nor for being idle: where all
// that could make room are in use, no further one begins. One over standard input ends with its client.
//
// Threads: the server's home thread.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/mcp.h>

#include "mcp/session.h"

namespace callgate::mcp {

class Sessions {
public:
    using Time = std::chrono::steady_clock::time_point;

    explicit Sessions(const ServerLimits& limits) : limits_(limits) {}

    std::shared_ptr<Session> new_session_over_lines();
    /// What has to end before another one may begin: the idle, and the one that was used the longest ago.
    std::vector<std::shared_ptr<Session>> make_room(Time now);
    /// Over HTTP. Null: there is no room.
    std::shared_ptr<Session> new_session(Time now);
    std::shared_ptr<Session> find(std::string_view id) const;
    void used(Session& session, Time now);
    void remove(const std::shared_ptr<Session>& session);
    /// Whatever becomes of them meanwhile.
    std::vector<std::shared_ptr<Session>> all() const;

private:
    using ByUse = std::list<std::shared_ptr<Session>>;

    const ServerLimits& limits_;
    ByUse by_use_;  // over HTTP; the one used the longest ago first
    std::map<std::string, ByUse::iterator, std::less<>> by_id_;
    std::set<std::shared_ptr<Session>> over_lines_;
};

}  // namespace callgate::mcp
