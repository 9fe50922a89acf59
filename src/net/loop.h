// The threads on which sockets are served, and on which what arrives is read, judged and answered.
//
// Each thread of a loop has an io context of its own, so what belongs to one connection needs no lock. The
// threads are ours (base/thread_role.h): nothing on them may block, and foreign code (hooks, observers,
// bodies that have not promised to be quick) runs elsewhere. Test builds abort where it would be otherwise. A
// loop is never lent, unlike the runtime's context for coroutine tools, where a user's code may wait.
//
// Threads: may be used from any thread; destroyed on none of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <callgate/calls.h>

#include "base/mutex.h"
#include "net/socket_watch.h"

namespace callgate::net {

/// One thread of a loop. It may be kept for longer than the loop: its context stays, for sockets and timers
/// that still refer to it, and everything that waits in it is destroyed as the loop ends.
class LoopThread {
public:
    LoopThread();
    ~LoopThread();
    LoopThread(const LoopThread&) = delete;
    LoopThread& operator=(const LoopThread&) = delete;

    /// For what opens sockets and timers; only on this thread, or before anything runs there.
    boost::asio::io_context& context() noexcept { return context_; }
    /// For sockets that are read and written often; only on this thread.
    SocketWatch& sockets() noexcept { return *sockets_; }
    bool here() const noexcept { return id_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
    /// Runs work there, in the order in which it is given, never before this returns. False: the loop has
    /// ended, and the work was dropped. It is dropped as well if the loop ends before its turn.
    template <class Work>
    bool post(Work work) {
        const base::MutexLock lock(mutex_);
        if (ended_) return false;
        boost::asio::post(context_, std::move(work));
        return true;
    }

private:
    friend class Loop;
    struct Context : boost::asio::io_context {
        Context() : io_context(1) {}
        using execution_context::shutdown;
    };

    void start();
    void stop();  ///< in two steps, so that the threads of a loop stop together
    void join();

    Context context_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
    std::unique_ptr<SocketWatch> sockets_ = std::make_unique<SocketWatch>(context_);
    std::atomic<std::thread::id> id_{};
    std::thread thread_;
    base::Mutex mutex_;
    bool ended_ CALLGATE_GUARDED_BY(mutex_) = false;
};

class Loop {
public:
    explicit Loop(std::size_t threads = 1);
    /// Stops: work that is queued is dropped, with whatever it holds.
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    std::size_t threads() const noexcept { return threads_.size(); }
    /// Counted modulo threads().
    const std::shared_ptr<LoopThread>& thread(std::size_t index = 0) const noexcept;
    /// The context of one of its threads, for what opens sockets.
    boost::asio::io_context& context(std::size_t index = 0) { return thread(index)->context(); }
    /// Runs work on that thread, in the order in which it is given, never before it returns. It may be kept,
    /// used and released by any thread, also after the loop has gone: work is then dropped.
    Executor executor(std::size_t index = 0);
    /// Whether this is one of its threads, or that one.
    bool here() const noexcept;
    bool here(std::size_t index) const noexcept { return thread(index)->here(); }

private:
    std::vector<std::shared_ptr<LoopThread>> threads_;
};

}  // namespace callgate::net
