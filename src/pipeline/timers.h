// Timers as a seam: something happens at a moment of monotonic time.
//
// Threads: at() and cancel() may be called from any thread. A callback runs once, on the timers' own thread
// (or, by hand, on the thread that moves the clock), without a lock held; it may be running while cancel()
// returns.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace callgate::pipeline {

struct TimerId {
    base::MonotonicTime when{};
    std::uint64_t number = 0;  ///< 0 is none

    explicit operator bool() const noexcept { return number != 0; }
    auto operator<=>(const TimerId&) const = default;
};

class Timers {
public:
    virtual ~Timers() = default;
    virtual TimerId at(base::MonotonicTime when, std::function<void()> fire) = 0;
    virtual void cancel(const TimerId& timer) = 0;
};

/// The timers that are set, in the order they are due.
class TimerTable {
public:
    TimerId add(base::MonotonicTime when, std::function<void()> fire);
    void remove(const TimerId& timer);
    /// Takes out the first one that is due; an empty function when none is.
    std::function<void()> take_due(base::MonotonicTime now);
    const base::MonotonicTime* next() const noexcept;

private:
    std::uint64_t last_ = 0;
    std::map<TimerId, std::function<void()>> due_;
};

/// Real time, on one thread that starts with the first timer.
class ThreadTimers final : public Timers {
public:
    ThreadTimers();
    /// No callback begins after this. Waits for the one that is running, unless it is the caller.
    ~ThreadTimers() override;

    TimerId at(base::MonotonicTime when, std::function<void()> fire) override;
    void cancel(const TimerId& timer) override;

private:
    struct State;
    std::shared_ptr<State> state_;  // the thread's too: a callback may end whoever owns the timers
    std::thread thread_;            // under its lock until the destructor
};

/// Time by hand, for tests: due timers fire in fire_due().
class ManualTimers final : public Timers {
public:
    explicit ManualTimers(base::ManualClock& clock) : clock_(clock) {}

    TimerId at(base::MonotonicTime when, std::function<void()> fire) override;
    void cancel(const TimerId& timer) override;

    void fire_due();
    /// Time passes, and what falls due happens.
    void advance(std::chrono::nanoseconds duration);
    /// When the next one is due, if any is set.
    bool next(base::MonotonicTime& when) const;

private:
    base::ManualClock& clock_;
    mutable base::Mutex mutex_;
    TimerTable table_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate::pipeline
