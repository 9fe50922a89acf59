#include "os/child.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <limits>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mutex.h"
#include "base/try.h"
#include "os/launch_protocol.h"
#include "os/system_error.h"

namespace callgate::os {
namespace {

constexpr std::string_view kLauncherName = "callgate-launch";
constexpr std::chrono::milliseconds kLongestGrace{3'600'000};

// The two ends of a stream; ours does not block.
struct Pair {
    Fd ours;
    Fd theirs;
};

Result<Fd> above_the_childs(Fd fd) {
    Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kLaunchChannel + 1));
    if (!moved) return tl::unexpected(system_error(ErrorCode::transport, "make", "a socket", errno));
    return moved;
}

Result<Pair> pair_of(Fd ours, Fd theirs) {
    Pair made;
    CALLGATE_TRY_ASSIGN(made.ours, above_the_childs(std::move(ours)));
    CALLGATE_TRY_ASSIGN(made.theirs, above_the_childs(std::move(theirs)));
    if (::fcntl(made.ours.get(), F_SETFL, O_NONBLOCK) != 0)
        return tl::unexpected(system_error(ErrorCode::transport, "make", "a socket", errno));
    return made;
}

Result<Pair> socket_pair(int type) {
    std::array<int, 2> fds{};
    if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds.data()) != 0)
        return tl::unexpected(system_error(ErrorCode::transport, "make", "a socket", errno));
    return pair_of(Fd(fds[0]), Fd(fds[1]));
}

// Not a socket: scripts write to /dev/stderr, and a socket cannot be opened by that name.
Result<Pair> pipe_from_child() {
    std::array<int, 2> fds{};
    if (::pipe2(fds.data(), O_CLOEXEC) != 0)
        return tl::unexpected(system_error(ErrorCode::transport, "make", "a pipe", errno));
    return pair_of(Fd(fds[0]), Fd(fds[1]));
}

class LaunchAttributes {
public:
    LaunchAttributes() {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
    }
    ~LaunchAttributes() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    LaunchAttributes(const LaunchAttributes&) = delete;
    LaunchAttributes& operator=(const LaunchAttributes&) = delete;

    int prepare(const ChildSpec& spec, const std::array<const Fd*, 4>& streams) {
        sigset_t all;
        sigset_t none;
        sigfillset(&all);
        sigemptyset(&none);
        // A session of its own, so that it has no terminal of ours.
        const int flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
        int problem = posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
        const auto then = [&problem](int result) { problem = problem != 0 ? problem : result; };
        then(posix_spawnattr_setsigdefault(&attributes, &all));
        then(posix_spawnattr_setsigmask(&attributes, &none));
        for (std::size_t number = 0; number < streams.size(); ++number) {
            then(
                posix_spawn_file_actions_adddup2(&actions, streams[number]->get(), static_cast<int>(number)));
        }
        then(posix_spawn_file_actions_addclosefrom_np(&actions, kLaunchChannel + 1));
        if (!spec.directory.empty())
            then(posix_spawn_file_actions_addchdir_np(&actions, spec.directory.c_str()));
        return problem;
    }

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

std::vector<char*> null_ended(std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (auto& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

std::vector<std::string> launch_arguments(const std::string& program, const ChildSpec& spec) {
    const auto bounded = [](std::chrono::milliseconds grace) {
        return std::to_string(std::clamp(grace, std::chrono::milliseconds(0), kLongestGrace).count());
    };
    std::vector<std::string> made = {program,
                                     kLaunchVersion,
                                     std::to_string(::getpid()),
                                     bounded(spec.close_grace),
                                     bounded(spec.term_grace),
                                     "--"};
    made.insert(made.end(), spec.argv.begin(), spec.argv.end());
    return made;
}

Result<void> check_child(const ChildSpec& spec) {
    ProcessSpec process(spec.argv);
    process.environment = spec.environment;
    process.directory = spec.directory;
    return check(process);
}

// posix_spawn() does not say whether the directory or the launcher is at fault.
Error no_launch(const ChildSpec& spec, const std::string& program, int problem) {
    if (problem == ENOENT || problem == EACCES || problem == ENOTDIR) {
        if (!spec.directory.empty() && ::access(spec.directory.c_str(), X_OK) != 0)
            return {ErrorCode::transport,
                    fmt::format("Cannot run in the directory {}: {}.", spec.directory, errno_text(errno)),
                    {{"reason", "directory_missing"},
                     {"command", spec.argv.front()},
                     {"directory", spec.directory}}};
        return {ErrorCode::transport,
                fmt::format("Cannot start {}: {}. Callgate starts commands with it; install it, or say "
                            "where it is.",
                            program, errno_text(problem)),
                {{"reason", "launcher_missing"}, {"path", program}, {"errno", problem}}};
    }
    return launch_error(spec.argv.front(), problem);
}

// Whether it was killed. Does not wait: it has ended, or is about to.
bool reap_launcher(pid_t pid) noexcept {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0) {
        if (errno != EINTR) return false;  // this process ignores SIGCHLD, or somebody else has reaped it
    }
    return info.si_code != CLD_EXITED;
}

}  // namespace

// The launchers of children that were released before they had ended.
class RealChildLauncher::Ending {
public:
    struct One {
        pid_t launcher = 0;
        Fd channel;
        std::chrono::milliseconds graces{0};
    };

