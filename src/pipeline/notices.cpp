#include "pipeline/notices.h"

#include <utility>

#include "base/thread_role.h"

namespace callgate::pipeline {

Notices::Pushed Notices::push(Notice& notice) {
    const std::lock_guard lock(mutex_);
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
            const std::lock_guard lock(mutex_);
            if (waiting_.empty()) {
                claimed_ = false;
                if (close) closed_ = true;
                pending_.store(false, std::memory_order_release);
                pending_.notify_all();
                return;
            }
            next = std::move(waiting_.front());
            waiting_.pop_front();
        }
        CALLGATE_FOREIGN_CODE("what a host is notified of");
        try {
            next();
        } catch (...) {
            faults.add();
        }
    }
}

void Notices::wait_until_delivered() const {
    pending_.wait(true, std::memory_order_acquire);
}

}  // namespace callgate::pipeline
