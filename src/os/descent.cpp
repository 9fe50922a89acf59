#include "os/descent.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace callgate::os {
namespace {

constexpr rlim_t kNeverReached = rlim_t{1} << 60;

rlim_t lower_of(rlim_t a, rlim_t b) noexcept {
    return a < b ? a : b;  // RLIM_INFINITY is the greatest
}

}  // namespace

bool lower_descent_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_LOCKS, &limit) != 0 || limit.rlim_max == 0) return false;
    limit.rlim_max = lower_of(limit.rlim_max, kNeverReached) - 1;
    limit.rlim_cur = lower_of(limit.rlim_cur, limit.rlim_max);
    return ::setrlimit(RLIMIT_LOCKS, &limit) == 0;
}

bool read_descent_limit(pid_t pid, std::uint64_t& limit) noexcept {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/limits", static_cast<int>(pid));
    const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    std::array<char, 4096> text{};
    std::size_t size = 0;
    for (;;) {
        const ssize_t got = ::read(fd, text.data() + size, text.size() - 1 - size);
        if (got <= 0) break;
        size += static_cast<std::size_t>(got);
    }
    ::close(fd);
    // Its name, the soft limit, the hard one.
    constexpr char kName[] = "Max file locks";
    const char* at = std::strstr(text.data(), kName);
    if (at == nullptr) return false;
    at += sizeof kName - 1;
    at += std::strspn(at, " ");
    at += std::strcspn(at, " \n");
    at += std::strspn(at, " ");
    limit = std::strncmp(at, "unlimited", 9) == 0 ? RLIM_INFINITY : std::strtoull(at, nullptr, 10);
    return *at != '\0';
}

bool is_from_launcher(pid_t pid) noexcept {
    rlimit ours{};
    std::uint64_t theirs = 0;
    return ::getrlimit(RLIMIT_LOCKS, &ours) == 0 && read_descent_limit(pid, theirs) && theirs < ours.rlim_max;
}

}  // namespace callgate::os
