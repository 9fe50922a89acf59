// Notifies many callers that their work is done, on a thread of its own: waking one costs a few microseconds,
// and the writer has better things to do with 64 of them. Finished jobs are destroyed here, too.
//
// Threads: notify() from one thread; finish() of the jobs runs on the notifier's thread.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace callgate::ledger {

class WriteJob;

class WaiterNotifier {
public:
    using Jobs = std::vector<std::unique_ptr<WriteJob>>;

    WaiterNotifier();
    /// When all have been notified.
    ~WaiterNotifier();

    /// Those of one commit, which is on the disk.
    void notify(Jobs&& jobs);
    bool on_this_thread() const noexcept { return thread_.get_id() == std::this_thread::get_id(); }

private:
    void run();

    base::Mutex mutex_;
    base::CondVar wanted_;
    std::vector<Jobs> waiting_ CALLGATE_GUARDED_BY(mutex_);
    bool asleep_ CALLGATE_GUARDED_BY(mutex_) = false;
    bool stopping_ CALLGATE_GUARDED_BY(mutex_) = false;
    std::thread thread_;
};

}  // namespace callgate::ledger
