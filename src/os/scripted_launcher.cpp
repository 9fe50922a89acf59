#include "os/scripted_launcher.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/try.h"
#include "os/files.h"
#include "os/system_error.h"

namespace callgate::os {
namespace {

class ScriptedProcess final : public Process {
public:
    ScriptedProcess(pid_t pid, Fd ended, ProcessScript script, std::shared_ptr<ProcessRecord> record)
        : pid_(pid), ended_(std::move(ended)), script_(std::move(script)), record_(std::move(record)) {
        if (script_.exits) {
            end(*script_.exits);
        }
    }

    ~ScriptedProcess() override { record_->destroyed = true; }

    pid_t pid() const noexcept override { return pid_; }
    const Fd& ended() const noexcept override { return ended_; }
    Result<std::optional<ExitStatus>> poll() override { return status_; }
    // Waiting changes nothing here: what will happen has happened.
    Result<std::optional<ExitStatus>> wait(std::chrono::milliseconds) override { return status_; }

    Result<void> signal_group(int signal) override {
        record_->signals.push_back(signal);
        const bool ignored = signal == 0 || (signal == SIGTERM && script_.ignores_sigterm);
        if (!status_ && !ignored) {
            end(ExitStatus{0, signal});
        }
        return {};
    }

private:
    void end(ExitStatus status) {
        status_ = status;
        const std::uint64_t one = 1;
        (void)!::write(ended_.get(), &one, sizeof one);
    }

    pid_t pid_;
    Fd ended_;
    ProcessScript script_;
    std::shared_ptr<ProcessRecord> record_;
    std::optional<ExitStatus> status_;
};

// A memory file rather than a pipe: it holds any amount and ends where the text ends.
Result<Fd> readable(const std::string& text) {
    Fd fd(::memfd_create("scripted", MFD_CLOEXEC));
    if (!fd) {
        return tl::unexpected(system_error(ErrorCode::internal, "make", "a memory file", errno));
    }
    RealFileOps files;
    CALLGATE_TRY(pwrite_all(files, fd, text, 0));
    return fd;
}

}  // namespace

std::string ProcessRecord::read_input() {
    std::string out;
    std::array<char, 4096> block;
    for (;;) {
        const ssize_t got = ::read(input.get(), block.data(), block.size());
        if (got <= 0) {
            return out;
        }
        out.append(block.data(), static_cast<std::size_t>(got));
    }
}

void ScriptedLauncher::add(ProcessScript script) {
    const base::MutexLock lock(mutex_);
    scripts_.push_back(std::move(script));
}

std::vector<std::shared_ptr<ProcessRecord>> ScriptedLauncher::records() const {
    const base::MutexLock lock(mutex_);
    return records_;
}

Result<std::unique_ptr<Process>> ScriptedLauncher::launch(const ProcessSpec& spec) {
    CALLGATE_TRY(check(spec));
    const base::MutexLock lock(mutex_);
    auto record = std::make_shared<ProcessRecord>();
    record->spec = spec;
    records_.push_back(record);
    if (scripts_.empty()) {
        return fail(ErrorCode::transport, "No script is left for: " + spec.argv.front(),
                    {{"reason", "no_script"}});
    }
    ProcessScript script = std::move(scripts_.front());
    scripts_.pop_front();
    if (script.launch_error) {
        return tl::unexpected(std::move(*script.launch_error));
    }

    std::array<int, 2> pipe{};
    Fd ended(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!ended || ::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
        return tl::unexpected(system_error(ErrorCode::internal, "make", "a pipe", errno));
    }
    record->input = Fd(pipe[0]);
    Fd input(pipe[1]);
    auto output = readable(script.output);
    auto errors = readable(script.errors);
    if (!output || !errors) {
        return tl::unexpected(std::move(!output ? output.error() : errors.error()));
    }
    // Numbers that no real process has: nobody can be signalled by mistake.
    const auto pid = static_cast<pid_t>(1'000'000'000 + static_cast<int>(records_.size()));
    auto process =
        std::make_unique<ScriptedProcess>(pid, std::move(ended), std::move(script), std::move(record));
    if (spec.input == Stdio::pipe) {
        process->input = std::move(input);
    }
    if (spec.output == Stdio::pipe) {
        process->output = std::move(*output);
    }
    if (spec.errors == Stdio::pipe) {
        process->errors = std::move(*errors);
    }
    return process;
}

}  // namespace callgate::os
