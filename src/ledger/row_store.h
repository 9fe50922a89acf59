// Where a ledger keeps its rows, as the procedures (procedures.h) see it. Memory (memory_rows.h) and SQLite
// (sqlite/sqlite_rows.h) implement it, and whatever comes next.
//
// A RowStore serves one operation, inside whatever makes that operation one step for everybody else: a lock
// or a transaction. It brings what belongs to the request and differs by store: its events, which a durable
// store has hashed and sealed beforehand, and the sealed outcome.
//
// Rows are handed out by pointer, and only one call and one approval at a time: the next find invalidates
// the last. Those that may be changed are changed in place and then stored; a store refuses where the row is
// no longer what it was when it was found (compare and set).
//
// An error means that nothing of the operation may stand: a store with transactions undoes it. A store that
// cannot undo, such as memory, must find its errors before it changes anything: in is_alive(),
// find_standing() and make_room().
//
// Threads: one operation, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/approvals.h>
#include <callgate/observer.h>
#include <callgate/result.h>

#include "base/sha256.h"
#include "ledger/approval_rules.h"
#include "ledger/call_row.h"
#include "ledger/ledger_time.h"
#include "ledger/state_machine.h"

namespace callgate::ledger {

class RowStore {
public:
    /// `time` must outlive this.
    explicit RowStore(const LedgerTime& time) noexcept : time_(&time) {}
    virtual ~RowStore() = default;
    RowStore(const RowStore&) = delete;
    RowStore& operator=(const RowStore&) = delete;

    const LedgerTime& time() const noexcept { return *time_; }
    virtual bool is_alive(OwnerId owner) const = 0;

    // Calls.

    /// What is under the claimant's key. `held` is set if the claim must not run for a reason that only the
    /// store knows.
    virtual Result<Standing> find_standing(const CallRow& claimant, std::optional<Error>& held) = 0;
    /// Completes the row that find_standing() found by its outcome. The inner error: it cannot be read.
    virtual Result<std::optional<Error>> load_outcome() = 0;
    /// Called before insert(), and before an approval is used for it.
    virtual Result<void> make_room(const CallRow& row) = 0;
    /// C1
    virtual Result<void> insert(const CallRow& row) = 0;
    /// C2 (and C3): `after` in place of the row that find_standing() found.
    virtual Result<void> take_over_standing(const CallRow& after) = 0;

    struct FoundCall {
        CallRow* row = nullptr;  ///< to be changed and stored; null: there is none
        bool restored = false;   ///< it was under way where a restored ledger ends: only a person decides it
    };
    virtual Result<FoundCall> find_call(const CallId& call_id) = 0;
    // These store the row that find_call() found, after it was changed.
    /// C3
    virtual Result<void> store_dispatch(const CallRow& row) = 0;
    /// C2, by its id
    virtual Result<void> store_adoption(const CallRow& row) = 0;

    /// How long a row is kept that has ended. An unknown one always stays.
    enum class Keep : std::uint8_t {
        never,     ///< its key is free again
        with_key,  ///< for replays; without a key it is of no use to anybody
        always     ///< it was unknown, and people may want to see what became of it
    };
    struct AttemptResult {
        std::uint32_t attempt = 0;
        std::string_view how;
    };
    /// C4, C5, a person's finding, and giving up: an end, or back to claimed. If it is an end, whoever waits
    /// for it is woken afterwards. The row may be gone then, unless it is kept always.
    virtual Result<void> store_end(CallRow& row, Keep keep, const std::optional<AttemptResult>& attempt) = 0;

    // Approvals.

    struct FoundApproval {
        Approval* approval = nullptr;  ///< to be changed and stored; as written, whether or not expired
        std::string tampered_id;       ///< not empty: this one was changed by somebody else, and is not used
    };
    virtual Result<FoundApproval> find_approval(std::string_view id) = 0;
    /// The same, and checks that its votes are those on the record.
    virtual Result<FoundApproval> find_approval_to_use(std::string_view id) = 0;
    /// The open one of the same tenant, requester, idempotency key and fingerprint.
    virtual Result<FoundApproval> find_open_approval(const Approval& wanted,
                                                     const base::Sha256Digest& fingerprint) = 0;
    virtual Result<bool> has_approval(std::string_view id) = 0;

    struct OpenCount {
        std::size_t of_principal = 0;
        std::size_t of_tenant = 0;
    };
    /// Of the requester and its tenant. May say less where the limits cannot be reached.
    virtual Result<OpenCount> count_open(const Approval& wanted) = 0;
    virtual const OpenApprovalLimits& open_limits() const = 0;
    virtual std::size_t max_open_approvals() const = 0;
    /// Whether another may be opened. `replaces`: it takes the place of one that is open.
    virtual Result<bool> make_room_for_approval(bool replaces) = 0;

    /// The claim's events come next.
    virtual Result<void> store_use(const Approval& approval, ApprovalState before) = 0;
    /// State and new votes, with the event that says so.
    virtual Result<void> store_decision(const Approval& approval, ApprovalState before,
                                        std::size_t votes_before, AuditEvent& event) = 0;
    /// With the request's events, which say so. The number of the first.
    virtual Result<std::uint64_t> insert_approval(const Approval& approval,
                                                  const base::Sha256Digest& fingerprint) = 0;
    /// The call is found under the approval, too.
    virtual Result<void> join_approval(const std::string& call_id, const Approval& approval) = 0;

    // Audit.

    /// An event of the ledger's own, or a person's. Sets its number.
    virtual Result<void> record(AuditEvent& event) = 0;
    /// The request's events. The number of the first; 0 if there are none.
    virtual Result<std::uint64_t> record_request() = 0;

private:
    const LedgerTime* time_;
};

}  // namespace callgate::ledger
