#include "pipeline/approval_gate.h"

#include <fmt/format.h>

#include "base/guard.h"
#include "base/ids.h"
#include "ledger/digest.h"
#include "pipeline/key.h"
#include "pipeline/resolve.h"

namespace callgate::pipeline {
namespace {

CallId call_id_of(const Approval& approval) {
    const auto id = base::parse_uuid(approval.call_id);
    return id ? id->bytes : CallId{};
}

bool same_caller(const Call& call, const Approval& approval) {
    return approval.tenant == call.request.context->tenant &&
           approval.requester == call.request.context->principal;
}

std::optional<ledger::ApprovalVerdict> standing(const Approval& approval, base::WallTime now) {
    switch (approval.state) {
        case ApprovalState::pending:
            return approval.expires_at <= now ? ledger::ApprovalVerdict::expired
                                              : ledger::ApprovalVerdict::pending;
        case ApprovalState::approved:
            if (approval.expires_at <= now) return ledger::ApprovalVerdict::expired;
            return std::nullopt;
        case ApprovalState::denied: return ledger::ApprovalVerdict::denied;
        case ApprovalState::expired: return ledger::ApprovalVerdict::expired;
        case ApprovalState::consumed: return ledger::ApprovalVerdict::consumed;
        case ApprovalState::revoked: return ledger::ApprovalVerdict::revoked;
        case ApprovalState::superseded: return ledger::ApprovalVerdict::superseded;
    }
    return ledger::ApprovalVerdict::not_found;
}

bool is_handed_in(const Call& call) {
    return call.request.origin && call.request.origin->direct;
}

}  // namespace

std::string approval_digest(const Call& call, const CallId& asked_by, bool handed_in) {
    const Context& context = *call.request.context;
    ledger::ActionIdentity action(ledger::RequestIdentity(call.tool->name(), call.tool->definition_hash(),
                                                          call.outcome.action, *call.arguments),
                                  context.tenant, context.principal, asked_by);
    action.server_identity = call.tool->contract().server;
    if (CALLGATE_GUARD(digest_connector)) action.connector = call.tool->contract().connector_id;
    if (CALLGATE_GUARD(digest_config_ref)) action.config_ref = call.tool->contract().config_ref;
    action.version = call.tool->tool().version();
    action.resolved_targets = {target_text(call)};
    action.effect = call.effect;
    // How many votes the current rules ask for, and with which assurance: fewer or weaker ones do not
    // approve this call.
    const std::string decision = fmt::format("{}:{}:{}", to_string(call.answer.gate), call.answer.approvals,
                                             to_string(call.answer.assurance));
    action.decision = decision;
    if (call.answer.rule != nullptr) action.rule_id = call.answer.rule->identity;
    action.risk = call.risk.risk;
    action.idempotency_key = context.idempotency_key;
    action.handed_in = handed_in;
    return ledger::action_digest(action);
}

ledger::Io look_for_approval(Call& call) {
    const Context& context = *call.request.context;
    need_fingerprint(call);
    call.cold().approval = {};
    if (call.resumes()) {
        call.cold().approval.approval = *call.request.origin->approval;
        return ledger::Io::done;
    }
    return call.core->ledger().open_approval_for(context.tenant, context.principal, call.fingerprint,
                                                 context.idempotency_key, call.cold().approval, call);
}

std::optional<Step> use_given_approval(Call& call) {
    if (call.cold().approval.error) return call.refuse(std::move(*call.cold().approval.error));
    if (auto why = call.stopped_meanwhile()) return call.refuse(std::move(*why));
    const bool resumed = call.resumes();
    const std::optional<Approval>& given = call.cold().approval.approval;
    if (!given) return std::nullopt;
    const auto fault = standing(*given, call.core->clock().wall_now());
    if (fault == ledger::ApprovalVerdict::pending && !resumed) return std::nullopt;
    call.outcome.approval_id = given->id;
    if (fault) {
        Error error = approval_error(*fault, given->id);
        if (!given->superseded_by.empty()) error.details["superseded_by"] = given->superseded_by;
        return call.refuse(std::move(error));
    }
    const std::string digest = approval_digest(call, call_id_of(*given), is_handed_in(call));
    if (digest != given->digest || !same_caller(call, *given)) {
        if (!resumed) {
            call.outcome.approval_id.clear();
            return std::nullopt;
        }
        // Another body may have the name of the one that was handed in: it was not what was approved.
        if (approval_digest(call, call_id_of(*given), true) == given->digest)
            return call.refuse(only_handed_in(call));
        return call.refuse(approval_error(ledger::ApprovalVerdict::other_call, given->id));
    }
    call.cold().approval_use = ledger::ApprovalUse{given->id, digest};
    call.core->counters.gate.by_approval.add();
    call.note("gate", "approved", "approval " + given->id);
    return Step::next;
}

ledger::OpenApprovalRequest approval_request(Call& call) {
    const Context& context = *call.request.context;
    ledger::OpenApprovalRequest request;
    need_fingerprint(call);
    request.fingerprint = call.fingerprint;
    request.lifetime = call.rules->config().approval_ttl;
    Approval& approval = request.approval;
    approval.id = call.core->ids.next().to_string();
    approval.call_id = base::Uuid{call.id}.to_string();
    approval.tenant = context.tenant;
    approval.requester = context.principal;
    approval.scopes = context.scopes;
    approval.tool = call.outcome.tool;
    approval.action = call.outcome.action;
    approval.arguments = *call.arguments;
    approval.digest = approval_digest(call, call.id, is_handed_in(call));
    approval.binding = approval_digest(call, CallId{}, is_handed_in(call));
    approval.risk = call.risk.risk;
    approval.autonomy = context.autonomy;
    approval.why = policy::reason(call.answer, call.question(), call.risk.risk);
    approval.how_to_approve =
        fmt::format("approve {} as somebody other than {}", approval.id, context.principal);
    approval.trace_id = context.trace_id.empty() ? approval.call_id : context.trace_id;
    approval.task_id = context.task_id;
    approval.step_id = context.step_id;
    approval.idempotency_key = context.idempotency_key;
    approval.policy_rev = call.rules->revision();
    approval.approvals_needed = call.answer.approvals;
    approval.assurance_needed = call.answer.assurance;
    approval.preview = call.outcome.preview;
    return request;
}

Error approval_error(ledger::ApprovalVerdict verdict, std::string_view id) {
    Object details{{"approval_id", id}, {"reason", ledger::to_string(verdict)}};
    switch (verdict) {
        case ledger::ApprovalVerdict::pending:
            return {ErrorCode::approval_required, "Nobody has decided about this call yet.",
                    std::move(details)};
        case ledger::ApprovalVerdict::denied:
            return {ErrorCode::approval_denied, "A person refused this call.", std::move(details)};
        case ledger::ApprovalVerdict::expired:
            return {ErrorCode::approval_expired, "The approval of this call has expired.",
                    std::move(details)};
        case ledger::ApprovalVerdict::consumed:
            return {ErrorCode::denied,
                    "The approval of this call has been used already; an approval serves once.",
                    std::move(details)};
        case ledger::ApprovalVerdict::revoked:
            return {ErrorCode::denied, "The approval of this call was taken back.", std::move(details)};
        case ledger::ApprovalVerdict::superseded:
            return {ErrorCode::denied,
                    "What the approval of this call was bound to has changed, and another approval took its "
                    "place when the call was made again. Make the call again to use that one.",
                    std::move(details)};
        case ledger::ApprovalVerdict::other_call:
            return {ErrorCode::denied,
                    "The approval was given for another call: the arguments, the tool, the rule or the "
                    "target changed "
                    "since. Ask again.",
                    std::move(details)};
        case ledger::ApprovalVerdict::tampered:
            return {ErrorCode::denied,
                    "The approval of this call says approved, and its votes do not: it is not used. Ask "
                    "again.",
                    std::move(details)};
        default: return {ErrorCode::denied, "There is no such approval.", std::move(details)};
    }
}

}  // namespace callgate::pipeline
