#include "pipeline/worker_pool.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/guard.h"
#include "base/mutex.h"
#include "base/thread_role.h"

namespace callgate::pipeline {

struct WorkerPool::State {
    struct Worker {
        std::thread thread;
        // All under the pool's mutex.
        std::shared_ptr<PoolTask> task;  // what it runs now, or is about to
        base::CondVar wanted;            // it has a task, or the pool closes
        bool waiting = false;            // inside a Waiting
        bool abandoned = false;
        bool gone = false;  // has left its loop
    };

    explicit State(Options o) : options(o) {}

    base::Mutex mutex;
    base::CondVar changed;  // a worker left
    const Options options;
    // Only while no thread is idle.
    std::list<std::shared_ptr<PoolTask>> queue CALLGATE_GUARDED_BY(mutex);
    std::size_t queued_bytes CALLGATE_GUARDED_BY(mutex) = 0;
    std::list<Worker> workers CALLGATE_GUARDED_BY(mutex);
    // The last to become idle works first: its memory is at hand.
    std::vector<Worker*> idle CALLGATE_GUARDED_BY(mutex);
    // Threads that neither wait, nor are abandoned, nor have left.
    std::size_t counting CALLGATE_GUARDED_BY(mutex) = 0;
    std::size_t abandoned_now CALLGATE_GUARDED_BY(mutex) = 0;
    bool closing CALLGATE_GUARDED_BY(mutex) = false;

    bool may_grow() const CALLGATE_REQUIRES(mutex) {
        return !closing && counting < options.threads && workers.size() < options.max_threads;
    }

    void reap() CALLGATE_REQUIRES(mutex) {
        for (auto worker = workers.begin(); worker != workers.end();) {
            if (worker->gone) {
                if (worker->thread.joinable()) worker->thread.join();
                worker = workers.erase(worker);
            } else {
                ++worker;
            }
        }
    }

    // False: the system has no thread to give.
    static bool add_worker(const std::shared_ptr<State>& state, std::shared_ptr<PoolTask> task)
        CALLGATE_REQUIRES(state->mutex) {
        state->reap();
        Worker& worker = state->workers.emplace_back();
        task->worker_ = &worker;
        worker.task = std::move(task);
        try {
            worker.thread = std::thread([state, &worker] { work_loop(state, worker); });
        } catch (const std::system_error&) {
            worker.task->worker_ = nullptr;
            state->workers.pop_back();
            return false;
        }
        ++state->counting;
        return true;
    }

    // A thread for what is queued, if there may be another.
    static void grow(const std::shared_ptr<State>& state) CALLGATE_REQUIRES(state->mutex) {
        while (!state->queue.empty() && state->may_grow()) {
            const std::shared_ptr<PoolTask> first = state->queue.front();
            if (!add_worker(state, first)) return;
            state->take_out(*first);
        }
    }

    void enqueue(std::shared_ptr<PoolTask> task, std::size_t bytes) CALLGATE_REQUIRES(mutex) {
        queue.push_back(std::move(task));
        PoolTask& last = *queue.back();
        last.place_ = std::prev(queue.end());
        last.queued_ = true;
        last.counted_bytes_ = bytes;
        queued_bytes += bytes;
    }

    void take_out(PoolTask& task) CALLGATE_REQUIRES(mutex) {
        task.queued_ = false;
        queued_bytes -= task.counted_bytes_;
        queue.erase(task.place_);
    }

    void count(Worker& worker, bool before) CALLGATE_REQUIRES(mutex) {
        const bool now = !worker.waiting && !worker.abandoned && !worker.gone;
        if (now && !before) ++counting;
        if (!now && before) --counting;
    }
    static bool counts(const Worker& worker) { return !worker.waiting && !worker.abandoned && !worker.gone; }

    // False: there is nothing to do any more.
    bool wait_for_task(base::MutexLock& lock, Worker& self) CALLGATE_REQUIRES(mutex) {
        if (!queue.empty()) {
            self.task = queue.front();
            take_out(*self.task);
            self.task->worker_ = &self;
            return true;
        }
        if (closing) return false;
        idle.push_back(&self);
        self.wanted.wait_for(lock, options.linger,
                             [&]() CALLGATE_REQUIRES(mutex) { return self.task != nullptr || closing; });
        if (self.task != nullptr) return true;
        std::erase(idle, &self);
        return false;
    }

    static void work_loop(const std::shared_ptr<State>& state, Worker& self);
};

// Where a thread of a pool works.
struct WorkerPool::Place {
    std::shared_ptr<State> state;
    State::Worker* worker = nullptr;  // null: it belongs to no pool

