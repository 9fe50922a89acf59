// What each operation of the ledger does, once for all stores: reads the rows it needs, lets the rules decide
// (state_machine.h, approval_rules.h), and stores the decision with its events.
//
// Each is one step for everybody else: the caller holds the lock, or is inside a transaction. An error undoes
// all of it; what `reply.error`, or the inner result of an Answered, says is an answer, and what was recorded
// with it stands. Each may be run again from the start: nothing that a request refers to is changed, except
// the number of an event.
//
// Threads: as their RowStore.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/try.h"
#include "ledger/ledger.h"
#include "ledger/row_store.h"

namespace callgate::ledger {

template <class T>
using Answered = Result<Result<T>>;
template <class T>
Result<T> flattened(Answered<T> answer) {
    CALLGATE_TRY_ASSIGN(Result<T> inner, std::move(answer));
    return inner;
}

/// C1 and C2, and C3 where the terms say so. `claimant` is ClaimRequest::row.
Result<void> claim_call(RowStore& store, CallRow claimant, const ClaimTerms& terms, ClaimReply& reply);
/// C3
Result<void> dispatch_call(RowStore& store, const DispatchRequest& request, DispatchReply& reply);
/// C4. `outcome` is the request's.
Result<void> settle_call(RowStore& store, const SettleRequest& request,
                         std::shared_ptr<const StoredOutcome> outcome, SettleReply& reply);
/// C5. `outcome` is the request's.
Result<void> conclude_call(RowStore& store, const ConcludeRequest& request,
                           std::shared_ptr<const StoredOutcome> outcome, ConcludeReply& reply);
/// C2 for one call in doubt; nothing if it is not in doubt any more.
Result<void> adopt_call(RowStore& store, const CallId& call_id, OwnerId owner, AdoptReply& reply);
/// C2 for a call that nobody goes on with. `row` was found by `store`. What it has become.
Result<CallState> give_up_call(RowStore& store, CallRow& row);
/// A person's finding about an unknown outcome.
Answered<CallRow> resolve_call(RowStore& store, const CallId& call_id, bool applied,
                               std::shared_ptr<const StoredOutcome> outcome, AuditEvent& event);

/// `wanted` is OpenApprovalRequest::approval.
Result<void> open_approval(RowStore& store, Approval wanted, const base::Sha256Digest& fingerprint,
                           std::chrono::milliseconds lifetime, OpenApprovalReply& reply);
/// The event gets its number if the vote counts.
Answered<Approval> cast_vote(RowStore& store, std::string_view id, const Vote& vote, AuditEvent& event);
Answered<Approval> revoke_approval(RowStore& store, std::string_view id, AuditEvent& event);

/// denied {reason: not_found}.
tl::unexpected<Error> no_such_approval(std::string_view id);
/// ledger_unavailable {reason: owner_not_alive}.
Error owner_not_alive();

}  // namespace callgate::ledger
