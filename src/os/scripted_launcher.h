// Processes that never ran: a launcher for tests, which plays scripts.
//
// Each launch takes the next script. What the code under test reads from and writes to are real descriptors,
// so that event loops work as with real children; nothing waits and nothing depends on timing.
//
// Threads: the launcher may be used from any thread; see process.h for the processes.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "os/process.h"

namespace callgate::os {

struct ProcessScript {
    std::optional<Error> launch_error;  ///< launch() fails with this
    std::string output;                 ///< all that its standard output will ever give
    std::string errors;
    std::optional<ExitStatus> exits = ExitStatus{};  ///< at once; absent = when a signal ends it
    bool ignores_sigterm = false;                    ///< then only SIGKILL ends it
};

/// What one scripted process saw.
struct ProcessRecord {
    ProcessSpec spec;
    std::vector<int> signals;
    bool destroyed = false;
    Fd input;  ///< the other end of the child's input: what was written can be read here

    /// Everything written to the child's input so far.
    std::string read_input();
};

class ScriptedLauncher final : public ProcessLauncher {
public:
    void add(ProcessScript script);

    /// Without a script left: transport, details.reason "no_script".
    Result<std::unique_ptr<Process>> launch(const ProcessSpec& spec) override;

    /// In the order of launching, failed ones included. Not while other threads use the launcher.
    std::vector<std::shared_ptr<ProcessRecord>> records() const;

private:
    mutable base::Mutex mutex_;
    std::deque<ProcessScript> scripts_ CALLGATE_GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<ProcessRecord>> records_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate::os
