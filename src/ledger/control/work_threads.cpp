#include "ledger/control/work_threads.h"

#include <utility>

#include "base/thread_role.h"

namespace callgate::ledger {

void WorkThreads::run(std::function<void()> work) {
    const base::MutexLock lock(mutex_);
    if (stopping_) return;
    waiting_.push_back(std::move(work));
    if (waiting_.size() > idle_ && threads_.size() < most_) {
        threads_.emplace_back([this] { this->work(); });
    } else {
        changed_.notify_one();
    }
}

void WorkThreads::stop() {
    std::vector<std::thread> ending;
    {
        const base::MutexLock lock(mutex_);
        stopping_ = true;
        waiting_.clear();
        ending.swap(threads_);
    }
    changed_.notify_all();
    for (std::thread& thread : ending) thread.join();
}

void WorkThreads::work() {
    const base::OurThread ours;
    base::MutexLock lock(mutex_);
    for (;;) {
        ++idle_;
        changed_.wait(lock, [this]() CALLGATE_REQUIRES(mutex_) { return stopping_ || !waiting_.empty(); });
        --idle_;
        if (stopping_) return;
        auto next = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        next();
        next = nullptr;
        lock.lock();
    }
}

}  // namespace callgate::ledger
