// callgate-launch: starts one command, stays beside it, and does not end before all that came of it has
// ended.
//
// It is the subreaper of everything below it, so no setsid and no double fork leads out of its reach. When
// its owner says so, ends, or is killed, or the command has ended by itself, what is left is ended: after a
// grace in which it may notice that its input was closed (only while the command lives), by SIGTERM to all of
// it, and after another grace by SIGKILL, again and again, until the kernel says that no child is left.
//
// Linked statically and without the C++ library's run time; takes no memory while it runs.
// docs/formats/launch.md says what it reads and what it answers.
//
// Threads: one.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/descent.h"
#include "os/launch_protocol.h"
#include "os/process_table.h"

namespace {

using namespace callgate::os;

constexpr int kFirstNap = 1;
constexpr int kLongestNap = 1'000;  // what root started for the command cannot be killed, and is waited for
constexpr long kLongestGrace = 3'600'000;

std::array<ProcessEntry, 65'536> processes;  // untouched pages cost nothing

long now_ms() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000 + time.tv_nsec / 1'000'000;
}

void say(LaunchEvent event, int value, int signal = 0) noexcept {
    const LaunchReport report{event, value, signal};
    // Few enough for the socket's room: it never has to wait.
    static_cast<void>(::send(kLaunchChannel, &report, sizeof report, MSG_NOSIGNAL | MSG_DONTWAIT));
}

enum class Stage { running, closing, terminating, killing };

struct Launch {
    int owner = -1;    // its pidfd; readable when it has ended
    int signals = -1;  // SIGCHLD, and those that ask us to end
    int exec = -1;     // the new process's errno, or its end when it runs the command
    pid_t command = 0;
    bool command_ended = false;
    bool asked = false;  // to end
    long close_ms = 0;
    long term_ms = 0;
    Stage stage = Stage::running;
    long deadline = 0;
    int nap = kFirstNap;
};

// In the new process. Does not return.
[[noreturn]] void become_command(char** command, int exec) noexcept {
    ::setpgid(0, 0);
    lower_descent_limit();
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(command[0], command);
    const int problem = errno;
    static_cast<void>(::write(exec, &problem, sizeof problem));
    ::_exit(127);
}

void leave_the_commands_streams() noexcept {
    for (int fd = 0; fd <= 2; ++fd) ::close(fd);
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = null; fd >= 0 && fd < 2;) fd = ::dup(null);
    // Nor keep the directory it runs in from being removed or unmounted.
    static_cast<void>(::chdir("/"));
}

// Whether the command runs, as soon as that is known.
void look_at_exec(Launch& launch) noexcept {
    if (launch.exec < 0) return;
    int problem = 0;
    const ssize_t got = ::read(launch.exec, &problem, sizeof problem);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got == static_cast<ssize_t>(sizeof problem)) {
        say(LaunchEvent::refused, problem);
    } else {
        say(LaunchEvent::started, launch.command);
    }
    ::close(launch.exec);
    launch.exec = -1;
}

// False: no child is left, and so nothing at all.
bool reap(Launch& launch) noexcept {
    for (;;) {
        int status = 0;
        const pid_t ended = ::waitpid(-1, &status, WNOHANG | __WALL);
        if (ended == 0) return true;
        if (ended < 0) {
            if (errno == EINTR) continue;
            return false;
        }
        if (ended != launch.command) continue;
        look_at_exec(launch);
        launch.command_ended = true;
        if (WIFSIGNALED(status)) {
            say(LaunchEvent::exited, 0, WTERMSIG(status));
        } else {
            say(LaunchEvent::exited, WEXITSTATUS(status));
        }
    }
}

void ask_all_to_end() noexcept {
    const std::size_t listed = list_processes(processes);
    const std::size_t below = keep_below(std::span(processes).first(listed), ::getpid());
    for (const ProcessEntry& one : std::span(processes).first(below)) {
        signal_process(one, SIGTERM);
        signal_process(one, SIGCONT);  // it may have been stopped
    }
}

