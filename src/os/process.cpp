#include "os/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <limits>
#include <span>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/try.h"
#include "os/process_table.h"
#include "os/system_error.h"

namespace callgate::os {
namespace {

/// Writing to a child that has gone is an error to this thread, not a signal to the whole process.
class SigpipeHeld {
public:
    SigpipeHeld() {
        sigset_t pending;
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~SigpipeHeld() {
        const timespec now{};
        while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    SigpipeHeld(const SigpipeHeld&) = delete;
    SigpipeHeld& operator=(const SigpipeHeld&) = delete;

private:
    sigset_t pipe_;
    sigset_t before_;
    bool was_pending_ = false;
};

bool has_nul(const std::string& text) {
    return text.find('\0') != std::string::npos;
}

tl::unexpected<Error> bad_spec(std::string message) {
    return fail(ErrorCode::invalid_arguments, std::move(message), {{"reason", "bad_process"}});
}

class RealProcess final : public Process {
public:
    RealProcess(pid_t pid, Fd ended) noexcept : pid_(pid), ended_(std::move(ended)) {}

    ~RealProcess() override {
        (void)::kill(-pid_, SIGKILL);
        siginfo_t info{};
        while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
        }
    }

    pid_t pid() const noexcept override { return pid_; }
    const Fd& ended() const noexcept override { return ended_; }

    Result<std::optional<ExitStatus>> poll() override {
        if (!status_) {
            siginfo_t info{};
            // Not reaped before this object goes: until then the kernel gives the pid to nobody else.
            if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
                return tl::unexpected(
                    system_error(ErrorCode::internal, "wait for", fmt::format("process {}", pid_), errno));
            }
            if (info.si_pid == pid_) {
                status_ = info.si_code == CLD_EXITED ? ExitStatus{info.si_status, 0}
                                                     : ExitStatus{0, info.si_status};
            }
        }
        return status_;
    }

    Result<std::optional<ExitStatus>> wait(std::chrono::milliseconds at_most) override {
        const auto until = std::chrono::steady_clock::now() + at_most;
        for (;;) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
            const auto bounded =
                std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, std::numeric_limits<int>::max());
            pollfd watched{ended_.get(), POLLIN, 0};
            const int ready = ::poll(&watched, 1, static_cast<int>(bounded));
            if (ready < 0 && errno == EINTR) {
                continue;
            }
            return poll();
        }
    }

    Result<void> signal_group(int signal) override {
        if (::kill(-pid_, signal) != 0 && errno != ESRCH) {
            return tl::unexpected(
                system_error(ErrorCode::internal, "signal", fmt::format("process group {}", pid_), errno));
        }
        return {};
    }

private:
    pid_t pid_;
    Fd ended_;
    std::optional<ExitStatus> status_;
};

// Descriptors above 2, so that moving them to 0, 1 and 2 in the child overwrites none of them.
Result<Fd> above_stdio(Fd fd) {
    if (fd && fd.get() <= 2) {
        Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
        if (!moved) {
            return tl::unexpected(system_error(ErrorCode::internal, "make", "a pipe", errno));
        }
        return moved;
    }
    return fd;
}

struct Ends {
    Fd ours;
    Fd childs;
};

Result<Ends> make_ends(Stdio how, int number) {
    Ends out;
    if (how == Stdio::inherit) {
        return out;
    }
    const bool input = number == 0;
    if (how == Stdio::null) {
        out.childs = Fd(::open("/dev/null", (input ? O_RDONLY : O_WRONLY) | O_CLOEXEC));
        if (!out.childs) {
            return tl::unexpected(system_error(ErrorCode::internal, "open", "/dev/null", errno));
        }
    } else {
        std::array<int, 2> pipe{};
        if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
            return tl::unexpected(system_error(ErrorCode::internal, "make", "a pipe", errno));
        }
        Fd reads(pipe[0]);
        Fd writes(pipe[1]);
        out.ours = std::move(input ? writes : reads);
        out.childs = std::move(input ? reads : writes);
    }
    for (Fd* fd : {&out.ours, &out.childs}) {
        CALLGATE_TRY_ASSIGN(auto moved, above_stdio(std::move(*fd)));
        *fd = std::move(moved);
    }
    return out;
}

// posix_spawn's two option objects, destroyed as they were made.
struct SpawnOptions {
    SpawnOptions() {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
    }
    ~SpawnOptions() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    SpawnOptions(const SpawnOptions&) = delete;
    SpawnOptions& operator=(const SpawnOptions&) = delete;

