// A host: a program drawn at random from a seed, which embeds the runtime and does with it what programs do.
//
// Several threads call (callers.h), the tools of every kind misbehave (tools.h), callbacks and observers too
// (watchers.h), and at some moment the runtime may end. Time is the host's own: each step moves the clock and
// releases what stood still for long enough. After each step, every call whose time is over must have ended
// although strangers still stand still. At the end all is released, the keys are tried again, and judge.h
// judges.
//
// Threads: play() from one; everything else from any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include <callgate/callgate.h>

#include "base/clock.h"
#include "ledger/ledger.h"
#include "pipeline/core.h"
#include "pipeline/timers.h"

#include "board.h"
#include "gates.h"
#include "manner.h"

namespace callgate::hosts {

inline constexpr std::chrono::milliseconds kStep{10};  ///< of the host's clock

inline constexpr std::size_t kOpenApprovals = 20;     ///< of one principal
inline constexpr std::uint32_t kBreakerFailures = 2;  ///< in a row, and a tool of a host rests

struct Settings {
    std::chrono::milliseconds patience{20'000};  ///< real time without any progress: it hangs
    std::string scratch;                         ///< for ledgers on the disk; "": none of them
};

/// A tool of a host.
struct ToolKindOfHost {
    std::string name;
    EffectClass effect = EffectClass::unsafe;
    RunMode mode = RunMode::pooled;
    bool coroutine = false;
    std::uint32_t retries = 0;
    bool narrow = false;   ///< calls on the same item take turns
    bool limited = false;  ///< by a rate
};
const std::vector<ToolKindOfHost>& tool_kinds();

/// Calls with this key: always the same request.
struct KeyPlan {
    std::size_t tool = 0;
    std::string key;
    std::string principal;
    std::string item;
    std::string scope() const;
};

class HostIo;

class Host {
public:
    Host(std::uint64_t seed, Settings settings);
    ~Host();
    void play();

    const std::uint64_t seed;
    Board board;
    Gates gates;
    std::shared_ptr<base::ManualClock> clock = std::make_shared<base::ManualClock>();
    std::vector<KeyPlan> keys;

    /// The runtime, for as long as this lives. Null: it is going, or gone.
    class Visit {
    public:
        explicit Visit(Host& host);
        ~Visit();
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;
        explicit operator bool() const { return runtime_ != nullptr; }
        Runtime* operator->() const { return runtime_; }
        Runtime& operator*() const { return *runtime_; }

    private:
        Host& host_;
        Runtime* runtime_;
    };

    /// Where the host's own coroutines run: a thread that is none of the runtime's.
    boost::asio::any_io_executor executor();
    /// After so many steps, on the host's own thread.
    void later(std::uint64_t steps, std::function<void()> what) { gates.later(steps, std::move(what)); }
    /// Foreign code runs here: never on the thread that moves the clock, on which the timers fire. False: it
    /// does, and must not stand still there.
    bool foreign(Ticket about, std::string_view what);
    /// One more call from a callback: it needs a number nobody else has.
    Ticket callback_ticket() { return outer_ticket(kCallbacks, callbacks_.fetch_add(1)); }
    std::uint64_t calls() const { return calls_; }
    std::string options_text() const { return options_text_; }
    const RuntimeOptions& options() const { return options_; }

private:
    friend class Visit;
    enum class Shutdown : std::uint8_t { none, close, destroy, drain };
    enum class Store : std::uint8_t { memory, later, disk };

    std::unique_ptr<Runtime> make_runtime(RuntimeOptions options);
    void open_ledger();
    void draw();
    void step();
    void move_the_clock();
    void begin_shutdown();
    void drain();
    void wait_for_overdue();
    /// Lets time pass until `over`, or says that it hangs.
    void until(const char* what, const std::function<bool()>& over);
    void epilogue();
    void watch();
    [[noreturn]] void give_up(Ticket about, std::string_view rule, const std::string& what);

    const Settings settings_;
    Dice dice_;
    RuntimeOptions options_;
    Store store_ = Store::memory;
    Shutdown shutdown_ = Shutdown::none;
    std::uint64_t shutdown_step_ = 0;
    std::size_t callers_ = 3;
    std::string options_text_;
    std::string directory_;

    std::shared_ptr<pipeline::ManualTimers> timers_ = std::make_shared<pipeline::ManualTimers>(*clock);
    std::shared_ptr<ledger::Ledger> ledger_;
    std::shared_ptr<ledger::Operations> operations_;
    std::unique_ptr<HostIo> io_;
    std::mutex visits_mutex_;
    std::unique_ptr<Runtime> runtime_;
    bool leaving_ = false;
    std::atomic<std::size_t> visits_{0};
    std::weak_ptr<Runtime::Core> core_;
    std::thread closer_;
    std::atomic<bool> closed_{true};
    std::thread watchdog_;  // of the thread that moves the clock
    std::mutex watch_mutex_;
    std::condition_variable watch_changed_;
    bool watched_ = true;
    std::atomic<std::uint64_t> beats_{0};
    std::atomic<std::size_t> callers_done_{0};
    std::atomic<std::uint64_t> callbacks_{0};
    std::uint64_t steps_ = 0;
    std::uint64_t calls_ = 0;
};

}  // namespace callgate::hosts
