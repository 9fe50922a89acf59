// The ledger in memory: the whole protocol, for programs that need no record beyond their own life, and for
// tests.
//
// One lock decides each operation as a whole: a claim with its approval, an outcome with its event. The audit
// has a lock of its own, so that record() waits for no claim. Everything is bounded (Options), bytes as well
// as rows: the oldest outcomes go first, and their keys are refused as used; when the calls that are running
// or unknown fill it, claims are refused rather than anything forgotten.
//
// Calls of a gone owner are taken over by the claim that finds them. Those that may never be sent again
// become unknown as soon as their owner is gone, and those without a key, which nobody can claim, end there:
// unknown, or away if nothing can have happened.
//
// Threads: may be used from any thread. Waiters are woken outside the locks, on the thread that ended what
// they wait for.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/seal.h"
#include "ledger/approval_sinks.h"
#include "ledger/audit_ring.h"
#include "ledger/ledger.h"
#include "ledger/ledger_time.h"
#include "ledger/memory_rows.h"

namespace callgate::ledger {

class MemoryLedger final : public Ledger {
public:
    struct Options {
        std::size_t audit_kept = 10'000;                     ///< events
        std::chrono::seconds key_ttl{24 * 3600};             ///< how long an outcome can be replayed
        std::chrono::seconds tombstone_ttl{30 * 24 * 3600};  ///< how long its key is refused after that
        std::size_t max_rows = 100'000;
        std::size_t max_tombstones = 500'000;
        std::size_t max_approvals = 10'000;
        OpenApprovalLimits open_approvals;
        std::size_t max_bytes = 256u << 20;  ///< of arguments and outcomes together

        Options() {}
    };

    /// `clock` must outlive the ledger.
    explicit MemoryLedger(const base::Clock& clock, Options options = {});

    Io peek(const KeyScope& key, const base::Sha256Digest& fingerprint, PeekReply& reply,
            Waiter& waiter) override;
    Io claim(ClaimRequest request, ClaimReply& reply, Waiter& waiter) override;
    Io dispatch(DispatchRequest request, DispatchReply& reply, Waiter& waiter) override;
    Io settle(SettleRequest request, SettleReply& reply, Waiter& waiter) override;
    Io conclude(ConcludeRequest request, ConcludeReply& reply, Waiter& waiter) override;
    Io open_approval(OpenApprovalRequest request, OpenApprovalReply& reply, Waiter& waiter) override;
    [[gnu::hot]] Io record(AuditEvent& event, Reply& reply, Waiter& waiter) override;
    Io wait_for_end(const KeyScope& key, std::shared_ptr<Waiter> ended, WaitReply& reply,
                    Waiter& waiter) override;
    void stop_waiting(const KeyScope& key, const Waiter& waiter) override;

    Io approval_of_call(std::string call_id, ApprovalReply& reply, Waiter& waiter) override;
    Io open_approval_for(std::string_view tenant, std::string_view requester,
                         const base::Sha256Digest& fingerprint, std::string_view idempotency_key,
                         ApprovalReply& reply, Waiter& waiter) override;
    Io adopt(AdoptRequest request, AdoptReply& reply, Waiter& waiter) override;
    Io register_owner(OwnerReply& reply, Waiter& waiter) override;

    Result<std::vector<Approval>> approvals(std::optional<ApprovalState> state) override;
    Result<Approval> approval(std::string_view id) override;
    Result<Approval> vote(std::string_view id, Vote vote, AuditEvent& event) override;
    Result<Approval> revoke(std::string_view id, std::string_view by, AuditEvent& event) override;
    void watch_approvals(std::weak_ptr<ApprovalSink> sink) override;
    base::WallTime approval_time() override { return time_.latest(); }

    Result<CallRow> find(const CallId& call_id) override;
    Result<std::vector<CallRow>> list(std::optional<CallState> state) override;
    Result<CallRow> resolve(const CallId& call_id, bool applied, std::shared_ptr<const StoredOutcome> outcome,
                            AuditEvent& event) override;
    Result<std::vector<AuditEvent>> audit(std::string_view trace) override;
    std::uint64_t audit_count() override;
    base::Sha256Digest keyed_digest(std::string_view purpose, std::string_view text) override;
    Result<std::vector<CallRow>> in_doubt() override;

    bool is_alive(OwnerId owner) override;
    void owner_gone(OwnerId owner) override;
    bool has_own_thread() const noexcept override { return false; }

    /// For tests of the guard insert_first_claim: runs between the look and the insertion, outside the lock,
    /// and only where the guard is switched off. Set it while nothing runs.
    std::function<void()> between_look_and_insert;

private:
    using Entry = CallRows::Entry;
    using Waiters = std::vector<std::shared_ptr<Waiter>>;

    void let_others_in();
    template <class Request, class Reply, class Procedure>
    Io finish_call(Request& request, Reply& reply, Procedure procedure);

    const base::Clock& clock_;
    std::once_flag key_is_made_;
    std::optional<base::SealKey> key_;  // made when it is first needed
    const LedgerTime time_;
    AuditRing audit_;
    const MemoryRows::Fixed fixed_;
    ApprovalSinks sinks_;
    base::Mutex mutex_;  // before the audit's, and those of the sinks
    MemoryTables tables_ CALLGATE_GUARDED_BY(mutex_);
    OwnerId last_owner_ CALLGATE_GUARDED_BY(mutex_) = 0;
};

}  // namespace callgate::ledger
