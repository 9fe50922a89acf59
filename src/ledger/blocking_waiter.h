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
#include "base/thread_role.h"
#include "ledger/ledger.h"

namespace callgate::ledger {

class BlockingWaiter final : public Waiter {
public:
    /// Returns when the reply is there.
    void wait(Io io) const noexcept {
        if (io != Io::pending) return;
        CALLGATE_MAY_BLOCK("waiting for the ledger");
        while (woken_.load(std::memory_order_acquire) == 0) base::sleep_while(woken_, 0);
    }
    void wake() override {
        woken_.store(1, std::memory_order_release);
        base::wake_all(woken_);  // only by its address: who waits may have seen it, and gone
    }

private:
    std::atomic<std::uint32_t> woken_{0};
};

/// As the ledger's operations of these names, and waits for them.
inline Result<std::optional<Approval>> approval_of_call(Ledger& ledger, std::string_view call_id) {
    ApprovalReply reply;
    BlockingWaiter waiter;
    waiter.wait(ledger.approval_of_call(std::string(call_id), reply, waiter));
    if (reply.error) return tl::unexpected(std::move(*reply.error));
    return std::move(reply.approval);
}
inline Result<OwnerId> register_owner(Ledger& ledger) {
    OwnerReply reply;
    BlockingWaiter waiter;
    waiter.wait(ledger.register_owner(reply, waiter));
    if (reply.error) return tl::unexpected(std::move(*reply.error));
    return reply.owner;
}

}  // namespace callgate::ledger
