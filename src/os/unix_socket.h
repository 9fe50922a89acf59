// Unix stream sockets by path, and who is at the other end of one.
//
// A path may be longer than the system's 107 bytes for a socket's name. Every failure is an Error with code
// `internal` and details.errno; who knows what the socket is for gives it a better code. Descriptors are
// close-on-exec and do not block.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <callgate/error.h>

#include "os/fd.h"

namespace callgate::os {

/// Who connected, as the kernel says it.
struct PeerCredentials {
    uid_t uid = 0;
    gid_t gid = 0;
    pid_t pid = 0;
    std::vector<gid_t> groups;  ///< the supplementary ones

    bool in_group(gid_t group) const noexcept;
};

/// A listening socket that never was more open than `permissions`. A socket that stands at `path` is
/// replaced, so only who knows that nobody serves it may call this; anything else there is left alone:
/// EEXIST.
Result<Fd> listen_unix(const std::string& path, mode_t permissions, int backlog = 64);

/// ENOENT: there is none. ECONNREFUSED: nobody serves it any more. EAGAIN: too many wait already.
Result<Fd> connect_unix(const std::string& path);

/// Who waits first; nothing when nobody does, or not any more.
Result<std::optional<Fd>> accept_unix(const Fd& listening);

/// The credentials of who connected, or of who listens.
Result<PeerCredentials> peer_of(const Fd& socket);

/// A user's name, "" where the system knows none.
std::string user_name(uid_t uid);
/// Who has this name; nothing where nobody has. An error where the system cannot tell now.
Result<std::optional<uid_t>> user_id(const std::string& name);

}  // namespace callgate::os
