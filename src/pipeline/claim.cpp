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

enum class ClaimPhase : std::uint8_t {
    begin,
    claimed,     ///< the ledger has replied to the claim
    subscribed,  ///< and to the wish to wait for another call with the key
    waiting,     ///< for that call
    probing,
    concluded,  ///< what the probe found is on the record
    allowed,    ///< a read: that it was allowed is on the record
    done
};

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
    request.approval = call.cold().approval_use;
    request.recorded_as = call.cold().recorded_as;
    if (CALLGATE_GUARD(record_before_effect)) {
        const std::string_view decided_by = call.cold().predicate_record;
        if (call.uses_approval())
            request.events.push_back(make_event(call, "gate.approved", "success", "claim"));
        if (call.core->options.audit_allowed) {
            AuditEvent allowed = make_event(call, "gate.allowed", "success", "gate");
            allowed.detail = decided_by;
            request.events.push_back(std::move(allowed));
        }
        AuditEvent attempted = make_event(call, "tool_call.attempted", "info", "claim");
        attempted.attempt = 1;
        attempted.detail = decided_by;
        request.events.push_back(std::move(attempted));
    }
    if (call.core->audit_wanted()) call.cold().claim_events = request.events;
    call.cold().claimed = {};
    call.shown_not_applied = false;
    call.phase = ClaimPhase::claimed;
    return call.await_reply(call.core->ledger().claim(std::move(request), call.cold().claimed, call),
                            Awaited::claim);
}

Step refuse_key(Call& call) {
    call.core->counters.claim.lost.add();
    return call.refuse(key_error(call, call.cold().claimed.verdict));
}

// What a dead owner left dispatched: the tool's probe is asked what came of it.
Step probe(Call& call) {
    call.core->counters.claim.reconciled.add();
    call.phase = ClaimPhase::probing;
    if (!call.tool->body()->has_probe() || call.stopped_meanwhile()) return Step::next;
    // Where it cannot begin, nobody can tell; the row must not be left behind as if somebody asked.
    (void)begin(call, AttemptKind::probe, 0, base::Uuid{call.cold().claimed.row.call_id}.to_string());
    return Step::next;
}

Step handle(Call& call) {
    if (call.cold().claimed.error) {
        call.core->counters.claim.ledger_down.add();
        return call.refuse(std::move(*call.cold().claimed.error));
    }
    if (call.cold().claimed.approval != ledger::ApprovalVerdict::ok) {
        call.core->counters.claim.approval_refused.add();
        // A free key stays free; one that a gone owner left has a row.
        call.shown_not_applied =
            shows_not_applied(call, call.cold().claimed.verdict, call.cold().claimed.row.call_id != CallId{},
                              call.cold().claimed.row);
        return call.refuse(approval_error(call.cold().claimed.approval, call.cold().approval_use->id));
    }
    switch (call.cold().claimed.verdict) {
        case ledger::ClaimVerdict::claimed:
            call.core->counters.claim.claimed.add();
            call.has_claim = true;
            call.epoch = call.cold().claimed.row.epoch;
            call.claim_id = call.cold().claimed.row.call_id;
            project_claim_events(call, call.cold().claimed.first_event);
            call.on_the_record();
            if (call.cold().claimed.row.state == ledger::CallState::reconciling) return probe(call);
            call.attempts = call.cold().claimed.row.attempt;
            call.phase = ClaimPhase::done;
            // What was on record under the plain key has just gone, and others may by now run as "key#0".
            if (call.cold().by_plain_key && call.claim_id == call.id) {
                return call.refuse(Error(ErrorCode::in_progress,
                                         "The call with this key has just ended without effect; call again.",
                                         {{"reason", "just_ended"}}));
            }
            // Dispatched on the record, but nothing was sent: settle says so, and the key is free again.
            if (auto why = call.stopped_meanwhile()) return call.refuse(std::move(*why));
            return Step::next;
        case ledger::ClaimVerdict::replay:
            return replay_row(call, call.cold().claimed.row, call.cold().claimed.unreadable);
        case ledger::ClaimVerdict::in_progress:
            call.core->counters.claim.waited.add();
            call.phase = ClaimPhase::subscribed;
            return call.await_reply(subscribe_to_end(call), Awaited::other_call);
        default:
            call.shown_not_applied =
                shows_not_applied(call, call.cold().claimed.verdict, true, call.cold().claimed.row);
            return refuse_key(call);
    }
}

