// Asks the process that owns a ledger, over its control socket.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <callgate/error.h>
#include <callgate/json.h>

#include "ledger/control/message.h"
#include "ledger/control/service.h"
#include "os/fd.h"

namespace callgate::ledger {

class ControlClient {
public:
    /// `directory` is the ledger's. ledger_unavailable {reason: nobody_serves} where nobody does,
    /// {reason: not_allowed} where the socket is not ours to use, {reason: foreign_owner} where somebody
    /// serves it who is neither root, nor this user, nor whose directory it is.
    static Result<ControlClient> connect(const std::string& directory);

    /// The result of one verb. `request` without "v". Progress is reported as it comes; when `progress`
    /// says stop, the connection is closed, which calls the work off: cancelled. Where nothing comes for
    /// `patience` (0: as long as it takes): timed_out {reason: no_answer}. Where the owner goes away:
    /// transport {reason: connection_lost}; whether a decision was recorded is then not known.
    Result<Value> ask(Object request, const Meanwhile& meanwhile = {},
                      std::chrono::milliseconds patience = std::chrono::milliseconds(60'000));

    pid_t owner() const noexcept { return owner_; }

private:
    ControlClient(os::Fd fd, pid_t owner) : fd_(std::move(fd)), owner_(owner) {}

    /// The progress reported last.
    struct Counts {
        std::uint64_t done = 0;
        std::uint64_t total = 0;
    };
    static bool tell(const Counts& counts, const Meanwhile& meanwhile);

    Result<void> write(std::string_view bytes, std::chrono::milliseconds patience);
    Result<void> wait_for(short events, std::chrono::milliseconds patience,
                          const std::function<bool()>& still_wanted);
    Result<Object> read(std::chrono::milliseconds patience, const std::function<bool()>& still_wanted);
    /// Nothing: it was no answer yet, and there is more to come.
    std::optional<Result<Value>> take(Object message, Counts& counts, const Meanwhile& meanwhile);

    os::Fd fd_;
    pid_t owner_ = 0;
    MessageReader in_{answer_limits()};
};

}  // namespace callgate::ledger
