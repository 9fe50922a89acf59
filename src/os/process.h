// Child processes behind an interface.
//
// A command is started directly, never through a shell, in a process group of its own, with no descriptor but
// 0, 1 and 2, default signal handling and an empty signal mask. A command that cannot be started is an error
// of launch(), not a child that dies. A Process that goes away takes its whole group with it.
//
// Threads: a launcher may be used from any thread; a Process belongs to one thread at a time. Who writes to a
// child's input without give_input() must have SIGPIPE ignored.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <callgate/error.h>

#include "os/fd.h"

namespace callgate::os {

enum class Stdio : std::uint8_t {
    pipe,     ///< our end is in the Process
    null,     ///< /dev/null
    inherit,  ///< this process's own
};

struct ProcessSpec {
    std::vector<std::string> argv;  ///< the command first; without a slash it is looked up in our PATH
    /// All variables of the child; absent = a copy of ours.
    std::optional<std::vector<std::pair<std::string, std::string>>> environment;
    std::string directory;  ///< where it runs; empty = where we run
    Stdio input = Stdio::pipe;
    Stdio output = Stdio::pipe;
    Stdio errors = Stdio::pipe;

    ProcessSpec() = default;
    explicit ProcessSpec(std::vector<std::string> command) : argv(std::move(command)) {}
};

struct ExitStatus {
    int code = 0;    ///< the exit code, or 0 when a signal ended it
    int signal = 0;  ///< the signal that ended it, or 0

    bool ok() const noexcept { return code == 0 && signal == 0; }
    /// "exit code 3" or "signal 9 (Killed)".
    std::string to_string() const;
    bool operator==(const ExitStatus&) const = default;
};

class Process {
public:
    virtual ~Process() = default;

    virtual pid_t pid() const noexcept = 0;
    /// Becomes readable when the process has ended; for an event loop.
    virtual const Fd& ended() const noexcept = 0;

    /// Our ends of the pipes; empty where Stdio is not `pipe`. Resetting `input` is the child's end of file.
    Fd input;
    Fd output;
    Fd errors;

    /// All that the child gets to read: writes it to `input`, and closes that. What the child does not read
    /// is its own affair: that it has ended is neither an error nor a SIGPIPE here. Blocks while the pipe is
    /// full.
    void give_input(std::string_view text);

    /// How it ended, or nothing while it runs. May be asked again.
    virtual Result<std::optional<ExitStatus>> poll() = 0;
    /// Waits until it has ended or the time is up.
    virtual Result<std::optional<ExitStatus>> wait(std::chrono::milliseconds at_most) = 0;
    /// Signals every process of the group. That nobody is left is no error. Safe after the end, too: the
    /// group's number stays taken while this object lives.
    virtual Result<void> signal_group(int signal) = 0;
};

class ProcessLauncher {
public:
    virtual ~ProcessLauncher() = default;

    /// transport, details {reason, command, errno}: "Command not found: X" (command_not_found), "Permission
    /// denied: X" (command_permission), "Working directory not found: D" (directory_missing), else
    /// spawn_failed. Nothing has run then. invalid_arguments for an empty command, a NUL byte or a bad
    /// variable name.
    virtual Result<std::unique_ptr<Process>> launch(const ProcessSpec& spec) = 0;
};

class RealProcessLauncher final : public ProcessLauncher {
public:
    Result<std::unique_ptr<Process>> launch(const ProcessSpec& spec) override;
};

/// The errors of a spec itself; what every launcher checks first.
Result<void> check(const ProcessSpec& spec);

/// launch()'s error for an errno.
Error launch_error(const std::string& command, int error_number);

}  // namespace callgate::os
