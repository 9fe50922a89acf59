#include "os/lineage.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/descent.h"
#include "os/process_table.h"

// Younger than the headers of Debian 12; where it has another number, we do without.
#if !defined(SO_PEERPIDFD) && !defined(__sparc__) && !defined(__hppa__)
#define SO_PEERPIDFD 77
#endif

namespace callgate::os {
namespace {

constexpr int kMostTries = 16;
constexpr int kMostSteps = 4'096;

ProcessId id_of(const ProcessEntry& entry) noexcept {
    return {entry.pid, entry.started};
}

// Nothing where the line changed while it was read.
std::optional<Descent> climb(pid_t pid, std::span<const ProcessId> roots) noexcept {
    ProcessEntry at;
    if (!read_process(pid, at)) return Descent::gone;
    for (int step = 0; step < kMostSteps; ++step) {
        if (std::ranges::find(roots, id_of(at)) != roots.end()) return Descent::below;
        if (at.pid <= 1 || at.parent <= 0) return Descent::elsewhere;
        ProcessEntry parent;
        const bool seen = read_process(at.parent, parent);
        ProcessEntry again;
        if (!read_process(at.pid, again) || again.started != at.started || again.parent != at.parent)
            return std::nullopt;
        // Where /proc hides other users' processes the line is followed as far as it is seen.
        if (!seen)
            return std::ranges::find(roots, at.parent, &ProcessId::pid) != roots.end() ? Descent::below
                                                                                       : Descent::elsewhere;
        at = parent;
    }
    return std::nullopt;
}

bool has_ended(int pidfd) noexcept {
    pollfd ended{pidfd, POLLIN, 0};
    return ::poll(&ended, 1, 0) != 0;
}

// The process that connected; empty: it is gone.
Fd pidfd_of_peer(const Fd& socket, pid_t pid) noexcept {
#if defined(SO_PEERPIDFD)
    int fd = -1;
    socklen_t size = sizeof fd;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0) return Fd(fd);
    if (errno != ENOPROTOOPT) return {};
#endif
    return Fd(open_pidfd(pid));
}

// What standard input is; empty where it is not known.
struct LinkText {
    std::array<char, 64> text{};
    std::size_t size = 0;

    std::string_view view() const noexcept { return {text.data(), size}; }
};

LinkText input_of(pid_t pid) noexcept {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/fd/0", static_cast<int>(pid));
    LinkText made;
    const ssize_t size = ::readlink(path.data(), made.text.data(), made.text.size());
    made.size = size > 0 ? static_cast<std::size_t>(size) : 0;
    return made;
}

}  // namespace

std::optional<ProcessId> process_id(pid_t pid) noexcept {
    ProcessEntry entry;
    if (!read_process(pid, entry)) return std::nullopt;
    return id_of(entry);
}

Descent descent_of(pid_t pid, std::span<const ProcessId> roots) noexcept {
    for (int i = 0; i < kMostTries; ++i) {
        if (const auto found = climb(pid, roots)) return *found;
    }
    return Descent::gone;
}

PeerOrigin origin_of_peer(const Fd& socket, std::span<const ProcessId> others) noexcept {
    PeerOrigin origin;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
        return origin;
    origin.pid = peer.pid;
    if (peer.pid == ::getpid()) {
        origin.from_us = origin.from_others = Descent::elsewhere;
        return origin;
    }
    const Fd pidfd = pidfd_of_peer(socket, peer.pid);
    if (!pidfd) return origin;
    const auto self = process_id(::getpid());
    if (!self) return origin;
    const Descent from_us =
        is_from_launcher(peer.pid) ? Descent::below : descent_of(peer.pid, std::span(&*self, 1));
    const Descent from_others = others.empty() ? Descent::elsewhere : descent_of(peer.pid, others);
    // It had its number all the time only if it is still there.
    if (has_ended(pidfd.get())) return origin;
    origin.from_us = from_us;
    origin.from_others = from_others;
    return origin;
}

std::optional<ProcessId> client_of_stdio() noexcept {
    struct ::stat input{};
    if (::fstat(0, &input) != 0 || (!S_ISFIFO(input.st_mode) && !S_ISSOCK(input.st_mode)))
        return std::nullopt;
    const LinkText ours = input_of(::getpid());
    ProcessEntry at;
    if (ours.size == 0 || !read_process(::getpid(), at)) return std::nullopt;
    for (int step = 0; step < kMostSteps && at.parent > 1; ++step) {
        if (!read_process(at.parent, at)) return std::nullopt;
        if (input_of(at.pid).view() != ours.view()) return id_of(at);
    }
    return std::nullopt;
}

}  // namespace callgate::os
