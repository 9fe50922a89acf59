#include "gates.h"

#include <utility>

namespace callgate::hosts {

Gates::Gates(std::size_t seats) : seats_(seats) {
    thread_ = std::thread([this] { work(); });
}

Gates::~Gates() {
    open();
    join();
}

void Gates::stand(std::uint64_t steps, const std::stop_token& until) {
    std::unique_lock lock(mutex_);
    const std::uint64_t due = now_ + steps;
    ++standing_;
    changed_.wait(lock, until, [&] { return open_ || now_ >= due; });
    --standing_;
}

void Gates::sit(std::uint64_t steps) {
    std::unique_lock lock(mutex_);
    if (seats_ == 0) return;
    --seats_;
    ++standing_;
    const std::uint64_t due = now_ + steps;
    changed_.wait(lock, [&] { return open_ || now_ >= due; });
    --standing_;
    ++seats_;
}

void Gates::later(std::uint64_t steps, std::function<void()> what) {
    {
        const std::lock_guard lock(mutex_);
        if (!stopping_) {
            later_.emplace(now_ + steps, std::move(what));
            what = nullptr;
        }
    }
    if (what) return what();
    changed_.notify_all();
}

void Gates::step() {
    {
        const std::lock_guard lock(mutex_);
        ++now_;
    }
    changed_.notify_all();
}

void Gates::open() {
    {
        const std::lock_guard lock(mutex_);
        open_ = true;
    }
    changed_.notify_all();
}

void Gates::join() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool Gates::is_open() const {
    const std::lock_guard lock(mutex_);
    return open_;
}

std::size_t Gates::standing() const {
    const std::lock_guard lock(mutex_);
    return standing_;
}

void Gates::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(
            lock, [&] { return stopping_ || (!later_.empty() && (open_ || later_.begin()->first <= now_)); });
        if (later_.empty()) return;
        auto first = later_.extract(later_.begin());
        lock.unlock();
        first.mapped()();
        first.mapped() = nullptr;
        lock.lock();
    }
}

}  // namespace callgate::hosts