Step conclude(Call& call) {
    Reconciliation found;
    if (call.attempt) {
        auto answer = call.attempt->take();
        if (!answer) {
            if (!call.expired() && !call.cancel_wanted()) return Step::pending;
            give_up(call);
        } else {
            call.attempt = nullptr;
            if (auto* probed = std::get_if<Reconciliation>(&*answer)) found = std::move(*probed);
        }
    }
    ledger::ConcludeRequest request;
    request.call_id = call.claim_id;
    request.epoch = call.epoch;
    request.verdict = found.verdict;
    if (found.verdict == Reconciliation::Verdict::applied) {
        call.outcome.error = unwritable(found.result, call.outcome.tool);
        call.outcome.succeeded = !call.outcome.error;
        if (call.outcome.succeeded) {
            call.outcome.result = std::move(found.result);
            finish_result(call, call.outcome.result);
        }
        call.outcome.state = State::replayed;
        request.outcome = to_stored(call);
    }
    request.events.push_back(make_event(call, "tool_call.resolved", "info", "claim"));
    if (call.core->audit_wanted()) call.cold().claim_events = request.events;
    call.probed = found.verdict;
    call.cold().concluded = {};
    call.phase = ClaimPhase::concluded;
    return call.await_reply(call.core->ledger().conclude(std::move(request), call.cold().concluded, call),
                            Awaited::conclude);
}

Step concluded(Call& call) {
    call.has_claim = false;
    if (call.cold().concluded.error) return call.refuse(std::move(*call.cold().concluded.error));
    if (!call.cold().concluded.accepted) {
        return call.refuse(Error(ErrorCode::in_progress, "Another program has taken this call over.",
                                 {{"reason", "taken_over"}}));
    }
    project_claim_events(call, call.cold().concluded.first_event);
    switch (call.probed) {
        case Reconciliation::Verdict::applied: return Step::end;
        case Reconciliation::Verdict::not_applied:
            // Claimed, but not dispatched: the next attempt passes the fence by itself.
            call.has_claim = true;
            call.needs_dispatch = true;
            call.attempts = call.cold().claimed.row.attempt;
            call.phase = ClaimPhase::done;
            if (auto why = call.stopped_meanwhile()) return call.refuse(std::move(*why));
            return Step::next;
        case Reconciliation::Verdict::cannot_tell:
            return call.refuse(key_error(call, ledger::ClaimVerdict::unknown));
    }
    return Step::end;
}

// A read's way through the gate, on the record by itself.
Step record_allowed(Call& call) {
    if (call.phase.as<ClaimPhase>() == ClaimPhase::begin) {
        call.phase = ClaimPhase::allowed;
        AuditEvent& event = call.terminal.emplace();  // until it has one
        fill_event(event, call, "gate.allowed", "success", "gate");
        event.at = call.core->clock().wall_now();
        if (const ColdState* const cold = call.cold_if()) event.detail = cold->predicate_record;
        const Step step = call.await_reply(call.core->ledger().record(event, call.settled, call));
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
    if (call.core->ledger_has_thread && call.phase.as<ClaimPhase>() == ClaimPhase::begin) [[unlikely]] {
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
        switch (call.phase.as<ClaimPhase>()) {
            case ClaimPhase::begin: step = begin_claim(call); break;
            case ClaimPhase::claimed: step = handle(call); break;
            case ClaimPhase::probing: step = conclude(call); break;
            case ClaimPhase::concluded: step = concluded(call); break;
            case ClaimPhase::subscribed:
                call.phase = ClaimPhase::waiting;
                step = wait_for_end(call);
                if (step == Step::end) call.core->counters.claim.lost.add();
                break;
            case ClaimPhase::waiting:
                if (call.expired() || call.cancel_wanted()) {
                    call.cold().claimed.verdict = ledger::ClaimVerdict::in_progress;
                    return refuse_key(call);
                }
                call.phase = ClaimPhase::begin;
                break;
            case ClaimPhase::allowed:
            case ClaimPhase::done: call.note("claim", "claimed"); return Step::next;
        }
        if (step != Step::next) return step;
    }
}

}  // namespace callgate::pipeline
