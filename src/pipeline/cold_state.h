// What only some calls come to have: those with a key, an approval or a limit, and those that fail. Made when
// first needed; most calls do without.
//
// Threads: the call's own. What the ledger replies into is the ledger's until it has replied.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <callgate/observer.h>
#include <callgate/result.h>

#include "base/clock.h"
#include "ledger/ledger.h"
#include "policy/decide.h"
#include "policy/memory.h"

namespace callgate::pipeline {

class KeyWaiter;

struct ColdState {
    // What passes between the call and the ledger.
    ledger::PeekReply peek;
    ledger::ClaimReply claimed;
    ledger::OpenApprovalReply opened;
    AuditEvent opened_event;
    ledger::DispatchReply dispatched;
    ledger::ConcludeReply concluded;
    std::string request_hash;
    std::vector<std::string> filled;  ///< with a key: the arguments that are the schema's defaults (validate)
    /// The fingerprint under which this request is on record, where that is not the call's (replay).
    std::optional<base::Sha256Digest> recorded_as;
    bool other_print_tried = false;
    ledger::ClaimVerdict verdict_of_own{};  ///< under its own
    std::vector<AuditEvent> claim_events;
    std::shared_ptr<KeyWaiter> key_waiter;  ///< waits, or has waited, for another call with its key
    ledger::WaitReply key_wait;
    ledger::ApprovalReply approval;  ///< the one this call may use
    bool by_plain_key = false;       ///< goes on under the origin's plain_key: something is on record there
    bool plain_key_free = false;     ///< there was nothing when it was last looked at

    // classify, gate
    policy::PredicateLog predicates;
    std::string trace_for_predicates;  ///< the call's own id, where its context has no trace
    std::string predicate_record;      ///< for the audit

    // The gate.
    std::optional<ledger::ApprovalUse> approval_use;
    std::string grant_id;
    policy::Limiter::Ticket ticket;
    policy::ResourceQueue::Hold hold;
    std::string waits_for_resource;

    // Attempts that failed.
    ToolFailure last_failure;
    std::optional<ToolResult> failed_with;  ///< the content of the one that ends the call
    std::optional<base::MonotonicTime> retry_at;
    base::MonotonicTime undo_until{};
    /// A call that was called off: until when its tool may still say what came of it.
    std::optional<base::MonotonicTime> grace_until;
};

}  // namespace callgate::pipeline
