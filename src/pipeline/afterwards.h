// What goes to the ledger for a call while no stage waits for it: after the call has left, or beside its
// tool.
//
// Threads: begin() from any thread; observers are notified on a thread of core->turns.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "ledger/ledger.h"
#include "pipeline/call.h"
#include "pipeline/projection.h"
#include "pipeline/worker_pool.h"

namespace callgate::pipeline {

inline bool is_accepted(const ledger::SettleReply& reply) {
    return reply.settled.accepted;
}
inline bool is_accepted(const ledger::ConcludeReply& reply) {
    return reply.accepted;
}
inline bool is_accepted(const ledger::Reply&) {
    return true;
}

/// Whether observers have the event already, or get it when it is on the record.
enum class Observed : std::uint8_t { already, when_recorded };

/// A request to the ledger that nobody waits for, and its event. It keeps itself alive until the ledger has
/// answered.
template <class Answer>
class Afterwards final : public ledger::Waiter,
                         public PoolTask,
                         public std::enable_shared_from_this<Afterwards<Answer>> {
public:
    Afterwards(std::shared_ptr<Call> call, const AuditEvent& event,
               Observed observed = Observed::when_recorded)
        : call_(std::move(call)), event_(event), observed_(observed) {}

    /// `ask(event, reply, waiter)`
    template <class Ask>
    void begin(Ask ask) {
        as_turn_ = call_->core->expect_turn();
        const auto self = kept_ = this->shared_from_this();
        if (ask(event_, reply_, *this) == ledger::Io::pending) return;
        kept_ = nullptr;
        run();
    }
    void wake() override {
        const auto self = std::move(kept_);
        if (as_turn_) call_->core->turns.submit(self);
    }
    void run() override {
        if (!as_turn_) return;  // the runtime has gone, and its observers with it
        publish();
        call_->core->turn_came();
    }
    void drop() override { run(); }

private:
    void publish() {
        if (observed_ == Observed::already || reply_.error || !is_accepted(reply_)) return;
        event_.sequence = reply_.first_event;
        project_late_audit(*call_, event_);
    }

    const std::shared_ptr<Call> call_;
    AuditEvent event_;
    const Observed observed_;
    Answer reply_;
    std::shared_ptr<Afterwards> kept_;
    bool as_turn_ = false;
};

}  // namespace callgate::pipeline
