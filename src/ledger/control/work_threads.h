// A few threads for work that may block: started when first needed, never more than said.
//
// Threads: run() may be called from any thread, stop() from one.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0;
    bool stopping_ = false;
};

}  // namespace callgate::ledger
