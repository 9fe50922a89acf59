// Who asks something of the ledger, as the operating system knows them.
//
// Threads: a plain value; the functions may be called from any thread.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "os/unix_socket.h"

namespace callgate::ledger {

struct ControlUser {
    std::string name;  ///< "user:ada", or "uid:1000" where the system has no name for it
    uid_t uid = 0;
    pid_t pid = 0;
    bool is_owner = false;  ///< the ledger is theirs, or they are root: may also take things away
    /// The process runs as them, or they are root: what it writes for them they could write themselves.
    bool may_make_files = false;

    ControlUser() = default;
};

ControlUser control_user_of(const os::PeerCredentials& peer, bool is_owner);
/// Who runs this program: its real user, who owns what they can open.
ControlUser this_process();
/// The name of the user whose files this process makes.
std::string this_process_runs_as();

/// A person's words with who they came from: "looks right (uid 1000, pid 4242)".
std::string with_origin(std::string_view words, const ControlUser& user);

}  // namespace callgate::ledger
