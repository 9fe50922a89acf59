#include "pipeline/dispatch.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard.h"
#include "pipeline/asking.h"
#include "pipeline/attempt.h"
#include "pipeline/call.h"
#include "pipeline/projection.h"
#include "pipeline/retry.h"
#include "pipeline/shape.h"
#include "pipeline/stored.h"
#include "tool/action_hooks.h"
#include "tool/received.h"

namespace callgate::pipeline {
namespace {

enum class DispatchPhase : std::uint8_t {
    begin,
    running,
    given_back,  ///< the ledger has the claim back, and another attempt follows
    waits_for_retry,
    fence,   ///< the next attempt has to pass the ledger first
    fenced,  ///< the ledger has replied to that
    compensating,
    done
};

Step timed_out(Call& call) {
    call.attempt_end = ledger::AttemptEnd::ambiguous;
    Error error(
        ErrorCode::timed_out,
        fmt::format("The tool {} did not answer within {} ms.", call.tool->name(), call.timeout.count()),
        {{"timeout_ms", call.timeout.count()},
         {"timeout_seconds", static_cast<double>(call.timeout.count()) / 1000}});
    return call.end(call.effectful() ? State::unknown : State::timed_out, std::move(error));
}

Step called_off(Call& call) {
    call.attempt_end = ledger::AttemptEnd::ambiguous;
    return call.end(call.effectful() ? State::unknown : State::cancelled,
                    Error(ErrorCode::cancelled, "The call was called off while the tool ran."));
}

Step failed(Call& call, ToolFailure failure);

// Given up before the tool's own code was entered, and it never will be: this was no attempt. If there was
// one before, that is the last word.
[[gnu::cold]] Step never_began(Call& call, Error why) {
    --call.tries;
    if (!call.has_claim) call.attempts = call.tries;
    if (call.tries > 0) return failed(call, std::move(call.cold().last_failure));
    call.entered = !CALLGATE_GUARD(queued_is_no_fault);
    call.attempt_end = ledger::AttemptEnd::not_applied;
    return call.refuse(std::move(why));
}

Error queued_too_long(const Call& call) {
    return {
        ErrorCode::timed_out,
        fmt::format("The call ran out of time ({} ms) while it waited for a thread; the tool {} was not run.",
                    call.timeout.count(), call.tool->name()),
        {{"timeout_ms", call.timeout.count()}, {"reason", "queued"}}};
}

Error called_off_while_queued() {
    return {ErrorCode::cancelled,
            "The call was called off while it waited for a thread; the tool was not run.",
            {{"reason", "queued"}}};
}

// Not whether the grace has begun: a tool may look at its signal, and answer, before the call itself gets to
// it.
bool has_grace(const Call& call) {
    const Context& context = *call.request.context;
    return context.cancel_grace > std::chrono::milliseconds(0) &&
           (call.cancel_wanted() || context.cancel.stop_requested());
}

// It was called off, and did nothing: that is what became of the call, whatever the tool calls it.
void obeyed(Error& error) {
    if (error.code == ErrorCode::cancelled) return;
    error.details.emplace("was", to_string(error.code));
    error.code = ErrorCode::cancelled;
}

Step failed(Call& call, ToolFailure failure) {
    switch (failure.applied) {
        case Applied::no: call.attempt_end = ledger::AttemptEnd::not_applied; break;
        case Applied::answered: call.attempt_end = ledger::AttemptEnd::failed; break;
        case Applied::maybe: call.attempt_end = ledger::AttemptEnd::ambiguous; break;
    }
    if (failure.error.code == ErrorCode::rate_limited && failure.retry_after) {
        call.tool->live().rate_limited_until(std::chrono::time_point_cast<std::chrono::microseconds>(
            call.core->clock().wall_now() + *failure.retry_after));
        failure.error.details["retry_after_ms"] = failure.retry_after->count();
    }
    if (failure.applied == Applied::no && has_grace(call)) obeyed(failure.error);
    if (failure.content) call.cold().failed_with = std::move(failure.content);
    const ErrorCode code = failure.error.code;
    if (failure.applied == Applied::maybe && call.effectful()) {
        return call.end(State::unknown, std::move(failure.error));
    }
    const State state = code == ErrorCode::cancelled   ? State::cancelled
                        : code == ErrorCode::timed_out ? State::timed_out
                                                       : State::failed;
    return call.end(state, std::move(failure.error));
}

// What stays on the record if this was the last word after all: the ledger may have given the call up
// meanwhile.
std::shared_ptr<const ledger::StoredOutcome> stored_failure(const Call& call, const ToolFailure& failure) {
    auto stored = std::make_shared<ledger::StoredOutcome>();
    stored->error = failure.error;
    mask(*stored->error, call.redactor());
    if (failure.content) stored->result = without_parsed(*failure.content);
    stored->attempts = call.attempts;
    stored->call_id = call.id;
    return stored;
}

// The attempt is over and another one follows: the ledger gets the claim back first.
[[gnu::cold]] Step give_back(Call& call, const ToolFailure& failure, std::chrono::milliseconds delay) {
    call.core->counters.dispatch.retries.add();
    project_retry(call);
    call.cold().retry_at = base::later(call.core->clock().monotonic_now(), delay);
    if (!call.has_claim) {
        call.phase = DispatchPhase::waits_for_retry;
        return Step::next;
    }
    ledger::SettleRequest request;
    request.call_id = call.claim_id;
    request.epoch = call.epoch;
    request.attempt = call.attempts;
    request.end =
        failure.applied == Applied::no ? ledger::AttemptEnd::not_applied : ledger::AttemptEnd::ambiguous;
    request.last = false;
    request.outcome = stored_failure(call, failure);
    if (failure.applied == Applied::maybe && call.effectful()) call.cold().claimed.row.maybe_applied = true;
    call.settled = {};
    call.phase = DispatchPhase::given_back;
    return call.await_reply(call.core->ledger().settle(std::move(request), call.settled, call),
                            Awaited::give_back);
}

// An action may know how to undo what it did before it failed.
[[gnu::cold]] Step undo_or_fail(Call& call) {
    const ActionHooks* hooks = call.tool->hooks();
    if (!can_compensate(hooks) || call.cold().last_failure.applied != Applied::answered ||
        begin(call, AttemptKind::compensate, call.attempts)) {
        return failed(call, std::move(call.cold().last_failure));
    }
    call.arm();
    call.cold().undo_until = call.core->clock().monotonic_now() + hooks->compensation_timeout;
    call.wake_at(call.cold().undo_until);
    call.phase = DispatchPhase::compensating;
    return Step::next;
}

[[gnu::cold]] Step compensating(Call& call) {
    Object& details = call.cold().last_failure.error.details;
    if (auto answer = call.attempt->take()) {
        call.attempt = nullptr;
        const auto* undone = std::get_if<Result<void>>(&*answer);
        details["compensated"] = undone != nullptr && undone->has_value();
        if (undone != nullptr && !undone->has_value())
            details["compensation_error"] = undone->error().message;
    } else if (call.cancel_wanted() || call.expired() ||
               call.core->clock().monotonic_now() >= call.cold().undo_until) {
        give_up(call);
        details["compensated"] = false;
        details["compensation_error"] = "It did not end in time.";
    } else {
        return Step::pending;
    }
    return failed(call, std::move(call.cold().last_failure));
}

[[gnu::hot]] Step handle(Call& call, ToolReturn&& answer) {
    if (answer) [[likely]] {
        ToolResult& result = call.outcome.result;
        result.value.swap(answer->value);  // the cheaper way: nothing is in it yet
        result.blocks = std::move(answer->blocks);
        result.structured = std::move(answer->structured);
        result.raw = std::move(answer->raw);
        if (!answer->extra.empty()) [[unlikely]]
            result.extra = std::move(answer->extra);
        call.attempt_end = ledger::AttemptEnd::succeeded;
        call.phase = DispatchPhase::done;
        return Step::next;
    }
    call.cold().last_failure = std::move(answer.error());
    // A failure stays one, whatever its details are.
    leave_out_unwritable(call.cold().last_failure.error.details);
    if (call.cold().last_failure.content) shape_failure(call, call.cold().last_failure);
    // A foreign number: sums with it must not leave the clock's range.
    constexpr std::chrono::milliseconds kLongestWait = std::chrono::hours(24 * 365);
    if (auto& wait = call.cold().last_failure.retry_after)
        wait = std::clamp(*wait, std::chrono::milliseconds(0), kLongestWait);
    if (const auto delay = next_attempt_in(call, call.cold().last_failure)) {
        return give_back(call, call.cold().last_failure, *delay);
    }
    return undo_or_fail(call);
}

[[gnu::hot]] ToolReturn run_inside(ToolBody& body, const Object& arguments, RunContext& context) {
    const Inside mark(&context, inside::lent);
    return run_guarded(body, arguments, context);
}

[[gnu::cold]] Step called_off_before(Call& call) {
    call.attempt_end = ledger::AttemptEnd::not_applied;
    return call.end(State::cancelled,
                    Error(ErrorCode::cancelled, "The call was called off before the tool began."));
}

[[gnu::noinline]] Step begin_elsewhere(Call& call) {
    call.phase = DispatchPhase::running;
    if (auto error = begin(call, AttemptKind::run, call.attempts))
        return never_began(call, std::move(*error));
    return Step::next;
}

[[gnu::hot]] Step begin_attempt(Call& call) {
    if (call.request.context->cancel.stop_requested() || call.cancel_wanted()) [[unlikely]]
        return called_off_before(call);
    if (call.needs_dispatch) {
        call.phase = DispatchPhase::fence;
        return Step::next;
    }
    call.fix_deadline();
    ++call.tries;
    if (!call.has_claim) call.attempts = call.tries;
    if (call.tries == 1 && call.tool->contract().retry.max_retries > 0)
        call.tool->live().count_first_attempt();
    call.entered = true;
    call.needs_dispatch = true;  // the claim came with the first dispatch; each further one passes the fence
    if (call.tool->mode() != RunMode::inlined) return begin_elsewhere(call);
    RunContext context(call, call.tries, true);
    return handle(call, run_inside(*call.tool->runner(), call.arguments->get_object(), context));
}

// It was called off: a tool that runs and looks at its signal has the caller's grace to say what came of it.
[[gnu::cold]] bool may_still_answer(Call& call) {
    const auto grace = call.request.context->cancel_grace;
    if (grace <= std::chrono::milliseconds(0) || !call.attempt->began()) return false;
    if (call.expired() || call.core->closing()) return false;
    std::optional<base::MonotonicTime>& until = call.cold().grace_until;
    const auto now = call.core->clock().monotonic_now();
    if (!until) {
        until = base::later(now, grace);
        call.wake_at(*until);
        withdraw_questions(call);
        Call::stop_elsewhere(call.self());
    }
    return now < *until;
}

Step running(Call& call) {
    if (auto answer = call.attempt->take()) {
        const bool began = call.attempt->began();
        call.attempt = nullptr;
        auto& returned = std::get<ToolReturn>(*answer);
        if (!began) return never_began(call, std::move(returned.error().error));
        return handle(call, std::move(returned));
    }
    if (call.cancel_wanted()) {
        if (may_still_answer(call)) return Step::pending;
        return give_up(call) ? called_off(call) : never_began(call, called_off_while_queued());
    }
    if (call.expired()) return give_up(call) ? timed_out(call) : never_began(call, queued_too_long(call));
    return Step::pending;
}

[[gnu::cold]] Step given_back(Call& call) {
    if (call.settled.error || !call.settled.settled.accepted || call.settled.settled.late) {
        call.core->counters.dispatch.fenced.add();
        return failed(call, std::move(call.cold().last_failure));
    }
    call.phase = DispatchPhase::waits_for_retry;
    return Step::next;
}

[[gnu::cold]] Step wait_for_retry(Call& call) {
    if (call.cancel_wanted() || call.expired()) return failed(call, std::move(call.cold().last_failure));
    if (call.core->clock().monotonic_now() < *call.cold().retry_at) {
        call.arm();
        call.wake_at(*call.cold().retry_at);
        return Step::pending;
    }
    call.cold().retry_at.reset();
    call.phase = call.has_claim ? DispatchPhase::fence : DispatchPhase::begin;
    if (!call.has_claim) call.needs_dispatch = false;
    return Step::next;
}

Step pass_fence(Call& call) {
    if (!call.has_claim) {
        call.needs_dispatch = false;
        call.phase = DispatchPhase::begin;
        return Step::next;
    }
    ledger::DispatchRequest request;
    request.call_id = call.claim_id;
    request.epoch = call.epoch;
    request.owner = call.core->owner;
    request.definition_hash = call.tool->definition_hash();
    AuditEvent attempted = make_event(call, "tool_call.attempted", "info", "dispatch");
    attempted.attempt = call.attempts + 1;
    if (call.core->audit_wanted()) call.cold().claim_events = {attempted};
    request.events.push_back(std::move(attempted));
    call.cold().dispatched = {};
    call.phase = DispatchPhase::fenced;
    return call.await_reply(call.core->ledger().dispatch(std::move(request), call.cold().dispatched, call),
                            Awaited::dispatch);
}

Step fenced(Call& call) {
    if (call.cold().dispatched.error) {
        call.attempt_end = ledger::AttemptEnd::not_applied;
        return call.refuse(std::move(*call.cold().dispatched.error));
    }
    if (call.cold().dispatched.fenced) {
        call.core->counters.dispatch.fenced.add();
        call.has_claim = false;
        return call.refuse(Error(ErrorCode::in_progress, "Another program has taken this call over.",
                                 {{"reason", "taken_over"}}));
    }
    project_claim_events(call, call.cold().dispatched.first_event);
    call.attempts = call.cold().dispatched.attempt;
    call.needs_dispatch = false;
    call.phase = DispatchPhase::begin;
    if (auto why = call.stopped_meanwhile()) {
        // Dispatched on the record, but not sent. If there was an attempt before, it is the last word.
        if (call.tries > 0) return failed(call, std::move(call.cold().last_failure));
        call.attempt_end = ledger::AttemptEnd::not_applied;
        return call.refuse(std::move(*why));
    }
    return Step::next;
}

}  // namespace

Step end_without_attempt(Call& call, Error why) {
    call.has_claim = false;
    const Step step =
        call.tries > 0 ? failed(call, std::move(call.cold().last_failure)) : call.refuse(std::move(why));
    if (call.cold().claimed.row.maybe_applied) call.outcome.state = State::unknown;  // before this owner
    return step;
}

Step dispatch(Call& call) {
    for (;;) {
        Step step = Step::next;
        switch (call.phase.as<DispatchPhase>()) {
            case DispatchPhase::begin: step = begin_attempt(call); break;
            case DispatchPhase::running: step = running(call); break;
            case DispatchPhase::given_back: step = given_back(call); break;
            case DispatchPhase::waits_for_retry: step = wait_for_retry(call); break;
            case DispatchPhase::fence: step = pass_fence(call); break;
            case DispatchPhase::fenced: step = fenced(call); break;
            case DispatchPhase::compensating: step = compensating(call); break;
            case DispatchPhase::done: call.note("dispatch", "answered"); return Step::next;
        }
        if (step != Step::next) return step;
    }
}

}  // namespace callgate::pipeline
