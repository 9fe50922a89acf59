// A child: a command that runs for long and talks with us over its standard streams.
//
// It is started by a program of ours, callgate-launch, which stays beside it and ends with it (apps/launch).
// - It gets the environment that was made for it (environment.h), no descriptor of ours, no terminal, and
//   sockets for its input and output, so that writing to one that has gone is an error and no SIGPIPE.
// - Ending it takes none of our time: end() closes its input and tells the launcher, which gives it
//   `close_grace`, asks all that came of it to end (SIGTERM), and kills after `term_grace` until nothing is
//   left, also of what went its own way (setsid, double fork). The same happens when this process ends or is
//   killed, and, from SIGTERM on, when the command ends by itself.
// - All descriptors here do not block, and are for an event loop. What is not read fills the child's pipes
//   and no memory of ours, and the child waits; what it does not read it lets us wait for.
// - Whether the command could be started comes like its end, as a change of its state: starting one does not
//   wait for its disk.
//
// What a child can do about it, as the same user: kill its launcher. Then what is left below is ended by a
// program that is a subreaper itself (subreaper.h); a library's host that is none is left with it. Or stop
// its launcher and then kill us: end() wakes one that is stopped, but nobody is left to.
//
// Threads: a launcher may be used from any thread; a Child belongs to one thread at a time.
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

#include "os/environment.h"
#include "os/fd.h"
#include "os/process.h"

namespace callgate::os {

struct ChildSpec {
    std::vector<std::string> argv;  ///< the command first; without a slash it is looked up in its own PATH
    Environment environment;        ///< all of it
    std::string directory;          ///< where it runs; empty = where we run
    std::chrono::milliseconds close_grace{2'000};  ///< from the end of its input to SIGTERM
    std::chrono::milliseconds term_grace{5'000};   ///< from there to SIGKILL; each an hour at most

    ChildSpec() = default;
    explicit ChildSpec(std::vector<std::string> command) : argv(std::move(command)) {}
};

enum class ChildStage : std::uint8_t {
    starting,  ///< not known yet whether it can be started
    running,
    exited,  ///< the command has; something that came of it may be left, and is being ended
    gone,    ///< nothing is left, or the launcher was killed
};

struct ChildState {
    ChildStage stage = ChildStage::starting;
    std::optional<ExitStatus> exit;  ///< how the command ended, where it ran and that is known
    std::optional<Error> refused;    ///< it could not be started: errors as of ProcessLauncher::launch()
    bool launcher_killed = false;    ///< with `gone`: nobody has ended what came of it

    ChildState() = default;
};

class Child {
public:
    /// Ends it as end() does, and waits for nothing.
    virtual ~Child() = default;

    /// Our ends of its streams. Resetting `input` is its end of file.
    Fd input;
    Fd output;
    Fd errors;

    /// As much of a text as it takes now, which may be nothing. transport {reason: child_gone}: nobody reads
    /// any more, or `input` was closed.
    Result<std::size_t> send(std::string_view text);

    /// The command's, once it runs; for people to read, since it may be another's after the end.
    virtual pid_t pid() const noexcept = 0;
    /// Readable when the state has changed. Once it is `gone`, it stays readable.
    virtual const Fd& changed() const noexcept = 0;
    virtual ChildState state() = 0;
    /// Begins its end. Again: nothing.
    virtual void end() = 0;
};

class ChildLauncher {
public:
    virtual ~ChildLauncher() = default;

    /// invalid_arguments for what check(ProcessSpec) refuses; transport {reason: launcher_missing |
    /// directory_missing | spawn_failed …}.
    virtual Result<std::unique_ptr<Child>> launch(const ChildSpec& spec) = 0;
};

/// Where callgate-launch is: `named`, or where that is empty beside the running program or in its
/// ../libexec. transport {reason: launcher_missing} where there is none.
Result<std::string> find_launcher(const std::string& named = {});

class RealChildLauncher final : public ChildLauncher {
public:
    /// The path of callgate-launch.
    explicit RealChildLauncher(std::string program);
    /// Waits until all children that were released have ended, as long as their graces and kSlack last. Must
    /// go after its children.
    ~RealChildLauncher() override;
    RealChildLauncher(const RealChildLauncher&) = delete;
    RealChildLauncher& operator=(const RealChildLauncher&) = delete;

    Result<std::unique_ptr<Child>> launch(const ChildSpec& spec) override;

    /// How many that were released have not ended yet.
    std::size_t ending();
    /// How many launchers, of children that were released as well, have been killed by now. Where this grows
    /// in a program that is a subreaper, end_left_behind() has something to do.
    std::uint64_t launchers_killed() const;

    static constexpr std::chrono::milliseconds kSlack{5'000};

private:
    class Real;
    class Ending;

    const std::string program_;
    const std::shared_ptr<Ending> ending_;
};

}  // namespace callgate::os
