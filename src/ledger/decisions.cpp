#include "ledger/decisions.h"

#include <memory>
#include <utility>

#include "base/ids.h"
#include "base/try.h"
#include "ledger/own_events.h"

namespace callgate::ledger {
namespace {

// Owns its texts.
AuditEvent event_about(const Approval& approval, std::string_view type, std::string_view by,
                       std::string_view reason) {
    AuditFacts event = facts_about(approval);
    event.type = type;
    event.principal = by;
    event.detail = reason;
    return AuditEvent(event);
}

void notify(const EventSink& sink, const AuditEvent& event) {
    if (sink) sink(event);
}

std::shared_ptr<const StoredOutcome> finding(const CallRow& row, bool applied) {
    auto stored = std::make_shared<StoredOutcome>();
    stored->call_id = row.call_id;
    stored->attempts = row.attempt;
    stored->succeeded = applied;
    stored->state = applied ? State::succeeded : State::failed;
    if (applied) {
        stored->result.value = "A person found that this call took effect; its own answer is not known.";
    } else {
        stored->error = Error(ErrorCode::tool_error, "A person found that this call did not take effect.",
                              {{"reason", "resolved_not_applied"}});
    }
    return stored;
}

}  // namespace

Result<Approval> cast_vote(Ledger& ledger, std::string_view approval_id, Vote vote, const EventSink& sink) {
    CALLGATE_TRY_ASSIGN(const auto approval, ledger.approval(approval_id));
    AuditEvent event =
        event_about(approval, vote.approve ? "approval.vote" : "gate.denied", vote.approver, vote.reason);
    auto voted = ledger.vote(approval_id, std::move(vote), event);
    if (voted && event.sequence != 0) notify(sink, event);
    return voted;
}

Result<Approval> take_back(Ledger& ledger, std::string_view approval_id, std::string_view by,
                           std::string_view reason, const EventSink& sink) {
    CALLGATE_TRY_ASSIGN(const auto approval, ledger.approval(approval_id));
    AuditEvent event = event_about(approval, "approval.revoked", by, reason);
    auto revoked = ledger.revoke(approval_id, by, event);
    if (revoked) notify(sink, event);
    return revoked;
}

Result<CallRow> resolve_unknown(Ledger& ledger, std::string_view call_id, bool applied, std::string_view by,
                                std::string_view evidence, const EventSink& sink) {
    CALLGATE_TRY_ASSIGN(const auto id, base::parse_uuid(call_id));
    auto row = ledger.find(id.bytes);
    if (!row && !is_not_found(row.error())) return row;
    if (!row) return fail(ErrorCode::denied, "There is no call with this id.", {{"reason", "no_such_call"}});
    AuditEvent event;
    event.type = "tool_call.resolved";
    event.outcome = "info";
    event.stage = "operator";
    event.call_id = row->call_id;
    event.tenant = row->key.tenant;
    event.principal = by;
    event.tool = row->key.tool;
    event.action = row->action;
    const std::string found = std::string(applied ? "applied: " : "not applied: ") + std::string(evidence);
    event.detail = found;
    auto resolved = ledger.resolve(id.bytes, applied, finding(*row, applied), event);
    if (resolved) notify(sink, event);
    return resolved;
}

}  // namespace callgate::ledger
