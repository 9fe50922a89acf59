#include "ledger/sqlite/sqlite_rows.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/failpoint.h"
#include "base/try.h"
#include "ledger/approval_sinks.h"
#include "ledger/digest.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/restore.h"

namespace callgate::ledger {

namespace {

/// `stored`: a statement's answer, whether the row was as it had been found.
Result<void> in_step(Result<bool> stored, std::string_view step) {
    CALLGATE_TRY_ASSIGN(const bool as_found, std::move(stored));
    if (as_found) return {};
    return fail(ErrorCode::ledger_unavailable,
                fmt::format("The ledger's file did not have what its rules had seen ({}).", step),
                {{"reason", "out_of_step"}, {"operation", step}});
}

}  // namespace

CallRow& SqliteRows::edit(StoredCall call) {
    call_ = std::move(call);
    row_ = call_->row;
    return row_;
}

Result<Standing> SqliteRows::find_standing(const CallRow& claimant, std::optional<Error>& held) {
    call_.reset();
    Standing standing;
    if (request_.key_hash != nullptr) {
        CALLGATE_TRY_ASSIGN(call_, tables_.calls.by_key(*request_.key_hash));
        const base::WallTime now = time().lived();
        // One that has expired is buried on the way: it counts as spent.
        if (call_ && call_->row.expires_at != base::WallTime() && call_->row.expires_at <= now) {
            CALLGATE_TRY(tables_.calls.bury(*call_, call_->row.expires_at + tables_.kept().tombstone_ttl));
            call_.reset();
        }
        if (!call_) {
            CALLGATE_TRY_ASSIGN(standing.spent, tables_.calls.is_spent(*request_.key_hash, now));
        }
    }
    CALLGATE_TRY_ASSIGN(held, lost_in_gap(tables_, tables_.calls, claimant.key.key, claimant.fingerprint,
                                          call_ ? &*call_ : nullptr, standing.spent));
    if (!call_) return standing;
    standing.row = &call_->row;
    standing.owner_alive = is_alive(call_->row.owner);
    standing.stale = is_stale(call_->row, time(), tables_.kept());
    return standing;
}

Result<std::optional<Error>> SqliteRows::load_outcome() {
    auto loaded = tables_.calls.load_outcome(*call_);
    if (loaded) return std::nullopt;
    if (loaded.error().details.contains("sqlite")) return tl::unexpected(std::move(loaded.error()));
    return std::move(loaded.error());
}

Result<void> SqliteRows::insert(const CallRow& row) {
    CALLGATE_TRY_ASSIGN(const bool inserted, tables_.calls.insert(row, request_.key_hash));
    if (inserted) return {};
    // An approval was perhaps used before: all of it is undone.
    return fail(ErrorCode::internal, "A call with this id is in the ledger already.",
                {{"reason", "call_id_taken"}});
}

// C2, and C3 as a statement of its own: each is fenced by what the row was before it.
Result<void> SqliteRows::take_over_standing(const CallRow& after) {
    const CallRow& before = call_->row;
    CallRow taken = after;
    if (taken.state == CallState::dispatched) {
        taken.state = CallState::claimed;
        --taken.attempt;
    }
    CALLGATE_TRY(in_step(tables_.calls.take_over(before, taken), "take-over"));
    CALLGATE_TRY(tables_.calls.end_attempt(before, before.attempt, "unknown", time().wall()));
    if (after.state == CallState::dispatched)
        CALLGATE_TRY(in_step(tables_.calls.dispatch(taken, after, time().wall()), "dispatch"));
    if (is_end(after.state)) tables_.notifications().ended_keys.push_back(*request_.key_hash);
    return {};
}

Result<RowStore::FoundCall> SqliteRows::find_call(const CallId& call_id) {
    CALLGATE_TRY_ASSIGN(call_, tables_.calls.by_id(call_id));
    if (!call_) return FoundCall{};
    row_ = call_->row;
    return FoundCall{&row_, call_->restored};
}

Result<void> SqliteRows::store_dispatch(const CallRow& row) {
    return in_step(tables_.calls.dispatch(call_->row, row, time().wall()), "dispatch");
}

Result<void> SqliteRows::store_adoption(const CallRow& row) {
    return in_step(tables_.calls.take_over(call_->row, row), "take-over");
}

Result<void> SqliteRows::store_end(CallRow& row, Keep keep, const std::optional<AttemptResult>& attempt) {
    // When it is no longer of use. Unknown ones stay until somebody resolves them.
    std::optional<base::WallTime> expires;
    if (is_end(row.state) && row.state != CallState::unknown)
        expires = time().lived() + tables_.kept().key_ttl;
    const SealedOutcome* sealed = nullptr;
    if (request_.settle != nullptr) {
        const auto& outcome = request_.settle->request.outcome;
        if (row.outcome == outcome) sealed = &request_.settle->outcome;
        outcome_dropped_ = row.outcome == nullptr && outcome != nullptr;
    }
    CALLGATE_TRY(in_step(tables_.calls.store(*call_, row, keep == Keep::never, expires, sealed), "settle"));
    if (is_end(row.state) && call_->holds_key) tables_.notifications().ended_keys.push_back(hash_of(row.key));
    if (!attempt) return {};
    return tables_.calls.end_attempt(row, attempt->attempt, attempt->how, time().wall());
}

Result<RowStore::FoundApproval> SqliteRows::found(Result<std::optional<Approval>> read, std::string_view id) {
    if (!read && is_tampered(read.error())) {
        if (!id.empty()) return FoundApproval{nullptr, std::string(id)};
        return FoundApproval{nullptr, std::string(read.error().details.at("approval_id").as_string())};
    }
    CALLGATE_TRY_ASSIGN(approval_, std::move(read));
    return FoundApproval{approval_ ? &*approval_ : nullptr, {}};
}

Result<RowStore::FoundApproval> SqliteRows::find_approval(std::string_view id) {
    return found(tables_.approvals.find(id, kAsWritten), id);
}

Result<RowStore::FoundApproval> SqliteRows::find_approval_to_use(std::string_view id) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_approval_use");
    CALLGATE_TRY_ASSIGN(FoundApproval use, find_approval(id));
    if (use.approval == nullptr) return use;
    CALLGATE_TRY_ASSIGN(const bool on_record, votes_are_on_record(id));
    if (!on_record) return FoundApproval{nullptr, std::string(id)};
    return use;
}

