#include "pipeline/stored.h"

#include "base/guard.h"
#include "pipeline/projection.h"
#include "pipeline/shape.h"

namespace callgate::pipeline {
namespace {

// Holds the reply of an operation that nobody waits for.
class Afterwards final : public ledger::Waiter {
public:
    void wake() override {}
    ledger::SettleReply reply;
};

}  // namespace

std::shared_ptr<const ledger::StoredOutcome> to_stored(const Call& call) {
    auto stored = std::make_shared<ledger::StoredOutcome>();
    stored->succeeded = call.outcome.succeeded;
    stored->state = call.outcome.state;
    stored->error = call.outcome.error;
    stored->result = call.outcome.result;
    stored->attempts = call.attempts;
    stored->approval_id = call.outcome.approval_id;
    stored->call_id = call.id;
    return stored;
}

void replay_stored(Call& call, const ledger::StoredOutcome& stored) {
    call.outcome.state = State::replayed;
    call.outcome.succeeded = stored.succeeded;
    call.outcome.error = stored.error;
    call.outcome.result = stored.result;
    call.outcome.attempts = stored.attempts;
    call.outcome.approval_id = stored.approval_id;
    call.outcome.safe_new_key = stored.error && stored.error->code == ErrorCode::cancelled;
    call.note("replay", "replayed", "the key has been answered before");
}

void settle_late(Call& call, std::uint32_t attempt, ToolReturn answer) {
    auto stored = std::make_shared<ledger::StoredOutcome>();
    stored->attempts = attempt;
    stored->call_id = call.id;
    ledger::SettleRequest request;
    request.call_id = call.claim_id;
    request.epoch = call.epoch;
    request.attempt = attempt;
    request.last = false;  // whatever goes on under this key now, it must not be ended by this
    const redact::Redactor redactor = call.redactor();
    if (answer) {
        request.end = ledger::AttemptEnd::succeeded;
        stored->succeeded = true;
        stored->state = State::succeeded;
        stored->result = std::move(*answer);
        mask(stored->result, redactor);
    } else {
        switch (answer.error().applied) {
            case Applied::no: request.end = ledger::AttemptEnd::not_applied; break;
            case Applied::told: request.end = ledger::AttemptEnd::failed; break;
            case Applied::maybe: return;  // it knows no more than we do
        }
        stored->state = State::failed;
        stored->error = std::move(answer.error().error);
        mask(*stored->error, redactor);
    }
    request.outcome = std::move(stored);
    const bool has_row = call.has_claim;
    AuditEvent event = make_event(call, "tool_call.resolved", "info", "settle");
    event.detail = "The tool answered after its deadline.";
    request.events.push_back(event);
    if (has_row) {
        const auto afterwards = std::make_shared<Afterwards>();
        const auto io = call.core->ledger().settle(std::move(request), afterwards->reply, *afterwards);
        if (io == ledger::Io::done && afterwards->reply.settled.accepted) {
            event.sequence = afterwards->reply.first_event;
            project_audit(*call.core, event);
        }
    }
    if (!CALLGATE_GUARD(one_terminal)) project_end(call);
}

}  // namespace callgate::pipeline
