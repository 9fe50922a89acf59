#include "pipeline/settle.h"

#include <fmt/format.h>

#include "base/guard.h"
#include "json/equal.h"
#include "pipeline/asking.h"
#include "pipeline/call.h"
#include "pipeline/key.h"
#include "pipeline/leave.h"
#include "pipeline/projection.h"
#include "pipeline/shape.h"
#include "pipeline/stored.h"

namespace callgate::pipeline {
namespace {

enum class SettlePhase : std::uint8_t {
    finish,
    recorded,          ///< the ledger has replied to the end of the call
    recorded_instead,  ///< and to what goes on the record where another owner has ended it
    done               ///< to be published
};

// Whether this way of ending says that the tool itself is unfit.
bool broken(ErrorCode code) {
    return code == ErrorCode::timed_out || code == ErrorCode::transport || code == ErrorCode::exception ||
           code == ErrorCode::caught || code == ErrorCode::outcome_unknown;
}

void note_health(Call& call) {
    if (!call.tool) return;
    LiveState& live = call.tool->live();
    if (!call.entered) {
        if (call.probes_breaker) live.give_probe_back();
        return;
    }
    bool changed = false;
    if (call.outcome.state == State::succeeded) {
        changed = live.succeeded(call.started_wall);
    } else if (call.outcome.error && call.outcome.error->code != ErrorCode::cancelled) {
        changed = live.failed(call.outcome.error->message, broken(call.outcome.error->code), call.ended);
    } else if (call.probes_breaker) {
        live.give_probe_back();
    }
    if (!changed) return;
    call.notify(
        [&call] { call.core->registry_of(call.request.context->tenant).health_changed(call.outcome.tool); });
}

void note_loop(Call& call) {
    if (!call.entered || call.request.context->run_id.empty() ||
        call.rules->config().limits.loop_repeats == 0)
        return;
    const std::uint64_t result = call.outcome.succeeded
                                     ? json::hash(Outcome(call.outcome_data).content(), call.core->hash_seed)
                                     : std::hash<std::string>()(call.outcome.error->message);
    call.core->policy.state().loops.ended(call.run_key(), call.loop_hash, result);
}

// From here on a tool's progress is ignored. A call that did not complete says how far it came, without
// secrets.
[[gnu::hot]] void complete_locked(Call& call) CALLGATE_REQUIRES(call.shared.mutex) {
    OutcomeData& outcome = call.outcome;
    call.shared.ended = true;
    if (outcome.succeeded || outcome.state == State::replayed) return;
    outcome.result = {};
    if (call.cold_if() != nullptr && call.cold().failed_with)
        outcome.result = *std::exchange(call.cold().failed_with, std::nullopt);
    if (call.entered && call.shared.partial) outcome.partial = std::move(call.shared.partial);
    if (!call.shared.secrets) return;
    const redact::Redactor redactor(call.shared.secrets->index());
    mask(outcome.result, redactor);
    if (outcome.partial) {
        redactor.redact_in_place(outcome.partial->content, redact::Rules::values_only);
        outcome.partial->bytes = json::write(outcome.partial->content).size();
    }
    if (outcome.error) mask(*outcome.error, redactor);
}

bool has_stream(const Call& call) {
    if (!call.handed_out) {
        call.shared.mutex.assert_held();  // nobody else has the call
        return call.shared.stream != nullptr;
    }
    const base::MutexLock lock(call.shared.mutex);
    return call.shared.stream != nullptr;
}

[[gnu::hot]] void complete(Call& call) {
    if (call.entered && has_stream(call)) [[unlikely]]
        project_rest_of_stream(call);
    if (call.handed_out) {
        bool asks = false;
        {
            const base::MutexLock lock(call.shared.mutex);
            complete_locked(call);
            asks = !call.shared.questions.empty();
        }
        if (asks) withdraw_questions(call);
    } else {
        call.shared.mutex.assert_held();  // nobody else has the call
        complete_locked(call);
    }
}

// An end that leaves no trace says nothing of an attempt before it that may have had its effect. The ledger
// decides the same.
void doubt(Call& call) {
    if (!call.has_claim || !call.cold().claimed.row.maybe_applied || call.outcome.succeeded) return;
    if (call.entered && call.attempt_end == ledger::AttemptEnd::failed) return;
    call.outcome.state = State::unknown;
}

// What others may be waiting for is theirs again. Events that are still here belong to a step that the ledger
// did not take.
void release_holds(Call& call, ColdState& cold) {
    cold.claim_events.clear();
    if (cold.approval_use) call.outcome.approval_id = cold.approval_use->id;
    cold.hold = {};
    cold.ticket = {};
    stop_waiting_for_key(call);
    if (!cold.waits_for_resource.empty()) {
        call.core->policy.state().resources.forget(cold.waits_for_resource, call.ticket_number());
    }
}

// The claim's end and its event: both or neither.
ledger::Io settle_claim(Call& call) {
    ledger::SettleRequest request;
    request.call_id = call.claim_id;
    request.epoch = call.epoch;
    request.attempt = call.attempts;
    request.end = call.entered ? call.attempt_end : ledger::AttemptEnd::not_applied;
    request.outcome = to_stored(call);
    if (!CALLGATE_GUARD(record_before_effect)) {
        request.events.push_back(make_event(call, "tool_call.attempted", "info", "claim"));
    }
    AuditEvent event;
    fill_terminal_event(event, call);
    if (call.core->audit_wanted()) call.cold().claim_events = {event};
    request.events.push_back(std::move(event));
    call.settled = {};
    return call.core->ledger().settle(std::move(request), call.settled, call);
}

// What it has asked for is still the ledger's: its end goes on the record by itself, and nobody waits for it.
[[gnu::cold]] Step finish_after_leaving(Call& call) {
    AuditEvent event;
    fill_terminal_event(event, call);
    record_and_go(call, event);
    project_audit(call, event);
    call.phase = SettlePhase::done;
    return Step::next;
}

// The ledger may read it after the call has left with another error: what it says of one must be its own.
[[gnu::hot]] void write_terminal(Call& call) {
    AuditEvent& event = call.terminal.emplace();
    fill_terminal_event(event, call);
    if (call.outcome.error) event = AuditEvent(static_cast<const AuditFacts&>(event));
}

[[gnu::hot]] Step finish(Call& call) {
    OutcomeData& outcome = call.outcome;
    complete(call);
    doubt(call);
    call.ended = call.core->clock().monotonic_now();
    outcome.duration = call.ended - call.started;
    outcome.dispatched = call.entered;
    if (outcome.state != State::replayed) outcome.attempts = call.tries;
    if (!outcome.arguments) outcome.arguments = call.arguments_as_they_came();
    if (call.cold_if() != nullptr) release_holds(call, call.cold());

    call.phase = call.refused_with_others ? SettlePhase::done : SettlePhase::recorded;
    if (call.terminal_recorded || call.refused_with_others) return Step::next;
    if (call.has_left()) [[unlikely]]
        return finish_after_leaving(call);
    if (call.has_claim) return call.await_reply(settle_claim(call), Awaited::end);
    write_terminal(call);
    if (call.cold_if() != nullptr) call.settled = {};  // an earlier attempt's
    return call.await_reply(call.core->ledger().record(*call.terminal, call.settled, call), Awaited::end);
}

void withhold_outcome(Call& call, Error error);

// The outcome is not on the record. What may have happened is then not known, and that is said.
[[gnu::cold]] void unrecorded(Call& call) {
    call.core->counters.settle.audit_failures.add();
    OutcomeData& outcome = call.outcome;
    if (call.cold_if() != nullptr) call.cold().claim_events.clear();
    call.terminal.reset();
    // It was refused for just that, and says so.
    if (!call.entered && outcome.error && outcome.error->code == ErrorCode::ledger_unavailable) return;
    withhold_outcome(
        call, Error(ErrorCode::audit_failure, "The outcome of this call could not be put on the record.",
                    {{"reason", "not_recorded"}, {"was", to_string(outcome.state)}}));
}

// What happened is not told as if it were on the record.
void withhold_outcome(Call& call, Error error) {
    OutcomeData& outcome = call.outcome;
    const bool maybe_done = call.entered && call.effectful();
    outcome.succeeded = false;
    outcome.result = {};
    outcome.state = maybe_done ? State::unknown : State::failed;
    outcome.error = std::move(error);
}

// Another owner has taken the call over while this one ran: what it says now is not the outcome.
[[gnu::cold]] Step fenced_off(Call& call) {
    OutcomeData& outcome = call.outcome;
    call.core->counters.dispatch.fenced.add();
    outcome.succeeded = false;
    outcome.result = {};
    outcome.state = call.effectful() ? State::unknown : State::in_progress;
    outcome.error =
        Error(call.effectful() ? ErrorCode::outcome_unknown : ErrorCode::in_progress,
              "Another program or a late answer has settled this call; ask again with the same key.",
              {{"reason", "taken_over"}});
    call.cold().claim_events.clear();
    write_terminal(call);
    call.phase = SettlePhase::recorded_instead;
    return call.await_reply(call.core->ledger().record(*call.terminal, call.settled, call), Awaited::end);
}

[[gnu::cold]] Step recorded_instead(Call& call) {
    call.phase = SettlePhase::done;
    if (call.settled.error) {
        call.core->counters.settle.audit_failures.add();
        call.terminal.reset();
    }
    return Step::next;
}

Step recorded(Call& call) {
    call.phase = SettlePhase::done;
    if (call.terminal_recorded) return Step::next;
    if (call.settled.error) {
        unrecorded(call);
    } else if (call.has_claim && !call.settled.settled.accepted) {
        return fenced_off(call);
    } else if (call.has_claim) {
        call.shown_not_applied = call.settled.settled.released;
    }
    return Step::next;
}

// What its tool said after it was given up.
void settle_what_came_late(Call& call) {
    std::optional<std::pair<std::uint32_t, ToolReturn>> late;
    {
        const base::MutexLock lock(call.shared.mutex);
        call.shared.recorded = true;
        late = std::exchange(call.shared.late, std::nullopt);
    }
    if (late) settle_late(call.self(), late->first, std::move(late->second));
}

// A proof, never a guess: what is not shown is not so.
bool new_key_is_safe(const Call& call) {
    if (!call.entered && call.request.context->idempotency_key.empty()) return true;
    return call.shown_not_applied;
}

// Of a call without a claim, which would have said so when it had it: what has run, and what a person is
// asked about. A refusal leaves an event, and a replayed call another's record.
bool goes_on_record_with_its_end(const Call& call) {
    if (call.terminal_recorded) return true;
    return call.terminal && (call.entered || call.outcome.state == State::needs_approval);
}

Step publish(Call& call) {
    call.outcome.safe_new_key = new_key_is_safe(call);
    if (!call.has_left()) [[likely]] {
        project_claim_events(call, call.settled.first_event);
        if (call.terminal) project_audit(call, *call.terminal);
        if (goes_on_record_with_its_end(call)) call.on_the_record();
    }
    note_health(call);
    note_loop(call);
    if (call.request.context->trace) call.note("settle", to_string(call.outcome.state));
    project_end(call);
    if (call.handed_out) settle_what_came_late(call);
    return Step::end;
}

}  // namespace

Step leave_settle(Call& call) {
    call.core->counters.settle.left.add();
    call.shown_not_applied = false;
    call.phase = SettlePhase::done;
    if (!call.entered || call.outcome.state == State::unknown) return Step::next;
    withhold_outcome(call,
                     Error(ErrorCode::audit_failure,
                           "The outcome of this call has not been put on the record in time. It is when the "
                           "disk answers: ask again with the same key.",
                           {{"reason", "not_recorded_yet"}, {"was", to_string(call.outcome.state)}}));
    return Step::next;
}

Step settle(Call& call) {
    for (;;) {
        Step step = Step::next;
        switch (call.phase.as<SettlePhase>()) {
            case SettlePhase::finish: step = finish(call); break;
            case SettlePhase::recorded: step = recorded(call); break;
            case SettlePhase::recorded_instead: step = recorded_instead(call); break;
            case SettlePhase::done: return publish(call);
        }
        if (step != Step::next) return step;
    }
}

}  // namespace callgate::pipeline
