// What a ledger itself puts on the record: what became of a call whose owner is gone, and of an approval
// whose place another took, and that somebody has set the machine's clock. Whatever else changes a row comes
// with its caller's events.
//
// Threads: pure functions.
#pragma once

#include <callgate/approvals.h>
#include <callgate/observer.h>

#include "ledger/call_row.h"
#include "ledger/ledger_time.h"

namespace callgate::ledger {

/// What every event about an approval says, whoever decides; its texts are the approval's.
AuditFacts facts_about(const Approval& approval);
/// Given up: `row` is as it was left, unknown or free again.
AuditEvent event_of_giving_up(const CallRow& row);
/// approval.superseded: `approval` is as it was left, and names the one that took its place.
AuditEvent event_of_superseding(const Approval& approval);
/// approval.tampered: found for this call; zeros: for none.
AuditEvent event_of_tampering(std::string_view approval_id, const CallId& call_id);
/// Another call with its key goes on with it: under the id of who ran it before, who has no other end.
AuditEvent event_of_take_over(const CallRow& row, const CallId& by);
/// Said once, so that times that do not follow each other can be explained.
AuditEvent event_of_clock_jump(const ClockJump& jump);

}  // namespace callgate::ledger
