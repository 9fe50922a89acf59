#include "ledger/sqlite/check_interrupter.h"

#include <chrono>
#include <utility>

namespace callgate::ledger {

namespace {

constexpr std::chrono::milliseconds kPause{20};

}  // namespace

CheckInterrupter::CheckInterrupter(sqlite3* connection, std::function<bool()> wanted)
    : connection_(connection), wanted_(std::move(wanted)), thread_([this] { watch(); }) {}

CheckInterrupter::~CheckInterrupter() {
    {
        const base::MutexLock lock(mutex_);
        ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void CheckInterrupter::look() {
    const base::MutexLock lock(mutex_);
    if (!wanted_()) sqlite3_interrupt(connection_);
}

// Again and again: an interrupt is forgotten when the next statement begins.
void CheckInterrupter::watch() {
    base::MutexLock lock(mutex_);
    while (!changed_.wait_for(lock, kPause, [this]() CALLGATE_REQUIRES(mutex_) { return ended_; })) {
        if (!wanted_()) sqlite3_interrupt(connection_);
    }
}

}  // namespace callgate::ledger
