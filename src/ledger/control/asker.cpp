#include "ledger/control/asker.h"

#include <fmt/format.h>
#include <unistd.h>

namespace callgate::ledger {

namespace {

std::string name_of(uid_t uid) {
    const std::string name = os::user_name(uid);
    return name.empty() ? fmt::format("uid:{}", uid) : "user:" + name;
}

}  // namespace

Asker asker_of(const os::PeerCredentials& peer, bool is_owner) {
    Asker asker;
    asker.name = name_of(peer.uid);
    asker.uid = peer.uid;
    asker.pid = peer.pid;
    asker.is_owner = is_owner;
    asker.may_make_files = is_owner && (peer.uid == 0 || peer.uid == ::geteuid());
    return asker;
}

Asker this_process() {
    os::PeerCredentials self;
    self.uid = ::getuid();
    self.pid = ::getpid();
    Asker asker = asker_of(self, true);
    asker.may_make_files = true;
    return asker;
}

std::string this_process_runs_as() {
    return name_of(::geteuid());
}

std::string with_origin(std::string_view words, const Asker& asker) {
    const std::string origin = fmt::format("uid {}, pid {}", asker.uid, asker.pid);
    return words.empty() ? origin : fmt::format("{} ({})", words, origin);
}

}  // namespace callgate::ledger
