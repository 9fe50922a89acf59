#include "ledger/control/control_user.h"

#include <fmt/format.h>
#include <unistd.h>

namespace callgate::ledger {

namespace {

std::string name_of(uid_t uid) {
    const std::string name = os::user_name(uid);
    return name.empty() ? fmt::format("uid:{}", uid) : "user:" + name;
}

}  // namespace

ControlUser control_user_of(const os::PeerCredentials& peer, bool is_owner) {
    ControlUser user;
    user.name = name_of(peer.uid);
    user.uid = peer.uid;
    user.pid = peer.pid;
    user.is_owner = is_owner;
    user.may_make_files = is_owner && (peer.uid == 0 || peer.uid == ::geteuid());
    return user;
}

ControlUser this_process() {
    os::PeerCredentials self;
    self.uid = ::getuid();
    self.pid = ::getpid();
    ControlUser user = control_user_of(self, true);
    user.may_make_files = true;
    return user;
}

std::string this_process_runs_as() {
    return name_of(::geteuid());
}

std::string with_origin(std::string_view words, const ControlUser& user) {
    const std::string origin = fmt::format("uid {}, pid {}", user.uid, user.pid);
    return words.empty() ? origin : fmt::format("{} ({})", words, origin);
}

}  // namespace callgate::ledger
