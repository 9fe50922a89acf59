#include "pipeline/timers.h"

#include <condition_variable>

#include "base/thread_role.h"

namespace callgate::pipeline {

TimerId TimerTable::add(base::MonotonicTime when, std::function<void()> fire) {
    const TimerId timer = ++last_;
    due_.emplace(std::pair(when, timer), std::move(fire));
    when_.emplace(timer, when);
    return timer;
}

void TimerTable::remove(TimerId timer) {
    const auto found = when_.find(timer);
    if (found == when_.end()) return;
    due_.erase({found->second, timer});
    when_.erase(found);
}

std::function<void()> TimerTable::take_due(base::MonotonicTime now) {
    const auto first = due_.begin();
    if (first == due_.end() || first->first.first > now) return {};
    auto fire = std::move(first->second);
    when_.erase(first->first.second);
    due_.erase(first);
    return fire;
}

const base::MonotonicTime* TimerTable::next() const noexcept {
    return due_.empty() ? nullptr : &due_.begin()->first.first;
}

struct ThreadTimers::State {
    std::mutex mutex;
    std::condition_variable changed;
    TimerTable table;
    bool stopping = false;

    void work() {
        const base::OurThread ours;
        std::unique_lock lock(mutex);
        while (!stopping) {
            if (auto fire = table.take_due(std::chrono::steady_clock::now())) {
                lock.unlock();
                fire();
                fire = nullptr;  // whatever it holds goes before the lock is taken again
                lock.lock();
            } else if (const auto* next = table.next()) {
                const auto until = *next;
                changed.wait_until(lock, until);
            } else {
                changed.wait(lock);
            }
        }
    }
};

ThreadTimers::ThreadTimers() : state_(std::make_shared<State>()) {}

ThreadTimers::~ThreadTimers() {
    {
        const std::lock_guard lock(state_->mutex);
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
    const std::lock_guard lock(state_->mutex);
    const auto* next = state_->table.next();
    const bool sooner = next == nullptr || when < *next;
    const TimerId timer = state_->table.add(when, std::move(fire));
    if (!thread_.joinable()) {
        thread_ = std::thread([state = state_] { state->work(); });
    } else if (sooner) {
        state_->changed.notify_one();
    }
    return timer;
}

void ThreadTimers::cancel(TimerId timer) {
    const std::lock_guard lock(state_->mutex);
    state_->table.remove(timer);
}

TimerId ManualTimers::at(base::MonotonicTime when, std::function<void()> fire) {
    const std::lock_guard lock(mutex_);
    return table_.add(when, std::move(fire));
}

void ManualTimers::cancel(TimerId timer) {
    const std::lock_guard lock(mutex_);
    table_.remove(timer);
}

void ManualTimers::fire_due() {
    for (;;) {
        std::function<void()> fire;
        {
            const std::lock_guard lock(mutex_);
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
    const std::lock_guard lock(mutex_);
    const auto* first = table_.next();
    if (first != nullptr) when = *first;
    return first != nullptr;
}

}  // namespace callgate::pipeline
