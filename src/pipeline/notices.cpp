#include "pipeline/notices.h"

#include <utility>

#include "base/guard.h"
#include "base/thread_role.h"

namespace callgate::pipeline {

Notices::Pushed Notices::push(Notice& notice) {
    const base::MutexLock lock(mutex_);
    if (closed_) return Pushed::closed;
    waiting_.push_back(std::move(notice));
    pending_.store(true, std::memory_order_release);
    return std::exchange(claimed_, true) ? Pushed::behind : Pushed::first;
}

void Notices::drain(Counter& faults) {
    drain(faults, false);
}

void Notices::drain_and_close(Counter& faults) {
    drain(faults, true);
}

void Notices::drain(Counter& faults, bool close) {
    for (;;) {
        Notice next;
        {
            const base::MutexLock lock(mutex_);
            if (waiting_.empty()) {
                claimed_ = false;
                if (close) closed_ = true;
                pending_.store(false, std::memory_order_release);
                pending_.notify_all();
                return;
            }
            const auto first =
                CALLGATE_GUARD(callbacks_in_order) ? waiting_.begin() : std::prev(waiting_.end());
            next = std::move(*first);
            waiting_.erase(first);
        }
        CALLGATE_FOREIGN_CODE("what a host is notified of");
        try {
            next();
        } catch (...) {
            if (!CALLGATE_GUARD(callback_faults_counted)) throw;
            faults.add();
        }
    }
}

void Notices::wait_until_delivered() const {
    pending_.wait(true, std::memory_order_acquire);
}

}  // namespace callgate::pipeline
