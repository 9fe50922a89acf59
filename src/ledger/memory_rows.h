// The row store in memory: rows are changed where they are, and nothing is undone.
//
// Threads: whoever holds the lock of the tables.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "base/clock.h"
#include "ledger/approval_rows.h"
#include "ledger/audit_ring.h"
#include "ledger/call_rows.h"
#include "ledger/ledger_time.h"
#include "ledger/row_store.h"

namespace callgate::ledger {

class Waiter;

/// All that is changed under one lock.
struct MemoryTables {
    CallRows calls;
    ApprovalRows approvals;
    std::set<OwnerId> owners;  ///< those that are alive
};

class MemoryRows final : public RowStore {
public:
    /// What is the same for all operations. What it refers to must outlive this.
    struct Fixed {
        const base::Clock& clock;
        const LedgerTime& time;
        AuditRing& audit;
        std::chrono::seconds key_ttl;
    };
    /// `events`: the request's, moved from when they are recorded. Null: it has none.
    MemoryRows(const Fixed& fixed, MemoryTables& tables, std::vector<AuditEvent>* events = nullptr)
        : RowStore(fixed.time),
          fixed_(fixed),
          tables_(tables),
          events_(events),
          now_(fixed.clock.monotonic_now()) {}

    /// When the operation began.
    base::MonotonicTime now() const noexcept { return now_; }

    /// What happened to approvals here, in order.
    const std::vector<ApprovalChange>& approval_changes() const noexcept { return approval_changes_; }
    /// Who waited for what has ended here: to be woken without the lock.
    std::vector<std::shared_ptr<Waiter>>& woken() noexcept { return woken_; }
    /// A row that the ledger has found by itself, to be changed as one from find_call().
    CallRow& edit(CallRows::Entry& entry) noexcept;
    void wake_waiters(CallRows::Entry& entry);
    /// For tests of the guard insert_first_claim: runs before a row is inserted.
    std::function<void()> before_insert;

    bool is_alive(OwnerId owner) const override { return tables_.owners.contains(owner); }
    Result<Standing> find_standing(const CallRow& claimant, std::optional<Error>& held) override;
    Standing standing(const CallRows::Entry* entry, const KeyScope& key) const;
    Result<std::optional<Error>> load_outcome() override { return std::nullopt; }
    Result<void> make_room(const CallRow& row) override;
    Result<void> insert(const CallRow& row) override;
    Result<void> take_over_standing(const CallRow& after) override;
    Result<FoundCall> find_call(const CallId& call_id) override;
    Result<void> store_dispatch(const CallRow&) override { return {}; }
    Result<void> store_adoption(const CallRow&) override { return {}; }
    Result<void> store_end(CallRow& row, Keep keep, const std::optional<AttemptResult>& attempt) override;

    Result<FoundApproval> find_approval(std::string_view id) override;
    Result<FoundApproval> find_approval_to_use(std::string_view id) override { return find_approval(id); }
    Result<FoundApproval> find_open_approval(const Approval& wanted,
                                             const base::Sha256Digest& fingerprint) override;
    Result<bool> has_approval(std::string_view id) override { return tables_.approvals.contains(id); }
    Result<OpenCount> count_open(const Approval& wanted) override;
    const OpenApprovalLimits& open_limits() const override { return tables_.approvals.open_limits(); }
    std::size_t max_open_approvals() const override { return tables_.approvals.max_approvals(); }
    Result<bool> make_room_for_approval(bool replaces) override;
    Result<void> store_use(const Approval& approval, ApprovalState before) override;
    Result<void> store_decision(const Approval& approval, ApprovalState before, std::size_t votes_before,
                                AuditEvent& event) override;
    Result<std::uint64_t> insert_approval(const Approval& approval,
                                          const base::Sha256Digest& fingerprint) override;
    Result<void> join_approval(const std::string& call_id, const Approval& approval) override;

    Result<void> record(AuditEvent& event) override;
    Result<std::uint64_t> record_request() override;

private:
    const Fixed& fixed_;
    MemoryTables& tables_;
    std::vector<AuditEvent>* const events_;
    const base::MonotonicTime now_;
    CallRows::Entry* entry_ = nullptr;  // that was found last
    std::vector<std::shared_ptr<Waiter>> woken_;
    std::vector<ApprovalChange> approval_changes_;
};

}  // namespace callgate::ledger
