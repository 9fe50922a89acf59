#include "ledger/sqlite/waiter_notifier.h"

#include <utility>

#include "base/thread_role.h"

#include "ledger/sqlite/writer.h"

namespace callgate::ledger {

WaiterNotifier::WaiterNotifier() : thread_([this] { run(); }) {}

WaiterNotifier::~WaiterNotifier() {
    {
        const base::MutexLock lock(mutex_);
        stopping_ = true;
        wanted_.notify_one();
    }
    thread_.join();
}

void WaiterNotifier::notify(Jobs&& jobs) {
    const base::MutexLock lock(mutex_);
    waiting_.push_back(std::move(jobs));
    if (asleep_) wanted_.notify_one();
}

void WaiterNotifier::run() {
    const base::OurThread ours;
    base::MutexLock lock(mutex_);
    for (;;) {
        while (waiting_.empty() && !stopping_) {
            asleep_ = true;
            wanted_.wait(lock);
            asleep_ = false;
        }
        if (waiting_.empty()) return;
        auto finished = std::exchange(waiting_, {});
        lock.unlock();
        for (Jobs& jobs : finished) {
            for (auto& job : jobs) job->finish(nullptr);
        }
        finished.clear();
        lock.lock();
    }
}

}  // namespace callgate::ledger
