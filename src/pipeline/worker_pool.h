// Threads for foreign code that may block: tools that are plain functions, so that a deadline holds even when
// the function ignores it, and what a host is notified of. And, apart from those, the threads that run
// stages.
//
// Threads are made on demand, up to a size, and go after a while without work. A worker that waits for a
// nested call does not count while it waits, so that calls inside calls never starve. What no thread can take
// yet is queued, bounded in tasks and bytes; leaving the queue costs the same however long it is. A task that
// outlives its deadline is abandoned: its thread no longer counts either, and goes when the task returns.
// Destruction drops what has not begun, waits a grace for the rest, and leaves behind what is still running:
// the one place where a thread may outlive its owner. Such a thread touches only its task.
//
// Threads: may be used from any thread, the pool's own included.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>

namespace callgate::pipeline {

class PoolTask {
public:
    virtual ~PoolTask() = default;
    /// Runs on a pool thread; must not throw.
    virtual void run() = 0;
    /// It will never run: the pool is closing.
    virtual void drop() = 0;
    /// What it keeps in memory while it is queued.
    virtual std::size_t bytes() const noexcept { return 0; }

private:
    friend class WorkerPool;
    // Where it is, under the pool's lock.
    void* worker_ = nullptr;
    bool queued_ = false;
    std::size_t counted_bytes_ = 0;
    std::list<std::shared_ptr<PoolTask>>::iterator place_;
};

class WorkerPool {
public:
    static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

    struct Options {
        std::size_t threads = 4;
        std::size_t max_threads = 512;  ///< waiting and abandoned ones included
        std::size_t max_queued = kUnlimited;
        std::size_t max_queued_bytes = kUnlimited;
        bool ours = false;  ///< no foreign code runs on its threads (base/thread_role.h)
        std::chrono::milliseconds linger{10'000};  ///< how long a thread waits for work
        Options() {}
    };
    struct Counts {
        std::uint64_t abandoned_now = 0;
        std::size_t threads = 0;
        std::size_t queued = 0;
        std::size_t queued_bytes = 0;
        std::size_t busy = 0;  ///< threads that have a task, waiting and abandoned ones included
    };

    explicit WorkerPool(Options options);
    ~WorkerPool();

    enum class Submitted : std::uint8_t {
        taken,
        queue_full,
        no_thread  ///< closing, or out of threads while all of them wait for each other
    };
    /// Anything but `taken`: the task was not taken, and nothing will become of it here.
    Submitted submit(std::shared_ptr<PoolTask> task);
    /// Whether submit() would find the queue full now.
    bool full() const;
    /// The running task's thread is given up. A queued task is taken out (drop() is not called). Nothing
    /// happens to a task that has ended.
    /// True: its code runs on.
    bool abandon(const std::shared_ptr<PoolTask>& task);

    /// While it lives, the calling thread waits for something that may need another thread of the pool it
    /// belongs to, if it belongs to one.
    class Waiting {
    public:
        Waiting();
        ~Waiting();
        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;

        /// Whether it is a thread of a pool, which others have to do without meanwhile.
        bool holds_thread() const noexcept { return counted_; }

        /// Something to do has come for it: it counts while it does that.
        template <class Work>
        void interrupt(Work work) {
            if (counted_) mark(false);
            work();
            if (counted_) mark(true);
        }

    private:
        static void mark(bool waiting);
        bool counted_;
    };

    Counts counts() const;
    /// As the destructor does. True if every thread came home within the grace.
    bool close(std::chrono::milliseconds grace);

private:
    struct State;
    struct Place;
    std::shared_ptr<State> state_;
};

}  // namespace callgate::pipeline
