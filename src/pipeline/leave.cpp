#include "pipeline/leave.h"

#include <utility>

#include "pipeline/afterwards.h"
#include "pipeline/call.h"
#include "pipeline/dispatch.h"
#include "pipeline/key.h"
#include "pipeline/projection.h"
#include "pipeline/resolve.h"
#include "pipeline/stored.h"

namespace callgate::pipeline {
namespace {

AuditEvent event_of_leaving(Call& call, std::string_view detail) {
    AuditEvent event = make_event(call, "tool_call.resolved", "info", "settle");
    event.detail = detail;
    return event;
}

// It was claimed for a call that had left, and nothing was sent.
void release(const std::shared_ptr<Call>& call, const CallId& call_id, std::uint32_t epoch,
             std::uint32_t attempt) {
    const AuditEvent event =
        event_of_leaving(*call, "The ledger answered after the call had ended; nothing was sent.");
    ledger::SettleRequest request;
    request.call_id = call_id;
    request.epoch = epoch;
    request.attempt = attempt;
    request.end = ledger::AttemptEnd::not_applied;
    request.outcome = to_stored(*call);
    request.events.push_back(event);
    std::make_shared<Afterwards<ledger::SettleReply>>(call, event)
        ->begin([&](AuditEvent&, ledger::SettleReply& reply, ledger::Waiter& waiter) {
            return call->core->ledger().settle(std::move(request), reply, waiter);
        });
}

// A dead owner's call passed to one that had left: nobody asks its probe, so nobody can tell.
void give_up_probing(const std::shared_ptr<Call>& call, const ledger::CallRow& row) {
    const AuditEvent event =
        event_of_leaving(*call, "The ledger answered after the call had ended; its probe was not asked.");
    ledger::ConcludeRequest request;
    request.call_id = row.call_id;
    request.epoch = row.epoch;
    request.events.push_back(event);
    std::make_shared<Afterwards<ledger::ConcludeReply>>(call, event)
        ->begin([&](AuditEvent&, ledger::ConcludeReply& reply, ledger::Waiter& waiter) {
            return call->core->ledger().conclude(std::move(request), reply, waiter);
        });
}

void after_claim(const std::shared_ptr<Call>& call) {
    const ledger::ClaimReply& claimed = call->cold().claimed;
    if (claimed.error || claimed.approval != ledger::ApprovalVerdict::ok ||
        claimed.verdict != ledger::ClaimVerdict::claimed)
        return;
    if (claimed.row.state == ledger::CallState::reconciling) {
        give_up_probing(call, claimed.row);
    } else {
        release(call, claimed.row.call_id, claimed.row.epoch, claimed.row.attempt);
    }
}

// The end is on the record now, or not.
void after_end(Call& call) {
    if (call.settled.error) return;
    if (call.terminal) {
        project_late_audit(call, *call.terminal);
    } else if (call.settled.settled.accepted && call.cold_if() != nullptr) {
        std::uint64_t number = call.settled.first_event;
        for (AuditEvent& event : std::exchange(call.cold().claim_events, {})) {
            event.sequence = number++;
            project_late_audit(call, event);
        }
    }
}

}  // namespace

Step go_on_without_reply(Call& call) {
    call.core->counters.settle.left.add();
    call.shown_not_applied = false;
    leave_what_to_resume(call);
    switch (call.awaited()) {
        case Awaited::other_call: return call.refuse(key_error(call, ledger::ClaimVerdict::in_progress));
        case Awaited::dispatch:
        case Awaited::give_back: return end_without_attempt(call, call.out_of_time());
        case Awaited::conclude:
            call.has_claim = false;
            call.outcome.result = {};
            return call.refuse(key_error(call, ledger::ClaimVerdict::unknown));
        default: return call.refuse(call.out_of_time());
    }
}

void after_leaving(const std::shared_ptr<Call>& call) {
    switch (call->awaited()) {
        case Awaited::claim: after_claim(call); break;
        case Awaited::dispatch: {
            const ledger::DispatchReply& passed = call->cold().dispatched;
            if (!passed.error && !passed.fenced) release(call, call->claim_id, call->epoch, passed.attempt);
            break;
        }
        case Awaited::give_back: {
            const ledger::SettleReply& given = call->settled;
            if (!given.error && given.settled.accepted)
                release(call, call->claim_id, call->epoch, call->attempts);
            break;
        }
        case Awaited::conclude: {
            const ledger::ConcludeReply& concluded = call->cold().concluded;
            if (!concluded.error && concluded.accepted &&
                call->probed == Reconciliation::Verdict::not_applied)
                release(call, call->claim_id, call->epoch, call->cold().claimed.row.attempt);
            break;
        }
        case Awaited::end: after_end(*call); break;
        default: break;
    }
}

void record_and_go(Call& call, const AuditEvent& event) {
    // It was projected when the call ended.
    std::make_shared<Afterwards<ledger::Reply>>(call.self(), event, Observed::already)
        ->begin([&call](AuditEvent& kept, ledger::Reply& reply, ledger::Waiter& waiter) {
            return call.core->ledger().record(kept, reply, waiter);
        });
}

}  // namespace callgate::pipeline
