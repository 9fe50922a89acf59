// Ctrl-C as a request to stop, for as long as something can be stopped.
//
// The first SIGINT or SIGTERM (for what serves others, SIGHUP as well) sets the stop token; the next
// SIGINT or SIGTERM ends the program, as it would have without this.
//
// Threads: made and destroyed on one thread, before other threads are made: they inherit that the signals are
// blocked. The token may be used from any thread.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <stop_token>
#include <thread>

#include "os/fd.h"

namespace callgate::cli {

/// How soon a wait for a person notices it.
inline constexpr int kLookMs = 100;

class Interrupt {
public:
    enum class By : std::uint8_t { person, terminals_end_too };

    explicit Interrupt(By by = By::person);
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    std::stop_token token() const noexcept { return requested_.get_token(); }
    bool requested() const noexcept { return requested_.stop_requested(); }
    /// True as soon as it is requested, false when the time has passed.
    bool wait_for(std::chrono::milliseconds time) const;

private:
    void watch();

    std::stop_source requested_;
    sigset_t signals_{};
    sigset_t before_{};
    os::Fd arrived_;
    os::Fd over_;
    std::thread watcher_;
};

}  // namespace callgate::cli
