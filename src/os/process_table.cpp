#include "os/process_table.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace callgate::os {
namespace {

// What getdents64 fills; glibc has no declaration of it.
struct DirectoryEntry {
    std::uint64_t inode;
    std::int64_t next;
    unsigned short size;
    unsigned char type;
    char name[1];
};

// The fields of /proc/PID/stat behind the name, which may itself hold spaces and parentheses.
constexpr int kParentField = 4;
constexpr int kStartField = 22;

// By increasing pid; nullptr where it is not listed.
const ProcessEntry* find(std::span<const ProcessEntry> listed, pid_t pid) noexcept {
    std::size_t from = 0;
    std::size_t to = listed.size();
    while (from < to) {
        const std::size_t middle = from + (to - from) / 2;
        if (listed[middle].pid == pid) return &listed[middle];
        if (listed[middle].pid < pid) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return nullptr;
}

std::size_t signal_below(std::span<ProcessEntry> room, pid_t root, int signal) noexcept {
    const std::size_t listed = list_processes(room);
    const std::size_t below = keep_below(room.first(listed), root);
    for (const ProcessEntry& one : room.first(below)) signal_process(one, signal);
    return below;
}

}  // namespace

bool read_process(pid_t pid, ProcessEntry& entry) noexcept {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/stat", static_cast<int>(pid));
    const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    std::array<char, 1024> text{};
    const ssize_t got = ::read(fd, text.data(), text.size() - 1);
    ::close(fd);
    if (got <= 0) return false;
    const char* at = std::strrchr(text.data(), ')');
    for (int field = 2; at != nullptr; ++field) {
        if (field == kParentField) entry.parent = static_cast<pid_t>(std::strtol(at, nullptr, 10));
        if (field == kStartField) {
            entry.started = std::strtoull(at, nullptr, 10);
            entry.pid = pid;
            entry.below = false;
            return true;
        }
        at = std::strchr(at, ' ');
        if (at != nullptr) ++at;
    }
    return false;
}

std::size_t list_processes(std::span<ProcessEntry> room) noexcept {
    const int fd = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return 0;
    std::size_t count = 0;
    alignas(DirectoryEntry) std::array<char, 8192> block;  // NOLINT(*-member-init): filled by the system
    for (;;) {
        const long got = ::syscall(SYS_getdents64, fd, block.data(), block.size());
        if (got <= 0) break;
        for (long at = 0; at < got;) {
            const char* const record = block.data() + at;
            unsigned short size = 0;
            std::memcpy(&size, record + offsetof(DirectoryEntry, size), sizeof size);
            const long pid = std::strtol(record + offsetof(DirectoryEntry, name), nullptr, 10);
            if (pid > 0 && count < room.size() && read_process(static_cast<pid_t>(pid), room[count])) ++count;
            at += size;
        }
    }
    ::close(fd);
    return count;
}

std::size_t keep_below(std::span<ProcessEntry> listed, pid_t root) noexcept {
    // A parent mostly has the lower number, so one round finds nearly all.
    for (bool more = true; more;) {
        more = false;
        for (ProcessEntry& one : listed) {
            if (one.below || one.pid == root) continue;
            const ProcessEntry* const parent = one.parent == root ? nullptr : find(listed, one.parent);
            if (one.parent != root && (parent == nullptr || !parent->below)) continue;
            one.below = true;
            more = true;
        }
    }
    std::size_t count = 0;
    for (const ProcessEntry& one : listed) {
        if (one.below) listed[count++] = one;
    }
    return count;
}

// Not pidfd_open(): the header of glibc 2.36 gives it C++ linkage.
int open_pidfd(pid_t pid) noexcept {
    return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

bool signal_process(const ProcessEntry& entry, int signal) noexcept {
    const int fd = open_pidfd(entry.pid);
    if (fd < 0) return false;
    ProcessEntry now;
    const bool sent = read_process(entry.pid, now) && now.started == entry.started &&
                      ::syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0) == 0;
    ::close(fd);
    return sent;
}

void kill_below(std::span<ProcessEntry> room, pid_t root) noexcept {
    if (signal_below(room, root, SIGSTOP) > 0) signal_below(room, root, SIGKILL);
}

}  // namespace callgate::os
