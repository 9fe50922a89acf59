#include "pipeline/call_status.h"

#include <utility>

#include "base/ids.h"
#include "base/try.h"
#include "ledger/blocking_waiter.h"
#include "pipeline/approval_gate.h"
#include "pipeline/refusal_state.h"
#include "tool/received.h"

namespace callgate::pipeline {
namespace {

tl::unexpected<Error> not_known() {
    return fail(
        ErrorCode::denied,
        "No call of yours is known by this id. A call without a key leaves nothing behind when it ends, "
        "and one with a key is forgotten with it.",
        {{"reason", "no_such_call"}});
}

CallStatus running(std::string id) {
    CallStatus status;
    status.call_id = std::move(id);
    return status;
}

CallStatus ended(OutcomeData data) {
    CallStatus status;
    status.is = CallStatus::Is::ended;
    status.call_id = base::Uuid{data.call_id}.to_string();
    status.approval_id = data.approval_id;
    status.outcome.emplace(std::move(data));
    return status;
}

OutcomeData outline(const ledger::CallRow& row) {
    OutcomeData data;
    data.call_id = row.call_id;
    data.tool = row.key.tool;
    data.action = row.action;
    data.arguments = row.arguments;
    data.approval_id = row.approval_id;
    data.attempts = row.attempt;
    data.effectful = row.effect != EffectClass::read;
    data.dispatched = row.attempt > 0;
    data.timestamp = row.created_at;
    if (row.ended_at > row.created_at) data.duration = row.ended_at - row.created_at;
    return data;
}

Error outcome_unknown(std::string_view reason, std::string_view message) {
    return {ErrorCode::outcome_unknown, std::string(message), {{"reason", reason}}};
}

// It was under way in a program that has gone.
CallStatus left_behind(const ledger::CallRow& row) {
    OutcomeData data = outline(row);
    data.state = State::unknown;
    data.error =
        outcome_unknown("owner_gone",
                        "The program that ran this call has ended. Make the call again with the same "
                        "key: what came of it is found out, or it is done.");
    return ended(std::move(data));
}

CallStatus as_stored(const ledger::CallRow& row) {
    OutcomeData data = outline(row);
    if (row.outcome) {
        const ledger::StoredOutcome& stored = *row.outcome;
        data.succeeded = stored.succeeded;
        data.error = stored.error;
        if (auto result = with_parsed(stored.result)) {
            data.result = std::move(*result);
        } else {
            data.succeeded = false;
            data.error.reset();
        }
        data.attempts = stored.attempts;
        if (!stored.approval_id.empty()) data.approval_id = stored.approval_id;
        data.state = data.succeeded ? State::succeeded : stored.state;
    }
    if (row.state == ledger::CallState::unknown) data.state = State::unknown;
    if (!data.succeeded && !data.error) {
        data.error = outcome_unknown("no_answer", "Nobody knows what came of this call.");
        if (row.state != ledger::CallState::unknown) {
            data.state = State::failed;
            data.error = Error(ErrorCode::ledger_unavailable,
                               "The call was done, and its result cannot be read from the ledger.",
                               {{"reason", "result_unreadable"}, {"was", to_string(row.state)}});
        }
    }
    return ended(std::move(data));
}

Result<CallStatus> of_row(Runtime::Core& core, const ledger::CallRow& row, const Context& caller) {
    if (row.key.tenant != caller.tenant || row.key.principal != caller.principal) return not_known();
    if (ledger::is_end(row.state)) return as_stored(row);
    if (core.ledger().is_alive(row.owner)) return running(base::Uuid{row.call_id}.to_string());
    return left_behind(row);
}

ledger::ApprovalVerdict why_not_used(ApprovalState state) {
    switch (state) {
        case ApprovalState::denied: return ledger::ApprovalVerdict::denied;
        case ApprovalState::revoked: return ledger::ApprovalVerdict::revoked;
        case ApprovalState::superseded: return ledger::ApprovalVerdict::superseded;
        default: return ledger::ApprovalVerdict::expired;
    }
}

CallStatus refused(const Approval& approval, const CallId& id) {
    OutcomeData data;
    data.call_id = id;
    data.tool = approval.tool;
    data.action = approval.action;
    data.arguments = std::make_shared<const Value>(approval.arguments);
    data.approval_id = approval.id;
    data.timestamp = approval.created_at;
    data.error = approval_error(why_not_used(approval.state), approval.id);
    data.state = refusal_state(data.error->code);
    return ended(std::move(data));
}

// It asked a person. What was resumed since is another call, and goes by its own id.
Result<CallStatus> of_approval(Runtime::Core& core, const Approval& approval, const CallId& id,
                               const Context& caller) {
    if (approval.tenant != caller.tenant || approval.requester != caller.principal) return not_known();
    if (approval.state == ApprovalState::consumed) {
        CALLGATE_TRY_ASSIGN(CallStatus resumed, status_of(core, approval.consumed_by, caller));
        resumed.approval_id = approval.id;
        return resumed;
    }
    if (approval.state != ApprovalState::pending && approval.state != ApprovalState::approved)
        return refused(approval, id);
    CallStatus waits = running(base::Uuid{id}.to_string());
    waits.is = CallStatus::Is::waits_for_approval;
    waits.approval_id = approval.id;
    waits.approved = approval.state == ApprovalState::approved;
    return waits;
}

}  // namespace

Result<CallStatus> status_of(Runtime::Core& core, std::string_view call_id, const Context& caller) {
    const auto id = base::parse_uuid(call_id);
    if (!id) return not_known();
    if (const auto asks = core.waiting_calls.asks(id->bytes, caller)) {
        CallStatus status = running(id->to_string());
        if (*asks == Asks::yes) status.is = CallStatus::Is::suspended;
        return status;
    }
    auto row = core.ledger().find(id->bytes);
    if (row) return of_row(core, *row, caller);
    if (!ledger::is_not_found(row.error())) return tl::unexpected(std::move(row.error()));
    CALLGATE_TRY_ASSIGN(const auto approval, ledger::approval_of_call(core.ledger(), id->to_string()));
    if (!approval) return not_known();
    return of_approval(core, *approval, id->bytes, caller);
}

}  // namespace callgate::pipeline
