#include "ledger/sqlite/transactions.h"

#include <utility>

#include "base/failpoint.h"
#include "base/try.h"
#include "ledger/digest.h"

namespace callgate::ledger {

Result<void> Transactions::claim(const PreparedClaim& prepared, ClaimReply& reply) {
    const ClaimRequest& request = prepared.request;
    CALLGATE_FAILPOINT_RETURN("ledger.before_claim");
    SqliteRows rows(*tables_, is_alive_,
                    {.prepared = prepared.events,
                     .key_hash = request.row.key.key.empty() ? nullptr : &prepared.key_hash});
    CALLGATE_TRY(claim_call(rows, request.row, request, reply));
    if (rows.recorded()) CALLGATE_FAILPOINT_RETURN("ledger.after_claim");
    return {};
}

Result<void> Transactions::dispatch(const DispatchRequest& request, DispatchReply& reply) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_dispatch");
    SqliteRows rows(*tables_, is_alive_, {.events = request.events});
    CALLGATE_TRY(dispatch_call(rows, request, reply));
    if (rows.recorded()) CALLGATE_FAILPOINT_RETURN("ledger.after_dispatch");
    return {};
}

Result<void> Transactions::settle(const PreparedSettle& prepared, SettleReply& reply) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_settle");
    SqliteRows rows(*tables_, is_alive_, {.prepared = prepared.events, .settle = &prepared});
    CALLGATE_TRY(settle_call(rows, prepared.request, prepared.request.outcome, reply));
    if (rows.recorded()) CALLGATE_FAILPOINT_RETURN("ledger.after_settle");
    return {};
}

Result<void> Transactions::conclude(const ConcludeRequest& request, ConcludeReply& reply) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_conclude");
    SqliteRows rows(*tables_, is_alive_, {.events = request.events});
    CALLGATE_TRY(conclude_call(rows, request, request.outcome, reply));
    if (rows.recorded()) CALLGATE_FAILPOINT_RETURN("ledger.after_conclude");
    return {};
}

Result<void> Transactions::open_approval(const OpenApprovalRequest& request, OpenApprovalReply& reply) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_approval_open");
    SqliteRows rows(*tables_, is_alive_, {.events = request.events});
    CALLGATE_TRY(ledger::open_approval(rows, request.approval, request.fingerprint, request.lifetime, reply));
    if (rows.recorded()) CALLGATE_FAILPOINT_RETURN("ledger.after_approval_open");
    return {};
}

Answered<Approval> Transactions::vote(std::string_view id, const Vote& vote, AuditEvent& event) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_vote");
    SqliteRows rows(*tables_, is_alive_, {});
    auto answer = cast_vote(rows, id, vote, event);
    if (answer && *answer) CALLGATE_FAILPOINT_RETURN("ledger.after_vote");
    return answer;
}

Answered<Approval> Transactions::revoke(std::string_view id, AuditEvent& event) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_revoke");
    SqliteRows rows(*tables_, is_alive_, {});
    auto answer = revoke_approval(rows, id, event);
    if (answer && *answer) CALLGATE_FAILPOINT_RETURN("ledger.after_revoke");
    return answer;
}

Answered<CallRow> Transactions::resolve(const CallId& call_id, bool applied,
                                        const std::shared_ptr<const StoredOutcome>& outcome,
                                        AuditEvent& event) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_resolve");
    SqliteRows rows(*tables_, is_alive_, {});
    auto answer = resolve_call(rows, call_id, applied, outcome, event);
    if (answer && *answer) CALLGATE_FAILPOINT_RETURN("ledger.after_resolve");
    return answer;
}

Result<void> Transactions::adopt(const AdoptRequest& request, AdoptReply& reply) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_adopt");
    SqliteRows rows(*tables_, is_alive_, {.events = std::span(&request.event, 1)});
    CALLGATE_TRY(adopt_call(rows, request.call_id, request.owner, reply));
    if (rows.recorded()) CALLGATE_FAILPOINT_RETURN("ledger.after_adopt");
    return {};
}

Result<Transactions::Recovered> Transactions::take_over_orphans(const CallId& after, std::size_t limit) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_recovery");
    Recovered done;
    CALLGATE_TRY_ASSIGN(const auto open, tables_->calls.open_calls(after, limit));
    for (const StoredCall& call : open) {
        ++done.seen;
        done.last = call.row.call_id;
        if (is_end(call.row.state) || is_alive_(call.row.owner)) continue;
        if (!ends_with_its_owner(call.row)) {
            ++done.left_to_claims;
            if (call.holds_key) tables_->notifications().ended_keys.push_back(hash_of(call.row.key));
            continue;
        }
        CALLGATE_TRY_ASSIGN(const CallState state, give_up(call));
        ++(state == CallState::unknown ? done.unknown : done.freed);
    }
    CALLGATE_FAILPOINT_RETURN("ledger.after_recovery");
    return done;
}

Result<std::int64_t> Transactions::collect(std::size_t limit) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_gc");
    const base::WallTime now = tables_->time().lived();
    CALLGATE_TRY_ASSIGN(const std::int64_t calls,
                        tables_->calls.bury_due(now, now + tables_->kept().tombstone_ttl, limit));
    CALLGATE_TRY_ASSIGN(const std::int64_t approvals,
                        tables_->approvals.drop_old(now - tables_->kept().approval_ttl, limit));
    CALLGATE_TRY_ASSIGN(const std::int64_t left, give_up_left(now - tables_->kept().key_ttl, limit));
    CALLGATE_FAILPOINT_RETURN("ledger.after_gc");
    return calls + approvals + left;
}

Result<CallState> Transactions::give_up(const StoredCall& call) {
    SqliteRows rows(*tables_, is_alive_, {});
    return give_up_call(rows, rows.edit(call));
}

// What was left to the next claim of its key, and no such claim came for as long as an outcome is kept:
// perhaps its tool is another now, so that no request has its fingerprint any more.
Result<std::int64_t> Transactions::give_up_left(base::WallTime begun_before, std::size_t limit) {
    std::int64_t given_up = 0;
    CALLGATE_TRY_ASSIGN(const auto left, tables_->calls.unfinished_before(begun_before, limit));
    for (const StoredCall& call : left) {
        if (is_alive_(call.row.owner)) continue;
        CALLGATE_TRY(give_up(call));
        ++given_up;
    }
    return given_up;
}

}  // namespace callgate::ledger
