#include "pipeline/runtime_approvals.h"

#include "base/try.h"
#include "ledger/approval_rules.h"
#include "ledger/decisions.h"
#include "pipeline/approval_watch.h"
#include "pipeline/call.h"
#include "pipeline/projection.h"

namespace callgate::pipeline {

namespace {

// Other arguments are another call: checked and decided again, in the requester's name.
Request edited(const Approval& approval, Args arguments) {
    Request request;
    request.tool = approval.tool;
    request.action = approval.action;
    request.arguments = std::move(arguments);
    request.purpose = Purpose::ask;
    Context context;
    context.tenant = approval.tenant;
    context.principal = approval.requester;
    context.scopes = approval.scopes;
    context.autonomy = approval.autonomy;
    context.trace_id = approval.trace_id;
    context.task_id = approval.task_id;
    context.step_id = approval.step_id;
    context.idempotency_key = approval.idempotency_key;
    request.context = share(std::move(context));
    request.from().key_as_it_is = true;
    return request;
}

Vote yes_of(std::string approver, Assurance assurance, std::string reason) {
    Vote yes;
    yes.approver = std::move(approver);
    yes.assurance = assurance;
    yes.reason = std::move(reason);
    return yes;
}

Vote no_of(std::string approver, std::string reason) {
    Vote no;
    no.approver = std::move(approver);
    no.approve = false;
    no.reason = std::move(reason);
    return no;
}

}  // namespace

Result<std::vector<Approval>> RuntimeApprovals::list(std::optional<ApprovalState> state) const {
    return core_->ledger().approvals(state);
}

Result<Approval> RuntimeApprovals::get(std::string_view id) const {
    return core_->ledger().approval(id);
}

Result<Approval> RuntimeApprovals::vote(std::string_view id, Vote vote) {
    vote.at = core_->clock().wall_now();
    return ledger::cast_vote(core_->ledger(), id, std::move(vote),
                             [this](const AuditEvent& event) { project_audit(*core_, event); });
}

Result<Approval> RuntimeApprovals::approve(std::string_view id, std::string_view approver,
                                           Assurance assurance, std::string_view reason) {
    return vote(id, yes_of(std::string(approver), assurance, std::string(reason)));
}

Result<Approval> RuntimeApprovals::deny(std::string_view id, std::string_view approver,
                                        std::string_view reason) {
    return vote(id, no_of(std::string(approver), std::string(reason)));
}

void RuntimeApprovals::start_approve(std::string id, std::string approver, Decided done, Executor executor,
                                     Assurance assurance, std::string reason) {
    start_vote(std::move(id), yes_of(std::move(approver), assurance, std::move(reason)), std::move(done),
               std::move(executor));
}

void RuntimeApprovals::start_deny(std::string id, std::string approver, Decided done, Executor executor,
                                  std::string reason) {
    start_vote(std::move(id), no_of(std::move(approver), std::move(reason)), std::move(done),
               std::move(executor));
}

// A vote may wait for the disk, so a thread that may block casts it. This may be gone by then.
void RuntimeApprovals::start_vote(std::string id, Vote vote, Decided done, Executor executor) {
    core_->answer_later<Result<Approval>>(
        [id = std::move(id), vote = std::move(vote)](const std::shared_ptr<Runtime::Core>& core) {
            return RuntimeApprovals(core).vote(id, vote);
        },
        std::move(done), std::move(executor));
}

Result<Approval> RuntimeApprovals::revoke(std::string_view id, std::string_view by) {
    return ledger::take_back(core_->ledger(), id, by, {},
                             [this](const AuditEvent& event) { project_audit(*core_, event); });
}

void RuntimeApprovals::start_revoke(std::string id, std::string by, Decided done, Executor executor) {
    core_->answer_later<Result<Approval>>(
        [id = std::move(id), by = std::move(by)](const std::shared_ptr<Runtime::Core>& core) {
            return RuntimeApprovals(core).revoke(id, by);
        },
        std::move(done), std::move(executor));
}

Result<Approval> RuntimeApprovals::approve_edited(std::string_view id, Args arguments,
                                                  std::string_view approver, Assurance assurance,
                                                  std::string_view reason) {
    // Whoever may not decide about it may not edit it either, and what is decided is not opened again.
    CALLGATE_TRY_ASSIGN(const Approval before, core_->ledger().approval(id));
    CALLGATE_TRY(would_count(before, approver, assurance));
    const Outcome asked = core_->run(edited(before, std::move(arguments)));
    if (asked.approval_id().empty()) return tl::unexpected(*asked.error());
    if (asked.approval_id() == id) return approve(id, approver, assurance, reason);

    CALLGATE_TRY_ASSIGN(const Approval after, core_->ledger().approval(asked.approval_id()));
    const auto given_up = [&](Error why) -> Result<Approval> {
        // Unless somebody asked for just that before.
        if (after.call_id == asked.call_id()) (void)revoke(after.id, approver);
        return tl::unexpected(std::move(why));
    };
    // A faulty edit leaves the request as it was. A good one takes its place before it is approved: never can
    // both be used.
    if (auto counts = would_count(after, approver, assurance); !counts) return given_up(counts.error());
    if (auto revoked = revoke(id, approver); !revoked) return given_up(revoked.error());
    return approve(after.id, approver, assurance, reason);
}

// By a copy: what the vote would say.
Result<void> RuntimeApprovals::would_count(Approval approval, std::string_view approver,
                                           Assurance assurance) const {
    Vote yes;
    yes.approver = std::string(approver);
    yes.assurance = assurance;
    CALLGATE_TRY(ledger::vote(approval, std::move(yes), core_->ledger().approval_time()));
    return {};
}

// The runtime, and this with it, may go while a thread waits.
Result<Approval> RuntimeApprovals::wait(std::string_view id, std::optional<std::chrono::milliseconds> timeout,
                                        std::stop_token cancel) {
    const std::shared_ptr<Runtime::Core> core = core_;
    return core->approval_watch->wait(id, timeout, cancel);
}

void RuntimeApprovals::when_decided(std::string id, std::function<void(Result<Approval>)> done,
                                    std::optional<std::chrono::milliseconds> timeout,
                                    std::stop_token cancel) {
    core_->approval_watch->when_decided(id, std::move(done), timeout, std::move(cancel));
}

Result<std::shared_ptr<void>> RuntimeApprovals::on_change(Listener listener) {
    return core_->approval_watch->on_change(std::move(listener));
}

}  // namespace callgate::pipeline
