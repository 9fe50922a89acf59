// What people decide about approvals and unknown outcomes, with the event that goes on the record with it.
//
// Whoever takes a decision in, the runtime's own durable or the control socket, does it through these, so
// that the record reads the same. The event is passed on only after it is on the record.
//
// Threads: may be called from any thread; all may block.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <callgate/approvals.h>
#include <callgate/observer.h>

#include "ledger/ledger.h"

namespace callgate::ledger {

/// Is notified of an event that is on the record. The event is valid only during the call.
using EventSink = std::function<void(const AuditEvent&)>;

/// approval.vote or gate.denied. As Ledger::vote; a vote that changes nothing notifies nobody.
Result<Approval> cast_vote(Ledger& ledger, std::string_view approval_id, Vote vote, const EventSink& sink);

/// approval.revoked. As Ledger::revoke.
Result<Approval> take_back(Ledger& ledger, std::string_view approval_id, std::string_view by,
                           std::string_view reason, const EventSink& sink);

/// tool_call.resolved: a person's finding about an unknown outcome. invalid_arguments for a text that is no
/// id; denied {reason: no_such_call | not_unknown}.
Result<CallRow> resolve_unknown(Ledger& ledger, std::string_view call_id, bool applied, std::string_view by,
                                std::string_view evidence, const EventSink& sink);

}  // namespace callgate::ledger
