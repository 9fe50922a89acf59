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
    if (cancelled_) return false;
    if (task_ == Task::wanted) on_record();  // a request for an approval is on the record
    if (is_task()) {
        follow_approval(asked);
        return true;
    }
    return ask_for_approval(asked);
}

// A person decides, and the task goes on with what they decided.
void Conversation::follow_approval(const Outcome& asked) {
    status_message_ = fmt::format("waits for approval {}", asked.approval_id());
    changed();
    core_->runtime().approvals().when_decided(asked.approval_id(), [self = shared_from_this(),
                                                                    asked](Result<Approval> decided) {
        self->core_->at_home([self, asked, approved = decided && decided->state == ApprovalState::approved] {
            self->status_message_.clear();
            if (approved && !self->cancelled_)
                self->resume();
            else
                self->finish(asked);
        });
    });
}

// What a person at the client says counts as the client's word: A1, and only where that is enough.
bool Conversation::ask_for_approval(const Outcome& asked) {
    if (!core_->options().approve_by_client || !abilities().form || asked_for_approval_ ||
        exchange_ == nullptr || !client_may_decide(asked))
        return false;
    asked_for_approval_ = true;
    offered_.clear();  // nobody has seen this question yet
    const auto question = std::make_shared<ApprovalQuestion>(
        asked,
        [self = shared_from_this(), asked](std::optional<bool> allowed) { self->decided(asked, allowed); });
    approval_question_ = question;
    this->asked(question);
    return true;
}

void Conversation::decided(const Outcome& asked, std::optional<bool> allowed) {
    if (!allowed || cancelled_) {
        finish(asked);
        return;
    }
    const auto voted = [self = shared_from_this(), asked](const Result<Approval>& vote) {
        if (vote && !self->cancelled_)
            self->resume();  // what was refused ends so
        else
            self->finish(asked);
    };
    const std::string who = "client:" + core_->options().context.principal;
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

}  // namespace callgate::mcp
