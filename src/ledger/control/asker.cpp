#include "ledger/control/asker.h"

#include <fmt/format.h>
#include <unistd.h>

namespace callgate::ledger {

Asker asker_of(const os::PeerCredentials& peer, bool is_owner) {
    Asker asker;
    const std::string name = os::user_name(peer.uid);
    asker.name = name.empty() ? fmt::format("uid:{}", peer.uid) : "user:" + name;
    asker.uid = peer.uid;
    asker.pid = peer.pid;
    asker.is_owner = is_owner;
    return asker;
}

Asker this_process() {
    os::PeerCredentials self;
    self.uid = ::getuid();
    self.pid = ::getpid();
    return asker_of(self, true);
}

std::string with_origin(std::string_view words, const Asker& asker) {
    const std::string origin = fmt::format("uid {}, pid {}", asker.uid, asker.pid);
    return words.empty() ? origin : fmt::format("{} ({})", words, origin);
}

}  // namespace callgate::ledger
