#include "pipeline/timers.h"

#include "base/thread_role.h"

namespace callgate::pipeline {

TimerId TimerTable::add(base::MonotonicTime when, std::function<void()> fire) {
    const TimerId timer{when, ++last_};
    due_.emplace_hint(due_.end(), timer, std::move(fire));  // most are set for later than all others
    return timer;
}

void TimerTable::remove(const TimerId& timer) {
    due_.erase(timer);
}

std::function<void()> TimerTable::take_due(base::MonotonicTime now) {
    const auto first = due_.begin();
    if (first == due_.end() || first->first.when > now) return {};
    auto fire = std::move(first->second);
    due_.erase(first);
    return fire;
}

const base::MonotonicTime* TimerTable::next() const noexcept {
    return due_.empty() ? nullptr : &due_.begin()->first.when;
}

struct ThreadTimers::State {
    base::Mutex mutex;
    base::CondVar changed;
    TimerTable table CALLGATE_GUARDED_BY(mutex);
    bool stopping CALLGATE_GUARDED_BY(mutex) = false;
    // Until when the thread sleeps. It looks at the table before it does, and what is set for later than this
    // need not wake it: a lone caller's timers come and go while it sleeps for the first of them.
    base::MonotonicTime sleeps_until CALLGATE_GUARDED_BY(mutex) = base::MonotonicTime::min();

    void sleep(base::MutexLock& lock) CALLGATE_REQUIRES(mutex) {
        const auto* next = table.next();
        sleeps_until = next != nullptr ? *next : base::MonotonicTime::max();
        if (next != nullptr) {
            changed.wait_until(lock, sleeps_until);
        } else {
            changed.wait(lock);
        }
        sleeps_until = base::MonotonicTime::min();
    }

    void work() {
        const base::OurThread ours;
        base::MutexLock lock(mutex);
        while (!stopping) {
            if (auto fire = table.take_due(std::chrono::steady_clock::now())) {
                lock.unlock();
                fire();
                fire = nullptr;  // whatever it holds goes before the lock is taken again
                lock.lock();
            } else {
                sleep(lock);
            }
        }
    }
};

ThreadTimers::ThreadTimers() : state_(std::make_shared<State>()) {}

ThreadTimers::~ThreadTimers() {
    {
        const base::MutexLock lock(state_->mutex);
        state_->stopping = true;
    }
    state_->changed.notify_one();
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) {
        thread_.detach();
    } else {
        thread_.join();
    }
}

TimerId ThreadTimers::at(base::MonotonicTime when, std::function<void()> fire) {
    const base::MutexLock lock(state_->mutex);
    const bool sooner = when < state_->sleeps_until;
    const TimerId timer = state_->table.add(when, std::move(fire));
    if (!thread_.joinable()) {
        thread_ = std::thread([state = state_] { state->work(); });
    } else if (sooner) {
        state_->changed.notify_one();
    }
    return timer;
}

void ThreadTimers::cancel(const TimerId& timer) {
    const base::MutexLock lock(state_->mutex);
    state_->table.remove(timer);
}

TimerId ManualTimers::at(base::MonotonicTime when, std::function<void()> fire) {
    const base::MutexLock lock(mutex_);
    return table_.add(when, std::move(fire));
}

void ManualTimers::cancel(const TimerId& timer) {
    const base::MutexLock lock(mutex_);
    table_.remove(timer);
}

void ManualTimers::fire_due() {
    for (;;) {
        std::function<void()> fire;
        {
            const base::MutexLock lock(mutex_);
            fire = table_.take_due(clock_.monotonic_now());
        }
        if (!fire) return;
        fire();
    }
}

void ManualTimers::advance(std::chrono::nanoseconds duration) {
    clock_.advance(duration);
    fire_due();
}

bool ManualTimers::next(base::MonotonicTime& when) const {
    const base::MutexLock lock(mutex_);
    const auto* first = table_.next();
    if (first != nullptr) when = *first;
    return first != nullptr;
}

}  // namespace callgate::pipeline