    void add(One one) {
        ++left_;
        const base::MutexLock lock(mutex_);
        all_.push_back(std::move(one));
    }

    /// Reaps those that have ended, and waits for others until the time is up; how many are left.
    std::size_t reap(std::chrono::steady_clock::time_point until) {
        std::vector<One> looked_at;
        {
            const base::MutexLock lock(mutex_);
            looked_at.swap(all_);
        }
        left_ -= std::erase_if(looked_at, [&](const One& one) {
            if (!has_ended(one.channel, until)) return false;
            reap_one(one.launcher);
            return true;
        });
        const base::MutexLock lock(mutex_);
        std::ranges::move(looked_at, std::back_inserter(all_));
        return left_.load();
    }

    /// Whether this launcher was killed.
    bool reap_one(pid_t launcher) noexcept {
        const bool was_killed = reap_launcher(launcher);
        if (was_killed) killed_.fetch_add(1);
        return was_killed;
    }
    std::uint64_t killed() const noexcept { return killed_.load(); }

    std::chrono::milliseconds longest_graces() {
        const base::MutexLock lock(mutex_);
        std::chrono::milliseconds longest{0};
        for (const One& one : all_) longest = std::max(longest, one.graces);
        return longest;
    }

private:
    static bool has_ended(const Fd& channel, std::chrono::steady_clock::time_point until) {
        for (;;) {
            LaunchReport unread;
            const ssize_t got = ::recv(channel.get(), &unread, sizeof unread, MSG_DONTWAIT);
            if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return true;
            if (got > 0 || errno == EINTR) continue;
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(
                until - std::min(until, std::chrono::steady_clock::now()));
            pollfd wait{channel.get(), POLLIN, 0};
            const auto bounded = std::min<std::chrono::milliseconds::rep>(left.count(), 1 << 30);
            if (::poll(&wait, 1, static_cast<int>(bounded)) == 0) return false;
        }
    }

    std::atomic<std::uint64_t> killed_{0};
    std::atomic<std::size_t> left_{0};  // those that another thread looks at as well
    base::Mutex mutex_;
    std::vector<One> all_ CALLGATE_GUARDED_BY(mutex_);
};

class RealChildLauncher::Real final : public Child {
public:
    Real(std::shared_ptr<Ending> ending, const ChildSpec& spec, pid_t launcher, Fd channel)
        : ending_(std::move(ending)),
          command_(spec.argv.front()),
          graces_(spec.close_grace + spec.term_grace),
          launcher_(launcher),
          channel_(std::move(channel)) {}

    ~Real() override {
        state();
        if (state_.stage == ChildStage::gone) return;
        end();
        ending_->add({launcher_, std::move(channel_), graces_});
    }

    pid_t pid() const noexcept override { return pid_; }
    const Fd& changed() const noexcept override { return channel_; }

    ChildState state() override {
        while (state_.stage != ChildStage::gone) {
            LaunchReport report;
            const ssize_t got = ::recv(channel_.get(), &report, sizeof report, MSG_DONTWAIT);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0 && errno == EAGAIN) break;
            if (got == static_cast<ssize_t>(sizeof report)) {
                take(report);
            } else {
                take_end();
            }
        }
        return state_;
    }

    void end() override {
        input.reset();
        if (asked_ || state_.stage == ChildStage::gone) return;
        asked_ = true;
        // Not by closing: a host that forks without exec has copies of what it holds.
        static_cast<void>(::shutdown(channel_.get(), SHUT_WR));
        // A child may have stopped its launcher. Not reaped yet, so the number is still its own.
        static_cast<void>(::kill(launcher_, SIGCONT));
    }

private:
    void take(const LaunchReport& report) {
        switch (report.event) {
            case LaunchEvent::started:
                state_.stage = ChildStage::running;
                pid_ = report.value;
                break;
            case LaunchEvent::refused: state_.refused = launch_error(command_, report.value); break;
            case LaunchEvent::exited:
                if (state_.refused) break;
                state_.stage = ChildStage::exited;
                state_.exit = ExitStatus{report.value, report.signal};
                break;
        }
    }

