// Who may not ask at the control socket because of where they come from, whoever they are.
//
// What a tool runs must not decide about tools: not a child of the process that owns the ledger, nor anything
// that came of one. Where the process serves a client over standard input, neither may that client, nor the
// shell that it gives a model. A peer that has ended, or cannot be seen, may not ask either: whoever holds
// its end of the socket is not who connected.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

#include <callgate/error.h>

#include "os/lineage.h"

namespace callgate::ledger {

/// denied {reason: own_descendant | client_descendant | peer_gone}; nothing: it may ask.
std::optional<Error> refusal_of(const os::PeerOrigin& origin);

/// One that was turned away.
struct RefusedPeer {
    pid_t pid = 0;  ///< 0: not known
    uid_t uid = 0;
    Error why;
    std::uint64_t refused = 0;  ///< so many were so far, this one included
};

}  // namespace callgate::ledger
