#include "ledger/own_events.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/ids.h"

namespace callgate::ledger {

namespace {

AuditEvent event_about(const CallRow& row, std::string_view type, std::string_view detail) {
    AuditFacts event;
    event.type = type;
    event.outcome = "info";
    event.stage = "recovery";
    event.call_id = runner_of(row);
    event.tenant = row.key.tenant;
    event.principal = row.key.principal;
    event.tool = row.key.tool;
    event.action = row.action;
    event.approval_id = row.approval_id;
    event.has_key = !row.key.key.empty();
    event.attempt = row.attempt;
    event.detail = detail;
    return AuditEvent(event);
}

}  // namespace

AuditEvent event_of_giving_up(const CallRow& row) {
    if (row.state == CallState::unknown)
        return event_about(row, "tool_call.unknown", "Its owner ended while it ran.");
    return event_about(row, "tool_call.gap", "Its owner ended before it was sent.");
}

AuditFacts facts_about(const Approval& approval) {
    AuditFacts event;
    event.outcome = "info";
    event.stage = "approval";
    event.approval_id = approval.id;
    if (const auto id = base::parse_uuid(approval.call_id)) event.call_id = id->bytes;
    event.trace_id = approval.trace_id;
    event.tenant = approval.tenant;
    event.task_id = approval.task_id;
    event.step_id = approval.step_id;
    event.tool = approval.tool;
    event.action = approval.action;
    event.risk = approval.risk;
    event.autonomy = approval.autonomy;
    return event;
}

AuditEvent event_of_superseding(const Approval& approval) {
    AuditFacts event = facts_about(approval);
    event.type = "approval.superseded";
    event.principal = approval.requester;
    const std::string detail = fmt::format("Approval {} takes its place.", approval.superseded_by);
    event.detail = detail;
    return AuditEvent(event);
}

AuditEvent event_of_tampering(std::string_view approval_id, const CallId& call_id) {
    AuditFacts event;
    event.type = "approval.tampered";
    event.outcome = "failure";
    event.stage = "ledger";
    event.call_id = call_id;
    event.approval_id = approval_id;
    event.detail = "Its record in the file is not what this program wrote.";
    return AuditEvent(event);
}

AuditEvent event_of_take_over(const CallRow& row, const CallId& by) {
    return event_about(row, "tool_call.gap",
                       fmt::format("Call {} goes on with it.", base::Uuid{by}.to_string()));
}

AuditEvent event_of_clock_jump(const ClockJump& jump) {
    const std::string sentence = jump.sentence();
    AuditFacts event;
    event.type = "ledger.clock_jumped";
    event.outcome = "info";
    event.stage = "ledger";
    event.detail = sentence;
    return AuditEvent(event);
}

}  // namespace callgate::ledger
