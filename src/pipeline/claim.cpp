#include "pipeline/claim.h"

#include <utility>

#include "base/guard.h"
#include "base/ids.h"
#include "pipeline/approval_gate.h"
#include "pipeline/attempt.h"
#include "pipeline/call.h"
#include "pipeline/key.h"
#include "pipeline/projection.h"
#include "pipeline/shape.h"
#include "pipeline/stored.h"

namespace callgate::pipeline {
namespace {

enum Phase : int { kClaim, kClaimed, kAskedForEnd, kWaiting, kProbing, kConcluded };
enum PhaseOfRead : int { kBegin, kAllowed };

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
    call.shown_not_applied = false;
    call.phase = kClaimed;
    return call.asked(call.core->ledger().claim(std::move(request), call.special().claimed, call),
                      Asking::claim);
}

Step refuse_key(Call& call) {
    call.core->counters.claim.lost.add();
    return call.refuse(key_error(call, call.special().claimed.verdict));
}

// What a dead owner left dispatched: the tool's probe is asked what came of it.
Step probe(Call& call) {
    call.core->counters.claim.reconciled.add();
    call.phase = kProbing;
    if (!call.tool->body()->has_probe() || call.stopped_meanwhile()) return Step::next;
    // Where it cannot begin, nobody can tell; the row must not be left behind as if somebody asked.
    (void)begin(call, Errand::probe, 0, base::Uuid{call.special().claimed.row.call_id}.to_string());
    return Step::next;
}

Step handle(Call& call) {
    if (call.special().claimed.error) {
        call.core->counters.claim.ledger_down.add();
        return call.refuse(std::move(*call.special().claimed.error));
    }
    if (call.special().claimed.approval != ledger::ApprovalVerdict::ok) {
        call.core->counters.claim.approval_refused.add();
        // A free key stays free; one that a gone owner left has a row.
        call.shown_not_applied =
            shows_not_applied(call.special().claimed.verdict, call.special().claimed.row.call_id != CallId{});
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
            // What was on record under the plain key has just gone, and others may by now run as "key#0".
            if (call.special().by_plain_key && call.claim_id == call.id) {
                return call.refuse(Error(ErrorCode::in_progress,
                                         "The call with this key has just ended without effect; call again.",
                                         {{"reason", "just_ended"}}));
            }
            // Dispatched on the record, but nothing was sent: settle says so, and the key is free again.
            if (auto why = call.stopped_meanwhile()) return call.refuse(std::move(*why));
            return Step::next;
        case ledger::ClaimVerdict::replay:
            return replay_row(call, call.special().claimed.row, call.special().claimed.unreadable);
        case ledger::ClaimVerdict::in_progress:
            call.core->counters.claim.waited.add();
            call.phase = kAskedForEnd;
            return call.asked(ask_for_end(call), Asking::other_call);
        default:
            call.shown_not_applied = shows_not_applied(call.special().claimed.verdict, true);
            return refuse_key(call);
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
        call.outcome.error = unwritable(told.result, call.outcome.tool);
        call.outcome.succeeded = !call.outcome.error;
        if (call.outcome.succeeded) {
            call.outcome.result = std::move(told.result);
            mask(call.outcome.result, call.redactor());
        }
        call.outcome.state = State::replayed;
        request.outcome = to_stored(call);
    }
    request.events.push_back(make_event(call, "tool_call.resolved", "info", "claim"));
    if (call.core->audit_wanted()) call.special().claim_events = request.events;
    call.probed = told.verdict;
    call.special().concluded = {};
    call.phase = kConcluded;
    return call.asked(call.core->ledger().conclude(std::move(request), call.special().concluded, call),
                      Asking::conclude);
}

Step concluded(Call& call) {
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
            if (auto why = call.stopped_meanwhile()) return call.refuse(std::move(*why));
            return Step::next;
        case Reconciliation::Verdict::cannot_tell:
            return call.refuse(key_error(call, ledger::ClaimVerdict::unknown));
    }
    return Step::end;
}

// A read's way through the gate, on the record by itself.
Step record_allowed(Call& call) {
    if (call.phase == kBegin) {
        call.phase = kAllowed;
        AuditEvent& event = call.terminal.emplace();  // until it has one
        fill_event(event, call, "gate.allowed", "success", "gate");
        event.at = call.core->clock().wall_now();
        const Step step = call.asked(call.core->ledger().record(event, call.settled, call));
        if (step != Step::next) return step;
    }
    if (call.settled.error) {
        call.terminal.reset();
        call.core->counters.claim.ledger_down.add();
        return call.refuse(*std::exchange(call.settled.error, std::nullopt));
    }
    project_audit(call, *call.terminal);
    call.terminal.reset();
    if (auto why = call.stopped_meanwhile()) return call.refuse(std::move(*why));
    return Step::next;
}

// Nothing has to be on the record before a read, but its end has to get there.
[[gnu::cold]] std::optional<Step> refuse_unrecordable(Call& call) {
    auto why = call.core->ledger().ready_to_record();
    if (!why) return std::nullopt;
    call.core->counters.claim.ledger_down.add();
    return call.refuse(std::move(*why));
}

[[gnu::hot]] Step pass_read(Call& call) {
    if (call.core->ledger_has_thread && call.phase == kBegin) [[unlikely]] {
        if (const auto step = refuse_unrecordable(call)) return *step;
    }
    if (call.core->options.audit_allowed) [[unlikely]] {
        if (const Step step = record_allowed(call); step != Step::next) return step;
    }
    call.note("claim", "not needed", "a read without a key");
    return Step::next;
}

}  // namespace

Step claim(Call& call) {
    if (!needs_claim(call)) return pass_read(call);
    for (;;) {
        Step step = Step::next;
        switch (call.phase) {
            case kClaim: step = begin_claim(call); break;
            case kClaimed: step = handle(call); break;
            case kProbing: step = conclude(call); break;
            case kConcluded: step = concluded(call); break;
            case kAskedForEnd:
                call.phase = kWaiting;
                step = wait_for_end(call);
                if (step == Step::end) call.core->counters.claim.lost.add();
                break;
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
