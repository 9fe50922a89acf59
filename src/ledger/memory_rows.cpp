#include "ledger/memory_rows.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/guard.h"
#include "ledger/approval_sinks.h"

namespace callgate::ledger {

CallRow& MemoryRows::edit(CallRows::Entry& entry) noexcept {
    entry_ = &entry;
    return entry.row;
}

void MemoryRows::wake_waiters(CallRows::Entry& entry) {
    std::move(entry.waiters.begin(), entry.waiters.end(), std::back_inserter(woken_));
    entry.waiters.clear();
}

Standing MemoryRows::standing(const CallRows::Entry* entry, const KeyScope& key) const {
    if (entry == nullptr) return {.spent = tables_.calls.is_spent(key, now_)};
    const CallRow& row = entry->row;
    return {.row = &row,
            .owner_alive = is_alive(row.owner),
            .stale = time().may_be_older(row.lived_at, row.created_at, fixed_.key_ttl)};
}

Result<Standing> MemoryRows::find_standing(const CallRow& claimant, std::optional<Error>&) {
    entry_ = tables_.calls.by_key(claimant.key, now_);
    return standing(entry_, claimant.key);
}

Result<void> MemoryRows::make_room(const CallRow& row) {
    if (!CALLGATE_GUARD(insert_first_claim) && before_insert) before_insert();
    if (tables_.calls.by_call(row.call_id, now_) != nullptr) {
        return fail(ErrorCode::internal, "A call with this id is in the ledger already.",
                    {{"reason", "call_id_taken"}});
    }
    if (tables_.calls.make_room(bytes_of(row), now_)) return {};
    return fail(ErrorCode::ledger_unavailable,
                fmt::format("The ledger holds {} calls that are running or unknown, {} bytes, and there is "
                            "no room for another. Resolve the unknown ones, or try again later.",
                            tables_.calls.size(), tables_.calls.bytes()),
                {{"reason", "ledger_full"}});
}

Result<void> MemoryRows::insert(const CallRow& row) {
    tables_.calls.insert(row);
    return {};
}

Result<void> MemoryRows::take_over_standing(const CallRow& after) {
    entry_->row = after;
    return store_end(entry_->row, Keep::always, std::nullopt);
}

Result<RowStore::FoundCall> MemoryRows::find_call(const CallId& call_id) {
    entry_ = tables_.calls.by_call(call_id, now_);
    return FoundCall{entry_ == nullptr ? nullptr : &entry_->row};
}

Result<void> MemoryRows::store_end(CallRow& row, Keep keep, const std::optional<AttemptResult>&) {
    if (!is_end(row.state)) return {};
    CallRows::Entry& entry = *std::exchange(entry_, nullptr);
    tables_.calls.weigh(entry);
    wake_waiters(entry);
    if (row.state == CallState::unknown) return {};
    if (keep == Keep::never || (keep == Keep::with_key && row.key.key.empty())) {
        tables_.calls.remove(entry);
    } else {
        tables_.calls.finish(entry, fixed_.clock.wall_now(), now_);
    }
    return {};
}

Result<RowStore::FoundApproval> MemoryRows::find_approval(std::string_view id) {
    return FoundApproval{tables_.approvals.find(id), {}};
}

Result<RowStore::FoundApproval> MemoryRows::find_open_approval(const Approval& wanted,
                                                               const base::Sha256Digest& fingerprint) {
    return FoundApproval{tables_.approvals.open_for(wanted.tenant, wanted.requester, fingerprint,
                                                    wanted.idempotency_key, time().latest()),
                         {}};
}

Result<RowStore::OpenCount> MemoryRows::count_open(const Approval& wanted) {
    return tables_.approvals.count_open(wanted, time().latest());
}

// Also where it replaces one: that one stays for people to see, and something older goes.
Result<bool> MemoryRows::make_room_for_approval(bool replaces) {
    return tables_.approvals.make_room(time().latest()) || replaces;
}

Result<void> MemoryRows::store_use(const Approval& approval, ApprovalState before) {
    approval_changes_.push_back(change_of(approval, before));
    return {};
}

Result<void> MemoryRows::store_decision(const Approval& approval, ApprovalState before, std::size_t,
                                        AuditEvent& event) {
    approval_changes_.push_back(change_of(approval, before));
    return record(event);
}

Result<std::uint64_t> MemoryRows::insert_approval(const Approval& approval,
                                                  const base::Sha256Digest& fingerprint) {
    tables_.approvals.insert(approval, fingerprint);
    approval_changes_.emplace_back(ApprovalChange::What::opened, approval);
    return record_request();
}

Result<void> MemoryRows::join_approval(const std::string& call_id, const Approval& approval) {
    tables_.approvals.join(call_id, approval.id);
    return {};
}

Result<void> MemoryRows::record(AuditEvent& event) {
    fixed_.audit.append(event);
    return {};
}

Result<std::uint64_t> MemoryRows::record_request() {
    return events_ == nullptr ? 0 : fixed_.audit.append(std::move(*events_));
}

}  // namespace callgate::ledger
