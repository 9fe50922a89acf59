// Waits for one operation of the ledger, for those who may block.
//
//     BlockingWaiter waiter;
//     waiter.wait(ledger.conclude(std::move(request), reply, waiter));
//
// Threads: one thread waits; the ledger wakes from any.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/futex.h"
#include "ledger/ledger.h"

namespace callgate::ledger {

class BlockingWaiter final : public Waiter {
public:
    /// Returns when the reply is there.
    void wait(Io io) const noexcept {
        if (io != Io::pending) return;
        while (woken_.load(std::memory_order_acquire) == 0) base::sleep_while(woken_, 0);
    }
    void wake() override {
        woken_.store(1, std::memory_order_release);
        base::wake_all(woken_);  // only by its address: who waits may have seen it, and gone
    }

private:
    std::atomic<std::uint32_t> woken_{0};
};

}  // namespace callgate::ledger
