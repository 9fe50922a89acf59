#include "ledger/sqlite/anchors.h"

#include <utility>

#include "base/thread_role.h"

namespace callgate::ledger {

Anchors::Anchors(std::vector<std::unique_ptr<Witness>> witnesses, Options options)
    : witnesses_(std::move(witnesses)), options_(options), thread_([this] { run(); }) {}

Anchors::~Anchors() {
    {
        const base::MutexLock lock(mutex_);
        stopping_ = true;
        wanted_.notify_one();
    }
    thread_.join();
}

void Anchors::submit(std::string note, std::uint64_t size) {
    const base::MutexLock lock(mutex_);
    note_ = std::move(note);
    standing_.offered = size;
    wanted_.notify_one();
}

Anchors::Standing Anchors::standing() const {
    const base::MutexLock lock(mutex_);
    return standing_;
}

bool Anchors::wait_for(std::uint64_t size, std::chrono::milliseconds time) const {
    base::MutexLock lock(mutex_);
    const std::uint64_t failures = standing_.failures;
    taken_.wait_for(lock, time, [&]() CALLGATE_REQUIRES(mutex_) {
        return standing_.size >= size || standing_.failures != failures;
    });
    return standing_.size >= size;
}

bool Anchors::bring(const std::string& note) {
    bool all = true;
    for (const auto& witness : witnesses_) {
        if (auto taken = witness->submit(note); !taken) {
            all = false;
            const base::MutexLock lock(mutex_);
            ++standing_.failures;
            standing_.error = std::move(taken.error());
            taken_.notify_all();
        }
    }
    return all;
}

void Anchors::run() {
    const base::OurThread ours;
    base::MutexLock lock(mutex_);
    for (;;) {
        wanted_.wait(lock, [this]() CALLGATE_REQUIRES(mutex_) { return note_ || stopping_; });
        if (!note_) return;
        const bool last = stopping_;
        const std::string note = std::exchange(note_, std::nullopt).value();
        const std::uint64_t size = standing_.offered;
        lock.unlock();
        const bool taken = bring(note);
        lock.lock();
        if (taken) {
            standing_.size = size;
            standing_.error.reset();
            taken_.notify_all();
            continue;
        }
        if (last) return;
        if (!note_) note_ = note;  // again, unless there is a newer one
        wanted_.wait_for(lock, options_.retry, [this]() CALLGATE_REQUIRES(mutex_) { return stopping_; });
    }
}

}  // namespace callgate::ledger
