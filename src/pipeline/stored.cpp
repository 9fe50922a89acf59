#include "pipeline/stored.h"

#include <atomic>

#include "base/guard.h"
#include "pipeline/projection.h"
#include "pipeline/shape.h"
#include "tool/received.h"

namespace callgate::pipeline {
namespace {

// A late answer on its way to the record. Nobody waits for it; it keeps itself until the ledger has answered.
class LateSettlement final : public ledger::Waiter,
                             public PoolTask,
                             public std::enable_shared_from_this<LateSettlement> {
public:
    LateSettlement(std::shared_ptr<Call> call, const AuditEvent& event)
        : call_(std::move(call)), event_(event) {}

    void begin(ledger::SettleRequest request) {
        const bool as_turn = call_->core->expect_turn();
        if (as_turn) kept_ = shared_from_this();
        if (call_->core->ledger().settle(std::move(request), reply_, *this) == ledger::Io::pending) {
            if (as_turn) return;
            answered_.wait(false);  // the runtime has gone, and its threads with it
        } else if (as_turn) {
            kept_ = nullptr;
            call_->core->turn_came();
        }
        publish();
    }

    // Either it goes to another thread, or this one waits for it: it may be gone before wake() returns.
    void wake() override {
        if (kept_) {
            const auto turn = std::move(kept_);
            if (call_->core->turns.submit(turn) != WorkerPool::Submitted::taken) turn->drop();
        } else {
            answered_.store(true);
            answered_.notify_one();
        }
    }
    void run() override {
        call_->core->turn_came();
        publish();
    }
    void drop() override { run(); }

private:
    void publish() {
        if (reply_.error || !reply_.settled.accepted) return;
        event_.sequence = reply_.first_event;
        project_late_audit(*call_, event_);
    }

    const std::shared_ptr<Call> call_;
    AuditEvent event_;
    ledger::SettleReply reply_;
    std::shared_ptr<LateSettlement> kept_;
    std::atomic<bool> answered_{false};
};

}  // namespace

std::shared_ptr<const ledger::StoredOutcome> to_stored(const Call& call) {
    auto stored = std::make_shared<ledger::StoredOutcome>();
    stored->succeeded = call.outcome.succeeded;
    stored->state = call.outcome.state;
    stored->error = call.outcome.error;
    stored->result = without_parsed(call.outcome.result);
    stored->attempts = call.attempts;
    stored->approval_id = call.outcome.approval_id;
    stored->call_id = call.id;
    return stored;
}

Step replay_row(Call& call, const ledger::CallRow& row, const std::optional<Error>& unreadable) {
    std::optional<ToolResult> result;
    if (row.outcome) result = with_parsed(row.outcome->result);
    if (!result) {
        Object details{{"reason", "result_unreadable"}, {"done", true}, {"was", to_string(row.state)}};
        if (unreadable) details["why"] = unreadable->message;
        return call.refuse(
            Error(ErrorCode::ledger_unavailable,
                  "The call with this key was done, and its result cannot be read from the ledger. Do not "
                  "make it again under another key. Check the ledger: callgate ledger check.",
                  std::move(details)));
    }
    const ledger::StoredOutcome& stored = *row.outcome;
    call.outcome.state = State::replayed;
    call.outcome.succeeded = stored.succeeded;
    call.outcome.error = stored.error;
    call.outcome.result = std::move(*result);
    call.outcome.attempts = stored.attempts;
    call.outcome.approval_id = stored.approval_id;
    call.note("replay", "replayed", "the key has been answered before");
    return Step::end;
}

void settle_late(const std::shared_ptr<Call>& call, std::uint32_t attempt, ToolReturn answer) {
    auto stored = std::make_shared<ledger::StoredOutcome>();
    stored->attempts = attempt;
    stored->call_id = call->id;
    ledger::SettleRequest request;
    request.call_id = call->claim_id;
    request.epoch = call->epoch;
    request.attempt = attempt;
    request.last = false;  // whatever goes on under this key now, it must not be ended by this
    const redact::Redactor redactor = call->redactor();
    auto unusable = answer ? unwritable(*answer, call->outcome.tool) : std::nullopt;
    if (unusable) {
        request.end = ledger::AttemptEnd::failed;
        stored->state = State::failed;
        stored->error = std::move(unusable);
    } else if (answer) {
        request.end = ledger::AttemptEnd::succeeded;
        stored->succeeded = true;
        stored->state = State::succeeded;
        stored->result = std::move(*answer);
        finish_result(*call, stored->result);
        stored->result = without_parsed(stored->result);
    } else {
        switch (answer.error().applied) {
            case Applied::no: request.end = ledger::AttemptEnd::not_applied; break;
            case Applied::answered: request.end = ledger::AttemptEnd::failed; break;
            case Applied::maybe: return;  // it knows no more than we do
        }
        ToolFailure& failure = answer.error();
        leave_out_unwritable(failure.error.details);
        if (failure.content) shape_failure(*call, failure);
        if (failure.content) stored->result = without_parsed(*failure.content);
        stored->state = State::failed;
        stored->error = std::move(failure.error);
        mask(*stored->error, redactor);
    }
    request.outcome = std::move(stored);
    if (call->has_claim) {
        AuditEvent event = make_event(*call, "tool_call.resolved", "info", "settle");
        event.detail = "The tool answered after its deadline.";
        request.events.push_back(event);
        std::make_shared<LateSettlement>(call, event)->begin(std::move(request));
    }
    if (!CALLGATE_GUARD(one_terminal)) project_end(*call);
}

}  // namespace callgate::pipeline