    // It has ended, or is about to: it never closes the channel itself.
    void take_end() {
        state_.launcher_killed = ending_->reap_one(launcher_);
        state_.stage = ChildStage::gone;
        if (pid_ == 0 && !state_.refused)
            state_.refused =
                Error(ErrorCode::transport,
                      fmt::format("Cannot start {}: the program that starts it ended.", command_),
                      {{"reason", "spawn_failed"}, {"command", command_}});
    }

    const std::shared_ptr<Ending> ending_;
    const std::string command_;
    const std::chrono::milliseconds graces_;
    const pid_t launcher_;
    Fd channel_;
    ChildState state_;
    pid_t pid_ = 0;
    bool asked_ = false;
};

Result<std::size_t> Child::send(std::string_view text) {
    std::size_t sent = 0;
    while (sent < text.size()) {
        const ssize_t taken = ::send(input.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (taken >= 0) {
            sent += static_cast<std::size_t>(taken);
            continue;
        }
        const int problem = errno;
        if (problem == EAGAIN) break;
        if (problem == EINTR) continue;
        return fail(ErrorCode::transport,
                    fmt::format("The command no longer reads its input: {}.", errno_text(problem)),
                    {{"reason", "child_gone"}, {"errno", problem}});
    }
    return sent;
}

Result<std::string> find_launcher(const std::string& named) {
    if (!named.empty()) return named;
    std::array<char, 4096> program{};
    const ssize_t size = ::readlink("/proc/self/exe", program.data(), program.size() - 1);
    const std::string_view path(program.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    const std::string directory(path.substr(0, std::min(path.rfind('/'), path.size())));
    for (const std::string_view place : {"", "/../libexec"}) {
        std::string candidate = fmt::format("{}{}/{}", directory, place, kLauncherName);
        if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    return fail(ErrorCode::transport,
                fmt::format("{0} is neither in {1} nor in {1}/../libexec. Callgate starts commands with it; "
                            "install it there, or say where it is.",
                            kLauncherName, directory),
                {{"reason", "launcher_missing"}, {"directory", directory}});
}

RealChildLauncher::RealChildLauncher(std::string program)
    : program_(std::move(program)), ending_(std::make_shared<Ending>()) {}

RealChildLauncher::~RealChildLauncher() {
    ending_->reap(std::chrono::steady_clock::now() + ending_->longest_graces() + kSlack);
}

std::size_t RealChildLauncher::ending() {
    return ending_->reap(std::chrono::steady_clock::time_point::min());
}

std::uint64_t RealChildLauncher::launchers_killed() const {
    return ending_->killed();
}

Result<std::unique_ptr<Child>> RealChildLauncher::launch(const ChildSpec& spec) {
    CALLGATE_TRY(check_child(spec));
    ending();
    CALLGATE_TRY_ASSIGN(auto input, socket_pair(SOCK_STREAM));
    CALLGATE_TRY_ASSIGN(auto output, socket_pair(SOCK_STREAM));
    CALLGATE_TRY_ASSIGN(auto errors, pipe_from_child());
    CALLGATE_TRY_ASSIGN(auto channel, socket_pair(SOCK_SEQPACKET));

    LaunchAttributes how;
    int problem = how.prepare(spec, {&input.theirs, &output.theirs, &errors.theirs, &channel.theirs});
    std::vector<std::string> arguments = launch_arguments(program_, spec);
    std::vector<std::string> variables;
    for (const auto& [name, value] : spec.environment) variables.push_back(fmt::format("{}={}", name, value));
    pid_t launcher = 0;
    if (problem == 0)
        problem = ::posix_spawn(&launcher, program_.c_str(), &how.actions, &how.attributes,
                                null_ended(arguments).data(), null_ended(variables).data());
    if (problem != 0) return tl::unexpected(no_launch(spec, program_, problem));
    auto child = std::make_unique<Real>(ending_, spec, launcher, std::move(channel.ours));
    child->input = std::move(input.ours);
    child->output = std::move(output.ours);
    child->errors = std::move(errors.ours);
    return child;
}

}  // namespace callgate::os
