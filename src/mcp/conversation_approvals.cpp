// A call that needs an approval: its client's person is asked, or it is a task that waits for a decision.
#include <utility>

#include <fmt/format.h>

#include "mcp/approval_question.h"
#include "mcp/conversation.h"
#include "mcp/server_core.h"

namespace callgate::mcp {

// Without the way to ask, which is this conversation itself.
void Conversation::remember(Context context) {
    context.input = nullptr;
    context_ = std::move(context);
}

bool Conversation::wait_for_approval(const Outcome& asked) {
    if (cancelled_ && is_task() && !abandoned_) {
        end_undecided(asked);
        return true;
    }
    if (cancelled_ || core_->closed()) return false;
    if (task_ == Task::wanted) on_record(call_id_);  // a request for an approval is on the record
    if (!is_task()) return ask_for_approval(asked);
    follow_approval(asked);
    (void)ask_for_approval(asked);
    return true;
}

// Whoever decides, the task goes on with that. The server may end first, so nothing here holds it.
void Conversation::follow_approval(const Outcome& asked) {
    undecided_.emplace(Undecided{asked, {}});
    status_message_ = fmt::format("waits for approval {}", asked.approval_id());
    changed();
    core_->runtime().approvals().when_decided(
        asked.approval_id(),
        [weak = weak_from_this()](const Result<Approval>& approval) {
            const auto self = weak.lock();
            if (!self) return;
            self->core_->at_home([weak, approval] {
                if (const auto about = weak.lock()) about->decided(approval);
            });
        },
        {}, undecided_->stop.get_token());
}

void Conversation::decided(const Result<Approval>& approval) {
    if (!undecided_ || abandoned_) return;
    stop_waiting();
    status_message_.clear();
    if (approval && approval->state != ApprovalState::consumed)
        resume();  // what was refused ends so
    else
        core_->tasks().release(call_id_);  // the record has what becomes of it, or cannot be read now
}

void Conversation::stop_waiting() {
    if (undecided_) undecided_->stop.request_stop();
    undecided_.reset();
    if (const auto question = approval_question_.lock()) {
        std::erase_if(open_, [&](const Open& one) { return one.question == question; });
        withdrawn(question);
        (void)question->fail(Error(ErrorCode::cancelled, "It is decided.", {{"reason", "call_ended"}}));
    }
}

// What a person at the client says counts as the client's word: A1, and only where that is enough. The
// question holds the call: in the legacy era nothing else does.
bool Conversation::ask_for_approval(const Outcome& asked) {
    if (!core_->options().approve_by_client || !abilities().form || asked_for_approval_ ||
        (exchange_ == nullptr && !is_task()) || !client_may_decide(asked))
        return false;
    asked_for_approval_ = true;
    offered_.clear();  // nobody has seen this question yet
    const auto question = std::make_shared<ApprovalQuestion>(
        asked,
        [self = shared_from_this(), asked](std::optional<bool> allowed) { self->answered(asked, allowed); });
    approval_question_ = question;
    this->asked(question);
    return true;
}

// A task goes on waiting: for the vote to be recorded, or for somebody else's.
void Conversation::answered(const Outcome& asked, std::optional<bool> allowed) {
    if (is_task() && (!allowed || !undecided_)) return;
    if (!allowed || cancelled_) {
        finish(asked);
        return;
    }
    // What was no task when it was answered waits for nobody else's decision.
    const auto voted = [self = shared_from_this(), asked,
                        followed = is_task()](const Result<Approval>& vote) {
        if (followed) return;
        if (vote && !self->cancelled_)
            self->resume();  // what was refused ends so
        else
            self->finish(asked);
    };
    const std::string who = client_as_person(core_->options().context);
    Approvals& approvals = core_->runtime().approvals();
    if (*allowed)
        approvals.start_approve(asked.approval_id(), who, voted, core_->home(), Assurance::a1,
                                "allowed at the client");
    else
        approvals.start_deny(asked.approval_id(), who, voted, core_->home(), "refused at the client");
}

void Conversation::resume() {
    if (is_task()) changed();
    Context context = context_;
    context.idempotency_key.clear();  // the approval has it
    const InputAbilities can = abilities_;
    if (can.form || can.url || can.sampling || can.roots) context.input = shared_from_this();
    running_id_ = core_->runtime().start_resume(
        call_id_, std::move(context),
        Completion([self = shared_from_this()](Outcome outcome) { self->done(std::move(outcome)); },
                   core_->home()));
}

void Conversation::cancel() {
    if (outcome_) return;
    cancelled_ = true;
    if (!undecided_) {
        (void)core_->runtime().cancel(running_id_);
        return;
    }
    const Outcome asked = undecided_->asked;
    stop_waiting();
    end_undecided(asked);
}

// Nothing runs with its approval any more, so it has ended although the record is still to say so.
void Conversation::end_undecided(const Outcome& asked) {
    status_message_.clear();
    core_->runtime().approvals().start_revoke(asked.approval_id(), client_as_person(core_->options().context),
                                              {});
    OutcomeData data;
    data.state = State::cancelled;
    data.error = Error(ErrorCode::cancelled, "It was called off before anybody had decided about it.",
                       {{"reason", "called_off"}});
    data.tool = asked.tool();
    data.timestamp = asked.timestamp();
    data.duration = std::chrono::system_clock::now() - asked.timestamp();
    finish(Outcome(std::move(data)));
}

}  // namespace callgate::mcp
