// Tells many callers that their work is done, beside the thread that did it: waking one costs a few
// microseconds, and the writer has better things to do with 64 of them. What it told is let go here, too.
//
// Threads: notify() from one thread; finish() of what is told runs on the notifier's.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace callgate::ledger {

class WriteJob;

class WaiterNotifier {
public:
    using Jobs = std::vector<std::unique_ptr<WriteJob>>;

    WaiterNotifier();
    /// When all have been told.
    ~WaiterNotifier();

    /// Those of one commit, which is on the disk.
    void notify(Jobs&& jobs);
    bool on_this_thread() const noexcept { return thread_.get_id() == std::this_thread::get_id(); }

private:
    void run();

    std::mutex mutex_;
    std::condition_variable wanted_;
    std::vector<Jobs> waiting_;
    bool asleep_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace callgate::ledger
