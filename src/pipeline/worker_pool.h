// Threads for tools that are plain functions, so that a deadline holds even when the function ignores it.
//
// Threads are made on demand, up to a size. A worker that waits for a nested call does not count while it
// waits, so that calls inside calls never starve. A task that outlives its deadline is abandoned: its thread
// no longer counts either, and goes when the task returns. Destruction cancels what has not begun, waits a
// grace for the rest, and leaves behind what is still running: the one place where a thread may outlive its
// owner. Such a thread touches only its task.
//
// Threads: may be used from any thread, the pool's own included.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace callgate::pipeline {

class PoolTask {
public:
    virtual ~PoolTask() = default;
    /// Runs on a pool thread; must not throw.
    virtual void run() = 0;
    /// It will never run: the pool is closing.
    virtual void drop() = 0;
};

class WorkerPool {
public:
    struct Options {
        std::size_t threads = 4;
        std::size_t max_threads = 512;  ///< waiting and abandoned ones included
        Options() {}
    };
    struct Counts {
        std::uint64_t abandoned = 0;  ///< ever
        std::uint64_t abandoned_now = 0;
        std::size_t threads = 0;
        std::size_t queued = 0;
        std::size_t busy = 0;  ///< threads that have a task, waiting and abandoned ones included
    };

    explicit WorkerPool(Options options);
    ~WorkerPool();

    /// False: closing, or out of threads while all of them wait for each other. The task is then not taken.
    bool submit(std::shared_ptr<PoolTask> task);
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
