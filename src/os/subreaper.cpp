#include "os/subreaper.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <vector>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/descent.h"
#include "os/process_table.h"
#include "os/system_error.h"

namespace callgate::os {
namespace {

constexpr std::size_t kMostProcesses = 65'536;

// Our children that come from a launcher. Launchers themselves do not.
std::vector<ProcessEntry> left_behind(std::vector<ProcessEntry>& room) {
    const std::size_t listed = list_processes(room);
    std::vector<ProcessEntry> ours;
    std::copy_if(
        room.begin(), room.begin() + static_cast<std::ptrdiff_t>(listed), std::back_inserter(ours),
        [](const ProcessEntry& one) { return one.parent == ::getpid() && is_from_launcher(one.pid); });
    return ours;
}

}  // namespace

Result<void> become_subreaper() {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return tl::unexpected(system_error(ErrorCode::internal, "become", "a subreaper", errno));
    return {};
}

bool end_left_behind(std::chrono::milliseconds at_most) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    std::vector<ProcessEntry> room(kMostProcesses);
    for (int nap = 1;; nap = std::min(nap * 2, 100)) {
        const auto left = left_behind(room);
        if (left.empty()) return true;
        for (const ProcessEntry& one : left) {
            signal_process(one, SIGSTOP);
            kill_below(room, one.pid);
            signal_process(one, SIGKILL);
        }
        for (const ProcessEntry& one : left) {
            siginfo_t info{};
            // It is our child and nobody else's to wait for, so its number stays its own.
            static_cast<void>(::waitid(P_PID, static_cast<id_t>(one.pid), &info, WEXITED | WNOHANG));
        }
        if (std::chrono::steady_clock::now() >= until) return left_behind(room).empty();
        static_cast<void>(::poll(nullptr, 0, nap));
    }
}

}  // namespace callgate::os
