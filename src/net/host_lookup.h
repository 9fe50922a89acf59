// What addresses a name has.
//
// The system's own function for it blocks, for as long as its servers do not answer. So it is called on a few
// threads that are kept for it, never on a loop's. A name that is being looked up is asked for once, however
// many want it: so one that hangs holds up no other, nor do several, as long as there is a thread left.
//
// Threads: may be used from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <callgate/error.h>

#include "net/address.h"

namespace callgate::net {

class HostLookup {
public:
    /// One address at least, the best first. Called once, on any thread, also before look_up() has returned.
    using Done = std::function<void(Result<std::vector<IpAddress>>)>;

    virtual ~HostLookup() = default;
    /// transport {reason: lookup}: there is no such name, or nobody knows now; unavailable {reason:
    /// too_many_lookups}: too many wait already. `done` must neither block nor throw.
    virtual void look_up(std::string host, Done done) = 0;
};

/// As the system resolves names (getaddrinfo). Destroyed, it drops what still waits and waits itself for what
/// the system is asked at that moment: seconds, where name servers do not answer. Not on a loop thread, then.
std::shared_ptr<HostLookup> system_lookup();

}  // namespace callgate::net