// Each vote was written with an event of this ledger's own audit. One that has been archived since is not
// there to ask, and the vote's MAC has to do.
Result<bool> SqliteRows::votes_are_on_record(std::string_view approval_id) {
    CALLGATE_TRY_ASSIGN(const auto marks, tables_.approvals.marks_of(approval_id));
    CALLGATE_TRY_ASSIGN(const auto first, tables_.database().integer_of("SELECT min(seq) FROM audit"));
    CALLGATE_TRY_ASSIGN(auto query, tables_.database().prepare("SELECT hash FROM audit WHERE seq = ?1"));
    for (const AuditMark& mark : marks) {
        if (mark.sequence < static_cast<std::uint64_t>(first)) continue;
        CALLGATE_TRY_ASSIGN(const bool there, query.bind(1, static_cast<std::int64_t>(mark.sequence)).step());
        const bool same = there && query.blob(0) == bytes_of(mark.hash);
        query.reset();
        if (!same) return false;
    }
    return true;
}

Result<RowStore::FoundApproval> SqliteRows::find_open_approval(const Approval& wanted,
                                                               const base::Sha256Digest& fingerprint) {
    const base::Sha256Digest request =
        hash_of_request(wanted.tenant, wanted.requester, fingerprint, wanted.idempotency_key);
    return found(tables_.approvals.open_for(request, time().latest()), "");
}

Result<bool> SqliteRows::has_approval(std::string_view id) {
    auto taken = tables_.approvals.find(id, kAsWritten);
    if (!taken && is_tampered(taken.error())) return true;
    if (!taken) return tl::unexpected(std::move(taken.error()));
    return taken->has_value();
}

Result<RowStore::OpenCount> SqliteRows::count_open(const Approval& wanted) {
    // A share that is no smaller than the whole is not counted.
    const OpenApprovalLimits& limits = open_limits();
    if (std::min(limits.per_principal, limits.per_tenant) >= max_open_approvals()) return OpenCount{};
    return tables_.approvals.count_open_of(wanted.tenant, wanted.requester, time().latest(), limits);
}

Result<bool> SqliteRows::make_room_for_approval(bool replaces) {
    if (replaces) return true;
    return tables_.make_room_for_approval();
}

Result<void> SqliteRows::store_use(const Approval& approval, ApprovalState before) {
    tables_.approval_decided();
    AuditMark next;
    next.sequence = tables_.chain().head().size() + 1;
    CALLGATE_TRY(
        in_step(tables_.approvals.update(approval, before, approval.votes.size(), next), "approval use"));
    tables_.notifications().approvals.push_back(change_of(approval, before));
    CALLGATE_FAILPOINT_RETURN("ledger.after_approval_use");
    return {};
}

Result<void> SqliteRows::store_decision(const Approval& approval, ApprovalState before,
                                        std::size_t votes_before, AuditEvent& event) {
    tables_.approval_decided();
    CALLGATE_TRY(record(event));
    const AuditMark mark{event.sequence, tables_.chain().head().hash};
    CALLGATE_TRY(in_step(tables_.approvals.update(approval, before, votes_before, mark), "approval"));
    tables_.notifications().approvals.push_back(change_of(approval, before));
    return {};
}

Result<std::uint64_t> SqliteRows::insert_approval(const Approval& approval,
                                                  const base::Sha256Digest& fingerprint) {
    CALLGATE_TRY_ASSIGN(const std::uint64_t first, record_request());
    const base::Sha256Digest request =
        hash_of_request(approval.tenant, approval.requester, fingerprint, approval.idempotency_key);
    CALLGATE_TRY(tables_.approvals.insert(approval, request, {first, tables_.chain().head().hash}));
    tables_.notifications().approvals.emplace_back(ApprovalChange::What::opened, approval);
    return first;
}

Result<void> SqliteRows::join_approval(const std::string& call_id, const Approval& approval) {
    return tables_.approvals.join(call_id, approval.id);
}

Result<void> SqliteRows::record(AuditEvent& event) {
    CALLGATE_TRY_ASSIGN(event.sequence, tables_.record(event));
    return {};
}

Result<std::uint64_t> SqliteRows::record_request() {
    recorded_ = true;
    // The prepared ones tell of an outcome that this end does not have.
    if (outcome_dropped_) return tables_.record(request_.settle->request.events);
    return request_.prepared.empty() ? tables_.record(request_.events) : tables_.record(request_.prepared);
}

}  // namespace callgate::ledger
