// A few threads for work that may block: started when first needed, never more than said.
//
// Threads: run() may be called from any thread, stop() from one.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace callgate::ledger {

class WorkThreads {
public:
    explicit WorkThreads(std::size_t most) : most_(most) {}
    ~WorkThreads() { stop(); }
    WorkThreads(const WorkThreads&) = delete;
    WorkThreads& operator=(const WorkThreads&) = delete;

    /// When a thread is free, in the order they came. The caller bounds how many wait. The work must not
    /// throw.
    void run(std::function<void()> work);
    /// What runs is waited for; what has not begun never begins.
    void stop();

private:
    void work();

    const std::size_t most_;
    base::Mutex mutex_;
    base::CondVar changed_;
    std::deque<std::function<void()>> waiting_ CALLGATE_GUARDED_BY(mutex_);
    std::vector<std::thread> threads_ CALLGATE_GUARDED_BY(mutex_);
    std::size_t idle_ CALLGATE_GUARDED_BY(mutex_) = 0;
    bool stopping_ CALLGATE_GUARDED_BY(mutex_) = false;
};

}  // namespace callgate::ledger
