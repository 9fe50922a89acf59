#include "ledger/control/peer_origin.h"

#include <fmt/format.h>
#include <unistd.h>

namespace callgate::ledger {

std::optional<Error> refusal_of(const os::PeerOrigin& origin) {
    using os::Descent;
    if (origin.from_us == Descent::below)
        return Error(ErrorCode::denied,
                     fmt::format("This program was started by the process that owns the ledger (pid {}), or "
                                 "by something that it started. What tools run may not decide about tools: "
                                 "ask from a terminal that has nothing to do with it.",
                                 ::getpid()),
                     {{"reason", "own_descendant"}, {"owner", ::getpid()}});
    if (origin.from_others == Descent::below)
        return Error(ErrorCode::denied,
                     fmt::format("This program was started by the client whose calls the ledger's owner (pid "
                                 "{}) serves, or by something that the client started. Who asks for a call "
                                 "may not decide about it: ask from a terminal that has nothing to do with "
                                 "the client.",
                                 ::getpid()),
                     {{"reason", "client_descendant"}, {"owner", ::getpid()}});
    if (origin.from_us == Descent::gone || origin.from_others == Descent::gone)
        return Error(ErrorCode::denied,
                     "The program that connected has ended, or the ledger's owner cannot see it: who asks "
                     "must be there, and in the same container as the owner.",
                     {{"reason", "peer_gone"}, {"owner", ::getpid()}});
    return std::nullopt;
}

}  // namespace callgate::ledger
