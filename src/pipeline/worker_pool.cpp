#include "pipeline/worker_pool.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

namespace callgate::pipeline {

struct WorkerPool::State {
    struct Worker {
        std::thread thread;
        std::shared_ptr<PoolTask> task;  // what it runs now
        bool waiting = false;            // inside a Waiting
        bool abandoned = false;
        bool gone = false;  // has left its loop

        bool counts() const { return !waiting && !abandoned && !gone; }
    };

    explicit State(Options o) : options(o) {}

    std::mutex mutex;
    std::condition_variable work;     // a task came, or the pool closes
    std::condition_variable changed;  // a worker left
    Options options;
    std::deque<std::shared_ptr<PoolTask>> queue;
    std::list<Worker> workers;
    std::size_t idle = 0;
    std::size_t abandoned_now = 0;
    std::uint64_t abandoned = 0;
    bool closing = false;

    // Threads that can take work now or soon.
    std::size_t counting() const {
        return static_cast<std::size_t>(std::count_if(workers.begin(), workers.end(),
                                                      [](const Worker& worker) { return worker.counts(); }));
    }

    void reap() {
        for (auto worker = workers.begin(); worker != workers.end();) {
            if (worker->gone) {
                if (worker->thread.joinable()) worker->thread.join();
                worker = workers.erase(worker);
            } else {
                ++worker;
            }
        }
    }

    // A thread for the work that is queued, if there is none to take it.
    static void grow(const std::shared_ptr<State>& state) {
        if (state->closing || state->idle >= state->queue.size() ||
            state->counting() >= state->options.threads ||
            state->workers.size() >= state->options.max_threads) {
            return;
        }
        state->reap();
        Worker& worker = state->workers.emplace_back();
        worker.thread = std::thread([state, &worker] { work_loop(state, worker); });
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
    std::unique_lock lock(state->mutex);
    while (!self.abandoned) {
        ++state->idle;
        state->work.wait(lock, [&] { return state->closing || !state->queue.empty(); });
        --state->idle;
        if (state->queue.empty()) break;
        std::shared_ptr<PoolTask> task = std::move(state->queue.front());
        state->queue.pop_front();
        self.task = task;
        lock.unlock();
        task->run();
        lock.lock();
        self.task = nullptr;
        lock.unlock();
        task = nullptr;  // without the lock: the last task of a runtime takes the pool with it
        lock.lock();
    }
    if (self.abandoned) --state->abandoned_now;
    self.gone = true;
    state->changed.notify_all();
}

WorkerPool::WorkerPool(Options options) : state_(std::make_shared<State>(options)) {}

WorkerPool::~WorkerPool() {
    close(std::chrono::milliseconds(0));
}

bool WorkerPool::submit(std::shared_ptr<PoolTask> task) {
    const std::lock_guard lock(state_->mutex);
    if (state_->closing) return false;
    const bool stuck = state_->counting() == 0 && state_->workers.size() >= state_->options.max_threads;
    if (stuck) return false;
    state_->queue.push_back(std::move(task));
    State::grow(state_);
    state_->work.notify_one();
    return true;
}

bool WorkerPool::abandon(const std::shared_ptr<PoolTask>& task) {
    const std::lock_guard lock(state_->mutex);
    for (State::Worker& worker : state_->workers) {
        if (worker.task == task && !worker.abandoned) {
            worker.abandoned = true;
            ++state_->abandoned;
            ++state_->abandoned_now;
            State::grow(state_);
            return true;
        }
    }
    std::erase(state_->queue, task);
    return false;
}

WorkerPool::Waiting::Waiting() : counted_(false) {
    const Place& place = Place::mine();
    if (place.worker == nullptr) return;
    const std::lock_guard lock(place.state->mutex);
    if (place.worker->waiting) return;
    counted_ = place.worker->waiting = true;
    State::grow(place.state);
}

WorkerPool::Waiting::~Waiting() {
    if (counted_) mark(false);
}

void WorkerPool::Waiting::mark(bool waiting) {
    const Place& place = Place::mine();
    const std::lock_guard lock(place.state->mutex);
    place.worker->waiting = waiting;
    if (waiting) State::grow(place.state);
}

WorkerPool::Counts WorkerPool::counts() const {
    const std::lock_guard lock(state_->mutex);
    Counts counts;
    counts.abandoned = state_->abandoned;
    counts.abandoned_now = state_->abandoned_now;
    counts.threads = state_->workers.size();
    counts.queued = state_->queue.size();
    counts.busy = static_cast<std::size_t>(
        std::count_if(state_->workers.begin(), state_->workers.end(),
                      [](const State::Worker& worker) { return worker.task != nullptr; }));
    return counts;
}

bool WorkerPool::close(std::chrono::milliseconds grace) {
    std::deque<std::shared_ptr<PoolTask>> dropped;
    std::list<State::Worker> gone;
    bool all_home = true;
    {
        std::unique_lock lock(state_->mutex);
        state_->closing = true;
        dropped.swap(state_->queue);
    }
    state_->work.notify_all();
    for (const auto& task : dropped) task->drop();
    {
        std::unique_lock lock(state_->mutex);
        // A tool may end the runtime it runs in: its own thread cannot be waited for.
        const Place& place = Place::mine();
        const State::Worker* self = place.state == state_ ? place.worker : nullptr;
        const auto home = [&] {
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
