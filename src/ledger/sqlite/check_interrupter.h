// Interrupts what a connection is doing once nobody wants it any more.
//
// A progress handler is not enough: SQLite calls it between its instructions, and the walk through all
// b-trees of a file is a single one. Only an interrupt from another thread ends that.
//
// Threads: `wanted` is called on a thread of this object's own and by whoever calls look(), one at a time.
#pragma once

#include <functional>
#include <thread>

#include <sqlite3.h>

#include "base/mutex.h"

namespace callgate::ledger {

class CheckInterrupter {
public:
    /// Asks `wanted` some dozens of times a second. Once it says no, what the connection does is interrupted,
    /// and what it begins later, too. The connection must stay open for as long as this lives.
    CheckInterrupter(sqlite3* connection, std::function<bool()> wanted);
    ~CheckInterrupter();
    CheckInterrupter(const CheckInterrupter&) = delete;
    CheckInterrupter& operator=(const CheckInterrupter&) = delete;

    /// Asks now.
    void look();

private:
    void watch();

    sqlite3* const connection_;
    const std::function<bool()> wanted_;
    base::Mutex mutex_;
    base::CondVar changed_;
    bool ended_ CALLGATE_GUARDED_BY(mutex_) = false;
    std::thread thread_;
};

}  // namespace callgate::ledger
