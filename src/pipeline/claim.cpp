#include "pipeline/claim.h"

#include "base/guard.h"
#include "base/ids.h"
#include "pipeline/approval_gate.h"
#include "pipeline/attempt.h"
#include "pipeline/call.h"
#include "pipeline/key.h"
#include "pipeline/projection.h"
#include "pipeline/stored.h"

namespace callgate::pipeline {
namespace {

enum Phase : int { kClaim, kClaimed, kWaiting, kProbing, kConcluded };

// A read changes nothing, so nothing has to be on the record before it; a key or an approval asks for it all
// the same.
bool needs_claim(const Call& call) {
    return call.effectful() || !call.request.context->idempotency_key.empty() || call.uses_approval();
}

Step begin_claim(Call& call) {
    if (call.cancel_wanted() || call.request.context->cancel.stop_requested()) {
        return call.refuse(Error(ErrorCode::cancelled, "The call was called off before the tool began."));
    }
    ledger::ClaimRequest request;
    ledger::CallRow& row = request.row;
    row.key = key_scope(call);
    row.call_id = call.id;
    row.fingerprint = call.fingerprint;
    row.effect = call.effect;
    row.owner = call.core->owner;
    row.definition_hash = call.tool->definition_hash();
    row.policy_rev = call.rules->revision();
    row.action = call.outcome.action;
    row.arguments = call.outcome.arguments;
    request.approval = call.special().approval_use;
    if (CALLGATE_GUARD(record_before_effect)) {
        if (call.uses_approval())
            request.events.push_back(make_event(call, "gate.approved", "success", "claim"));
        if (call.core->options.audit_allowed) {
            request.events.push_back(make_event(call, "gate.allowed", "success", "gate"));
        }
        AuditEvent attempted = make_event(call, "tool_call.attempted", "info", "claim");
        attempted.attempt = 1;
        request.events.push_back(std::move(attempted));
    }
    if (call.core->audit_wanted()) call.special().claim_events = request.events;
    call.special().claimed = {};
    call.phase = kClaimed;
    if (call.core->ledger().claim(std::move(request), call.special().claimed, call) == ledger::Io::pending) {
        call.arm();
        return Step::pending;
    }
    call.special().claimed.ready = true;
    return Step::next;
}

Step refuse_key(Call& call) {
    call.core->counters.claim.lost.add();
    call.outcome.safe_new_key = call.special().claimed.verdict == ledger::ClaimVerdict::key_reused;
    return call.refuse(key_error(call, call.special().claimed.verdict));
}

// What a dead owner left dispatched: the tool's probe is asked what came of it.
Step probe(Call& call) {
    call.core->counters.claim.reconciled.add();
    call.phase = kProbing;
    if (!call.tool->body()->has_probe()) return Step::next;
    // Where it cannot begin, nobody can tell; the row must not be left behind as if somebody asked.
    (void)begin(call, Errand::probe, 0, base::Uuid{call.special().claimed.row.call_id}.to_string());
    return Step::next;
}

Step handle(Call& call) {
    if (!call.special().claimed.ready.load()) return call.pending_or_give_up();
    if (call.special().claimed.error) {
        call.core->counters.claim.ledger_down.add();
        return call.refuse(std::move(*call.special().claimed.error));
    }
    if (call.special().claimed.approval != ledger::ApprovalVerdict::ok) {
        call.core->counters.claim.approval_refused.add();
        return call.refuse(approval_error(call.special().claimed.approval, call.special().approval_use->id));
    }
    switch (call.special().claimed.verdict) {
        case ledger::ClaimVerdict::claimed:
            call.core->counters.claim.claimed.add();
            call.has_claim = true;
            call.epoch = call.special().claimed.row.epoch;
            call.claim_id = call.special().claimed.row.call_id;
            project_claim_events(call, call.special().claimed.first_event);
            if (call.special().claimed.row.state == ledger::CallState::reconciling) return probe(call);
            call.attempts = call.special().claimed.row.attempt;
            call.phase = -1;
            return Step::next;
        case ledger::ClaimVerdict::replay:
            replay_stored(call, *call.special().claimed.row.outcome);
            return Step::end;
        case ledger::ClaimVerdict::in_progress:
            call.core->counters.claim.waited.add();
            call.phase = kWaiting;
            call.arm();
            call.waits_for_key = true;
            if (call.core->ledger().wait_for_end(key_scope(call), call.self())) return Step::pending;
            return Step::next;
        default: return refuse_key(call);
    }
}

Step conclude(Call& call) {
    Reconciliation told;
    if (call.attempt) {
        auto answer = call.attempt->take();
        if (!answer) {
            if (!call.expired() && !call.cancel_wanted()) return Step::pending;
            give_up(call);
        } else {
            call.attempt = nullptr;
            if (auto* found = std::get_if<Reconciliation>(&*answer)) told = std::move(*found);
        }
    }
    ledger::ConcludeRequest request;
    request.call_id = call.claim_id;
    request.epoch = call.epoch;
    request.verdict = told.verdict;
    if (told.verdict == Reconciliation::Verdict::applied) {
        call.outcome.result = told.result;
        call.outcome.succeeded = true;
        call.outcome.state = State::replayed;
        call.outcome.safe_new_key = false;
        request.outcome = to_stored(call);
    }
    request.events.push_back(make_event(call, "tool_call.resolved", "info", "claim"));
    if (call.core->audit_wanted()) call.special().claim_events = request.events;
    call.probed = told.verdict;
    call.special().concluded = {};
    call.phase = kConcluded;
    if (call.core->ledger().conclude(std::move(request), call.special().concluded, call) ==
        ledger::Io::pending) {
        call.arm();
        return Step::pending;
    }
    call.special().concluded.ready = true;
    return Step::next;
}

Step concluded(Call& call) {
    if (!call.special().concluded.ready.load()) return Step::pending;
    call.has_claim = false;
    if (call.special().concluded.error) return call.refuse(std::move(*call.special().concluded.error));
    if (!call.special().concluded.accepted) {
        return call.refuse(Error(ErrorCode::in_progress, "Another program has taken this call over.",
                                 {{"reason", "taken_over"}}));
    }
    project_claim_events(call, call.special().concluded.first_event);
    switch (call.probed) {
        case Reconciliation::Verdict::applied: return Step::end;
        case Reconciliation::Verdict::not_applied:
            // Claimed, but not dispatched: the next attempt passes the fence by itself.
            call.has_claim = true;
            call.needs_dispatch = true;
            call.attempts = call.special().claimed.row.attempt;
            call.phase = -1;
            return Step::next;
        case Reconciliation::Verdict::cannot_tell:
            call.outcome.safe_new_key = false;
            return call.refuse(key_error(call, ledger::ClaimVerdict::unknown));
    }
    return Step::end;
}

}  // namespace

Step claim(Call& call) {
    if (!needs_claim(call)) {
        if (call.core->options.audit_allowed) call.record_allowed();
        call.note("claim", "not needed", "a read without a key");
        return Step::next;
    }
    for (;;) {
        Step step = Step::next;
        switch (call.phase) {
            case kClaim: step = begin_claim(call); break;
            case kClaimed: step = handle(call); break;
            case kProbing: step = conclude(call); break;
            case kConcluded: step = concluded(call); break;
            case kWaiting:
                if (call.expired() || call.cancel_wanted()) {
                    call.special().claimed.verdict = ledger::ClaimVerdict::in_progress;
                    return refuse_key(call);
                }
                call.phase = kClaim;
                break;
            default: call.note("claim", "claimed"); return Step::next;
        }
        if (step != Step::next) return step;
    }
}

}  // namespace callgate::pipeline