    int prepare(const ProcessSpec& spec, std::span<const Ends> ends) {
        sigset_t all;
        sigset_t none;
        sigfillset(&all);
        sigemptyset(&none);
        const int flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
        int problem = posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
        const auto then = [&problem](int result) { problem = problem != 0 ? problem : result; };
        then(posix_spawnattr_setpgroup(&attributes, 0));
        then(posix_spawnattr_setsigdefault(&attributes, &all));
        then(posix_spawnattr_setsigmask(&attributes, &none));
        for (int number = 0; number < 3; ++number) {
            if (const auto& fd = ends[static_cast<std::size_t>(number)].childs) {
                then(posix_spawn_file_actions_adddup2(&actions, fd.get(), number));
            }
        }
        // Descriptors that some library forgot to mark close-on-exec.
        then(posix_spawn_file_actions_addclosefrom_np(&actions, 3));
        if (!spec.directory.empty()) {
            then(posix_spawn_file_actions_addchdir_np(&actions, spec.directory.c_str()));
        }
        return problem;
    }

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (auto& text : texts) {
        out.push_back(text.data());
    }
    out.push_back(nullptr);
    return out;
}

}  // namespace

void Process::give_input(std::string_view text) {
    const SigpipeHeld held;
    while (!text.empty()) {
        const ssize_t written = ::write(input.get(), text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    input.reset();
}

std::string ExitStatus::to_string() const {
    if (signal == 0) {
        return fmt::format("exit code {}", code);
    }
    const char* name = ::sigdescr_np(signal);
    return fmt::format("signal {} ({})", signal, name == nullptr ? "unknown" : name);
}

Result<void> check(const ProcessSpec& spec) {
    if (spec.argv.empty() || spec.argv.front().empty()) {
        return bad_spec("No command was given: the first argument must name a program.");
    }
    if (std::any_of(spec.argv.begin(), spec.argv.end(), has_nul) || has_nul(spec.directory)) {
        return bad_spec("The command, its arguments and its directory must not contain a NUL byte.");
    }
    if (spec.environment) {
        for (const auto& [name, value] : *spec.environment) {
            if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value)) {
                return bad_spec(
                    "The name of an environment variable must not be empty and must not contain '='; neither "
                    "name nor value may contain a NUL byte.");
            }
        }
    }
    return {};
}

Error launch_error(const std::string& command, int error_number) {
    std::string_view reason = "spawn_failed";
    std::string message;
    switch (error_number) {
        case ENOENT:
        case ENOTDIR:
            reason = "command_not_found";
            message = fmt::format("Command not found: {}", command);
            break;
        case EACCES:
        case EPERM:
            reason = "command_permission";
            message = fmt::format("Permission denied: {}", command);
            break;
        default: message = fmt::format("Cannot start {}: {}", command, errno_text(error_number));
    }
    return Error(ErrorCode::transport, std::move(message),
                 {{"reason", reason}, {"command", command}, {"errno", error_number}});
}

Result<std::unique_ptr<Process>> RealProcessLauncher::launch(const ProcessSpec& spec) {
    CALLGATE_TRY(check(spec));
    const std::string& command = spec.argv.front();
    if (!spec.directory.empty()) {
        // The child's ENOENT would not say whether the directory or the command is missing.
        struct ::stat info{};
        if (::stat(spec.directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
            return fail(
                ErrorCode::transport, fmt::format("Working directory not found: {}", spec.directory),
                {{"reason", "directory_missing"}, {"command", command}, {"directory", spec.directory}});
        }
    }

    std::array<Ends, 3> ends;
    const Stdio how[] = {spec.input, spec.output, spec.errors};
    for (int number = 0; number < 3; ++number) {
        const auto index = static_cast<std::size_t>(number);
        CALLGATE_TRY_ASSIGN(ends[index], make_ends(how[index], number));
    }

    SpawnOptions options;
    if (const int problem = options.prepare(spec, ends); problem != 0) {
        return tl::unexpected(launch_error(command, problem));
    }
    std::vector<std::string> arguments = spec.argv;
    std::vector<std::string> variables;
    if (spec.environment) {
        for (const auto& [name, value] : *spec.environment) {
            variables.push_back(fmt::format("{}={}", name, value));
        }
    }
    auto environment = pointers(variables);
    pid_t pid = 0;
    const int problem =
        ::posix_spawnp(&pid, command.c_str(), &options.actions, &options.attributes,
                       pointers(arguments).data(), spec.environment ? environment.data() : environ);
    if (problem != 0) {
        return tl::unexpected(launch_error(command, problem));
    }
    auto process = std::make_unique<RealProcess>(pid, Fd(open_pidfd(pid)));
    if (!process->ended()) {
        return tl::unexpected(
            system_error(ErrorCode::internal, "watch", fmt::format("process {}", pid), errno));
    }
    process->input = std::move(ends[0].ours);
    process->output = std::move(ends[1].ours);
    process->errors = std::move(ends[2].ours);
    return process;
}

}  // namespace callgate::os