    static Place& mine() {
        thread_local Place place;
        return place;
    }
};

void WorkerPool::State::work_loop(const std::shared_ptr<State>& state, Worker& self) {
    Place::mine() = {state, &self};
    std::optional<base::OurThread> ours;
    if (state->options.ours) ours.emplace();
    std::shared_ptr<PoolTask> left;  // goes without the lock
    base::MutexLock lock(state->mutex);
    while (!self.abandoned && (self.task != nullptr || state->wait_for_task(lock, self))) {
        std::shared_ptr<PoolTask> task = self.task;
        lock.unlock();
        task->run();
        lock.lock();
        task->worker_ = nullptr;
        self.task = nullptr;
        lock.unlock();
        task = nullptr;  // without the lock: the last task of a runtime takes the pool with it
        lock.lock();
    }
    // Given up before this thread came to it: it may be all that holds its runtime, and that the pool.
    left = std::exchange(self.task, nullptr);
    if (left) left->worker_ = nullptr;
    if (self.abandoned) --state->abandoned_now;
    const bool before = counts(self);
    self.gone = true;
    state->count(self, before);
    state->changed.notify_all();
}

WorkerPool::WorkerPool(Options options) : state_(std::make_shared<State>(options)) {}

WorkerPool::~WorkerPool() {
    close(std::chrono::milliseconds(0));
}

WorkerPool::Submitted WorkerPool::submit(std::shared_ptr<PoolTask> task) {
    const std::size_t bytes = task->bytes();
    const base::MutexLock lock(state_->mutex);
    if (state_->closing) return Submitted::no_thread;
    if (!state_->idle.empty()) {
        State::Worker& worker = *state_->idle.back();
        state_->idle.pop_back();
        task->worker_ = &worker;
        worker.task = std::move(task);
        worker.wanted.notify_one();
        return Submitted::taken;
    }
    if (state_->may_grow() && State::add_worker(state_, task)) return Submitted::taken;
    if (state_->counting == 0) return Submitted::no_thread;
    const Options& options = state_->options;
    const bool full =
        state_->queue.size() >= options.max_queued ||
        (!state_->queue.empty() &&
         bytes > options.max_queued_bytes - std::min(state_->queued_bytes, options.max_queued_bytes));
    if (full && CALLGATE_GUARD(queue_bounded)) {
        return Submitted::queue_full;
    }
    state_->enqueue(std::move(task), bytes);
    return Submitted::taken;
}

bool WorkerPool::full() const {
    const base::MutexLock lock(state_->mutex);
    return (state_->queue.size() >= state_->options.max_queued ||
            state_->queued_bytes >= state_->options.max_queued_bytes) &&
           CALLGATE_GUARD(queue_bounded);
}

bool WorkerPool::abandon(const std::shared_ptr<PoolTask>& task) {
    const base::MutexLock lock(state_->mutex);
    if (auto* const worker = static_cast<State::Worker*>(task->worker_); worker != nullptr) {
        if (worker->abandoned) return false;
        const bool before = State::counts(*worker);
        worker->abandoned = true;
        state_->count(*worker, before);
        ++state_->abandoned_now;
        State::grow(state_);
        return true;
    }
    if (task->queued_) state_->take_out(*task);
    return false;
}

WorkerPool::Waiting::Waiting() : counted_(false) {
    const Place& place = Place::mine();
    if (place.worker == nullptr || place.worker->waiting) return;
    counted_ = true;
    mark(true);
}

WorkerPool::Waiting::~Waiting() {
    if (counted_) mark(false);
}

void WorkerPool::Waiting::mark(bool waiting) {
    const Place& place = Place::mine();
    const base::MutexLock lock(place.state->mutex);
    const bool before = State::counts(*place.worker);
    place.worker->waiting = waiting;
    place.state->count(*place.worker, before);
    if (waiting) State::grow(place.state);
}

WorkerPool::Counts WorkerPool::counts() const {
    const base::MutexLock lock(state_->mutex);
    Counts counts;
    counts.abandoned_now = state_->abandoned_now;
    counts.threads = state_->workers.size();
    counts.queued = state_->queue.size();
    counts.queued_bytes = state_->queued_bytes;
    counts.busy = static_cast<std::size_t>(
        std::count_if(state_->workers.begin(), state_->workers.end(),
                      [](const State::Worker& worker) { return worker.task != nullptr; }));
    return counts;
}

bool WorkerPool::close(std::chrono::milliseconds grace) {
    std::list<std::shared_ptr<PoolTask>> dropped;
    std::list<State::Worker> gone;
    bool all_home = true;
    {
        const base::MutexLock lock(state_->mutex);
        state_->closing = true;
        for (const auto& task : state_->queue) task->queued_ = false;
        dropped.swap(state_->queue);
        state_->queued_bytes = 0;
        for (State::Worker* worker : state_->idle) worker->wanted.notify_one();
    }
    for (const auto& task : dropped) task->drop();
    {
        base::MutexLock lock(state_->mutex);
        // A tool may end the runtime it runs in: its own thread cannot be waited for.
        const Place& place = Place::mine();
        const State::Worker* self = place.state == state_ ? place.worker : nullptr;
        const auto home = [&]() CALLGATE_REQUIRES(state_->mutex) {
            return std::all_of(state_->workers.begin(), state_->workers.end(),
                               [&](const State::Worker& worker) { return worker.gone || &worker == self; });
        };
        all_home = state_->changed.wait_for(lock, grace, home);
        for (auto worker = state_->workers.begin(); worker != state_->workers.end();) {
            if (worker->gone) {
                auto next = std::next(worker);
                gone.splice(gone.end(), state_->workers, worker);
                worker = next;
            } else {
                // Its thread keeps the state, and with it this entry, alive.
                if (worker->thread.joinable()) worker->thread.detach();
                ++worker;
            }
        }
    }
    for (State::Worker& worker : gone) {
        if (worker.thread.joinable()) worker.thread.join();
    }
    return all_home;
}

}  // namespace callgate::pipeline
