// Foreign code that is still to run: what a host is to be notified of, in order, one at a time.
//
// Whoever notices something on a thread where foreign code must not run puts it here, and a thread where it
// may drains it. Two drains never overlap, so the order holds whichever threads they run on.
//
// Threads: may be used from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>

#include "base/mutex.h"
#include "pipeline/counter.h"

namespace callgate::pipeline {

class Notices {
public:
    using Notice = std::function<void()>;

    /// Something waits or is being delivered.
    bool pending() const noexcept { return pending_.load(std::memory_order_acquire); }

    enum class Pushed : std::uint8_t {
        first,   ///< nobody is about to drain it, so the caller has to see to that
        behind,  ///< somebody is
        closed   ///< too late: it was not taken
    };
    Pushed push(Notice& notice);
    /// Runs everything, what is put in meanwhile included. What they throw is dropped and counted.
    void drain(Counter& faults);
    /// As drain(), and nothing is taken any more.
    void drain_and_close(Counter& faults);
    /// Blocks until nothing is pending.
    void wait_until_delivered() const;

private:
    void drain(Counter& faults, bool close);

    mutable base::Mutex mutex_;
    std::list<Notice> waiting_ CALLGATE_GUARDED_BY(mutex_);  // unlike a deque, it costs nothing while empty
    bool claimed_ CALLGATE_GUARDED_BY(mutex_) = false;       // somebody drains it, or is about to
    bool closed_ CALLGATE_GUARDED_BY(mutex_) = false;
    std::atomic<bool> pending_{false};
};

}  // namespace callgate::pipeline
