#include "pipeline/runtime_approvals.h"

#include "ledger/decisions.h"
#include "pipeline/approval_watch.h"
#include "pipeline/call.h"
#include "pipeline/projection.h"

namespace callgate::pipeline {

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
    Vote yes;
    yes.approver = std::string(approver);
    yes.assurance = assurance;
    yes.reason = std::string(reason);
    return vote(id, std::move(yes));
}

Result<Approval> RuntimeApprovals::deny(std::string_view id, std::string_view approver,
                                        std::string_view reason) {
    Vote no;
    no.approver = std::string(approver);
    no.approve = false;
    no.reason = std::string(reason);
    return vote(id, std::move(no));
}

Result<Approval> RuntimeApprovals::revoke(std::string_view id, std::string_view by) {
    return ledger::take_back(core_->ledger(), id, by, {},
                             [this](const AuditEvent& event) { project_audit(*core_, event); });
}

Result<Approval> RuntimeApprovals::approve_edited(std::string_view id, Args arguments,
                                                  std::string_view approver, Assurance assurance,
                                                  std::string_view reason) {
    const auto approval = core_->ledger().approval(id);
    if (!approval) return approval;
    // Other arguments are another call: checked and decided again, in the requester's name.
    Request request;
    request.tool = approval->tool;
    request.action = approval->action;
    request.arguments = std::move(arguments);
    request.purpose = Purpose::ask;
    Context context;
    context.tenant = approval->tenant;
    context.principal = approval->requester;
    context.scopes = approval->scopes;
    context.autonomy = approval->autonomy;
    context.trace_id = approval->trace_id;
    context.task_id = approval->task_id;
    context.step_id = approval->step_id;
    context.idempotency_key = approval->idempotency_key;
    request.context = share(std::move(context));
    request.from().key_as_it_is = true;
    const Outcome asked = core_->run(std::move(request));
    if (asked.approval_id().empty()) return tl::unexpected(*asked.error());
    auto approved = approve(asked.approval_id(), approver, assurance, reason);
    if (!approved) return approved;
    // Only now: a faulty edit leaves the request as it was.
    if (asked.approval_id() != id) (void)revoke(id, approver);
    return approved;
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
    core_->approval_watch->when_decided(std::move(id), std::move(done), timeout, std::move(cancel));
}

Result<std::shared_ptr<void>> RuntimeApprovals::on_change(Listener listener) {
    return core_->approval_watch->on_change(std::move(listener));
}

}  // namespace callgate::pipeline
