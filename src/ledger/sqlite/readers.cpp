#include "ledger/sqlite/readers.h"

#include <algorithm>
#include <utility>

namespace callgate::ledger {

namespace {

// How long it is left to those that have a connection after one could not be opened.
constexpr std::chrono::seconds kTryAgain{1};

}  // namespace

Readers::Readers(ReaderOptions options, Open open) : options_(options), open_(std::move(open)) {}

Readers::~Readers() {
    std::vector<std::thread> ending;
    {
        const base::MutexLock lock(mutex_);
        stopping_ = true;
        ending.swap(threads_);
        wanted_.notify_all();
    }
    for (std::thread& thread : ending) thread.join();
}

bool Readers::on_this_thread() const {
    const base::MutexLock lock(mutex_);
    return std::ranges::any_of(
        threads_, [](const std::thread& thread) { return thread.get_id() == std::this_thread::get_id(); });
}

bool Readers::submit(std::unique_ptr<ReadJob> job) {
    {
        const base::MutexLock lock(mutex_);
        if (!stopping_ && waiting_.size() < options_.max_waiting) {
            waiting_.push_back(std::move(job));
            if (waiting_.size() > idle_) begin_thread();
            wanted_.notify_one();
            return true;
        }
        ++counts_.refused;
    }
    const Error busy(ErrorCode::ledger_unavailable,
                     "Too much waits to be looked up already. Try again later.",
                     {{"reason", "ledger_busy"}, {"limit", options_.max_waiting}});
    job->finish(&busy);
    return false;
}

void Readers::begin_thread() {
    if (at_work_ >= std::max<std::size_t>(options_.threads, 1)) return;
    const auto now = std::chrono::steady_clock::now();
    if (at_work_ != 0 && could_not_open_ && now - *could_not_open_ < kTryAgain) return;
    std::erase_if(threads_, [this](std::thread& thread) CALLGATE_REQUIRES(mutex_) {
        const auto found = std::ranges::find(ended_, thread.get_id());
        if (found == ended_.end()) return false;
        ended_.erase(found);
        thread.join();  // it has nothing left to do
        return true;
    });
    ++at_work_;
    ++counts_.threads;
    threads_.emplace_back([this] { run(); });
}

Readers::Counts Readers::counts() const {
    const base::MutexLock lock(mutex_);
    Counts counts = counts_;
    counts.waiting = waiting_.size();
    return counts;
}

void Readers::run() {
    std::unique_ptr<Reader> reader;
    base::MutexLock lock(mutex_);
    for (;;) {
        while (waiting_.empty() && !stopping_) {
            ++idle_;
            wanted_.wait(lock);
            --idle_;
        }
        if (waiting_.empty()) break;
        std::unique_ptr<ReadJob> job = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        const bool done = look(reader, job);
        lock.lock();
        if (done) continue;
        // Others have a connection: they do it.
        waiting_.push_front(std::move(job));
        wanted_.notify_one();
        --at_work_;
        ended_.push_back(std::this_thread::get_id());
        return;
    }
    if (reader) --open_connections_;
}

// False: it could not be looked up here, and others can.
bool Readers::look(std::unique_ptr<Reader>& reader, std::unique_ptr<ReadJob>& job) {
    if (!reader) {
        auto opened = open_();
        base::MutexLock lock(mutex_);
        if (!opened) {
            could_not_open_ = std::chrono::steady_clock::now();
            if (open_connections_ != 0 && !stopping_) return false;
            lock.unlock();
            job->finish(&opened.error());
            return true;
        }
        reader = std::move(*opened);
        could_not_open_.reset();
        ++open_connections_;
    }
    const auto looked = job->look(*reader);
    {
        const base::MutexLock lock(mutex_);
        ++counts_.looked;
    }
    job->finish(looked ? nullptr : &looked.error());
    job.reset();
    return true;
}

}  // namespace callgate::ledger
