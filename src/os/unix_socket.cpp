#include "os/unix_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/try.h"
#include "os/files.h"
#include "os/system_error.h"

namespace callgate::os {
namespace {

tl::unexpected<Error> socket_failed(std::string_view what, std::string_view subject, int number = errno) {
    return tl::unexpected(system_error(ErrorCode::internal, what, subject, number));
}

// A socket's address. Where the path is too long for one, it goes by way of its open directory.
struct Address {
    sockaddr_un name{};
    socklen_t size = 0;
    Fd directory;

    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&name); }
    void set(const std::string& path) noexcept {
        name.sun_family = AF_UNIX;
        std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
        size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    }
};

Result<Address> address_of(const std::string& path, std::string_view what) {
    Address address;
    if (path.empty() || path.find('\0') != std::string::npos) return socket_failed(what, "a socket", EINVAL);
    if (path.size() < sizeof address.name.sun_path) {
        address.set(path);
        return address;
    }
    address.directory = Fd(::open(directory_of(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!address.directory) return socket_failed(what, path);
    const std::string by_directory =
        fmt::format("/proc/self/fd/{}/{}", address.directory.get(), path.substr(path.rfind('/') + 1));
    if (by_directory.size() >= sizeof address.name.sun_path) return socket_failed(what, path, ENAMETOOLONG);
    address.set(by_directory);
    return address;
}

Result<Fd> stream_socket(std::string_view what, const std::string& path) {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return socket_failed(what, path);
    return fd;
}

Result<void> remove_socket(const std::string& path) {
    struct ::stat there = {};
    if (::lstat(path.c_str(), &there) != 0) {
        if (errno == ENOENT) return {};
        return socket_failed("listen on", path);
    }
    if (!S_ISSOCK(there.st_mode)) return socket_failed("listen on", path, EEXIST);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return socket_failed("listen on", path);
    return {};
}

}  // namespace

bool PeerCredentials::in_group(gid_t group) const noexcept {
    return gid == group || std::ranges::find(groups, group) != groups.end();
}

Result<Fd> listen_unix(const std::string& path, mode_t permissions, int backlog) {
    CALLGATE_TRY_ASSIGN(auto address, address_of(path, "listen on"));
    CALLGATE_TRY(remove_socket(path));
    CALLGATE_TRY_ASSIGN(auto fd, stream_socket("listen on", path));
    // Linux makes the file with the socket's own permissions: it is never open to more, not even for a
    // moment.
    if (::fchmod(fd.get(), permissions) != 0 || ::bind(fd.get(), address.get(), address.size) != 0 ||
        ::listen(fd.get(), backlog) != 0)
        return socket_failed("listen on", path);
    return fd;
}

Result<Fd> connect_unix(const std::string& path) {
    CALLGATE_TRY_ASSIGN(auto address, address_of(path, "connect to"));
    CALLGATE_TRY_ASSIGN(auto fd, stream_socket("connect to", path));
    while (::connect(fd.get(), address.get(), address.size) != 0) {
        if (errno != EINTR) return socket_failed("connect to", path);
    }
    return fd;
}

Result<std::optional<Fd>> accept_unix(const Fd& listening) {
    for (;;) {
        Fd fd(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (fd) return std::optional<Fd>(std::move(fd));
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == ECONNABORTED) return std::nullopt;
        return socket_failed("accept from", "a socket");
    }
}

Result<PeerCredentials> peer_of(const Fd& socket) {
    ucred raw{};
    socklen_t size = sizeof raw;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &raw, &size) != 0)
        return socket_failed("identify", "the peer of a socket");
    PeerCredentials peer;
    peer.uid = raw.uid;
    peer.gid = raw.gid;
    peer.pid = raw.pid;
    // Asked for with no room, the kernel says how much it wants.
    size = 0;
    gid_t no_room{};
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERGROUPS, &no_room, &size) != 0 && errno == ERANGE) {
        peer.groups.resize(size / sizeof(gid_t));
        if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size) != 0)
            peer.groups.clear();
    }
    return peer;
}

std::string user_name(uid_t uid) {
    std::array<char, 16 << 10> texts{};
    passwd entry{};
    passwd* found = nullptr;
    while (::getpwuid_r(uid, &entry, texts.data(), texts.size(), &found) == EINTR) {
    }
    return found != nullptr && found->pw_name != nullptr ? found->pw_name : "";
}

Result<std::optional<uid_t>> user_id(const std::string& name) {
    std::array<char, 16 << 10> texts{};
    passwd entry{};
    passwd* found = nullptr;
    int code = 0;
    while ((code = ::getpwnam_r(name.c_str(), &entry, texts.data(), texts.size(), &found)) == EINTR) {
    }
    if (found != nullptr) return std::optional<uid_t>(found->pw_uid);
    // What other systems say of a name that nobody has.
    if (code == 0 || code == ENOENT || code == ESRCH || code == EBADF || code == EPERM) return std::nullopt;
    return fail(ErrorCode::internal, "The system's name service does not answer: " + errno_text(code) + ".",
                {{"reason", "name_service"}});
}

}  // namespace callgate::os