// What is due at this moment; how many milliseconds until the next thing is, or -1.
int go_on(Launch& launch) noexcept {
    const long now = now_ms();
    if (launch.stage == Stage::running && launch.asked) {
        launch.stage = Stage::closing;
        launch.deadline = now + launch.close_ms;
    }
    if (launch.stage <= Stage::closing &&
        (launch.command_ended || (launch.stage == Stage::closing && now >= launch.deadline))) {
        launch.stage = Stage::terminating;
        launch.deadline = now + launch.term_ms;
        ask_all_to_end();
    }
    if (launch.stage == Stage::terminating && now >= launch.deadline) launch.stage = Stage::killing;
    if (launch.stage == Stage::running) return -1;
    if (launch.stage != Stage::killing) return static_cast<int>(launch.deadline - now);
    kill_below(processes, ::getpid());
    return launch.nap;
}

void take_signals(Launch& launch) noexcept {
    signalfd_siginfo one{};
    while (::read(launch.signals, &one, sizeof one) == static_cast<ssize_t>(sizeof one)) {
        if (one.ssi_signo != SIGCHLD) launch.asked = true;
    }
}

void stay(Launch& launch) noexcept {
    for (;;) {
        look_at_exec(launch);
        if (!reap(launch)) return;
        const int timeout = go_on(launch);
        // Once we were asked, who asked has nothing more to say.
        std::array<pollfd, 4> waits = {pollfd{launch.signals, POLLIN, 0}, pollfd{launch.exec, POLLIN, 0},
                                       pollfd{launch.asked ? -1 : kLaunchChannel, POLLIN, 0},
                                       pollfd{launch.asked ? -1 : launch.owner, POLLIN, 0}};
        const int ready = ::poll(waits.data(), waits.size(), timeout);
        if (ready < 0) continue;
        launch.nap = ready > 0 ? kFirstNap : std::min(launch.nap * 2, kLongestNap);
        if (waits[0].revents != 0) take_signals(launch);
        if (waits[2].revents != 0 || waits[3].revents != 0) launch.asked = true;
    }
}

// A number of the command line; -1 if it is none.
long number(const char* text) noexcept {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    return end != text && *end == '\0' && value >= 0 ? value : -1;
}

int not_by_hand() noexcept {
    static_cast<void>(
        std::fputs("callgate-launch: Callgate starts this program beside each command that it "
                   "talks with; by hand it is of no use.\n",
                   stderr));
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 7 || std::strcmp(argv[1], kLaunchVersion) != 0 || std::strcmp(argv[5], "--") != 0)
        return not_by_hand();
    Launch launch;
    const long owner = number(argv[2]);
    launch.close_ms = number(argv[3]);
    launch.term_ms = number(argv[4]);
    if (owner <= 0 || launch.close_ms < 0 || launch.close_ms > kLongestGrace || launch.term_ms < 0 ||
        launch.term_ms > kLongestGrace || ::fcntl(kLaunchChannel, F_SETFD, FD_CLOEXEC) != 0)
        return not_by_hand();

    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // nothing below it shall trace it or take its descriptors
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    sigset_t taken;
    ::sigemptyset(&taken);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&taken, signal);
    launch.signals = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    launch.owner = open_pidfd(static_cast<pid_t>(owner));
    std::array<int, 2> exec = {-1, -1};
    // An owner that is gone by now would not be seen to go.
    if (launch.signals < 0 || launch.owner < 0 || ::getppid() != owner ||
        ::pipe2(exec.data(), O_CLOEXEC | O_NONBLOCK) != 0)
        return 1;

    launch.command = ::fork();
    if (launch.command == 0) become_command(argv + 6, exec[1]);
    if (launch.command < 0) {
        say(LaunchEvent::refused, errno);
        return 1;
    }
    ::close(exec[1]);
    launch.exec = exec[0];
    leave_the_commands_streams();
    stay(launch);
    return 0;
}
