// The ledger: calls, attempts, approvals and the audit, with the rules of state_machine.h.
//
// Operations on the path of a call are completion-based: they finish at once (Io::done, the reply is filled
// in) or later (Io::pending: the reply is filled in and the waiter woken). Each carries the audit events that
// must be on the record with it: both are there or neither is. A reply's `error` is set when the ledger could
// not do its work; nothing has happened then, and the caller must not act as if it had.
//
// A pending operation wakes its waiter exactly once, and that is the last the ledger does with the reply and
// the waiter: both may be gone before wake() returns. Until then nobody else touches them. A waiter never
// runs anything on the ledger's own thread, so wake() costs that thread little, and may be called with no
// regard to what waits.
//
// Nothing on the path of a call waits for a disk or a network on the caller's thread: every operation there
// is of this kind, looking included. An error is never an empty answer: what can fail returns a Result, or a
// reply with an `error`.
//
// Threads: may be used from any thread. A reply belongs to the ledger until done or woken.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/approvals.h>
#include <callgate/observer.h>

#include "ledger/approval_rules.h"
#include "ledger/call_row.h"
#include "ledger/state_machine.h"

namespace callgate::ledger {

enum class Io : std::uint8_t { done, pending };

/// Who waits for an operation, or for a call to end. wake() may come from any thread; for an operation once,
/// for the end of a call perhaps once too often.
class Waiter {
public:
    virtual ~Waiter() = default;
    virtual void wake() = 0;
};

/// Set when a pending reply has been filled in. An atomic bool that can be copied, since replies are values.
class ReadyFlag {
public:
    ReadyFlag() = default;
    ReadyFlag(const ReadyFlag& other) noexcept : set_(other.load()) {}
    ReadyFlag& operator=(const ReadyFlag& other) noexcept {
        *this = other.load();
        return *this;
    }
    ReadyFlag& operator=(bool set) noexcept {
        set_.store(set, std::memory_order_release);
        return *this;
    }
    bool load() const noexcept { return set_.load(std::memory_order_acquire); }

private:
    std::atomic<bool> set_{false};
};

struct Reply {
    std::optional<Error> error;
    std::uint64_t first_event = 0;  ///< the number of its first event on the record; the others follow it
    ReadyFlag ready;                ///< a ledger that said `pending` sets it before it wakes the waiter
};

struct PeekReply : Reply {
    bool found = false;
    ClaimVerdict verdict = ClaimVerdict::claimed;  ///< what a claim would say now; `claimed` when not found
    CallRow row;
    std::optional<Error> unreadable;  ///< it has ended, and why its outcome is not in the row
};

struct ClaimRequest : ClaimTerms {
    /// key, call_id, fingerprint, effect, owner, definition_hash, policy_rev, action, arguments
    CallRow row;
    std::vector<AuditEvent> events;  ///< on the record if, and only if, the claim is ours
};

struct ClaimReply : Reply {
    ClaimVerdict verdict = ClaimVerdict::claimed;
    ApprovalVerdict approval = ApprovalVerdict::ok;  ///< anything but ok: nothing was claimed
    /// Ours, or the one that stands in the way. After a take-over it keeps the first claimant's call id,
    /// which is also the key that a `keyed` tool was sent: go on with the row's call id and epoch. State
    /// `reconciling`: ask the probe, then conclude().
    CallRow row;
    std::optional<Error> unreadable;  ///< it has ended, and why its outcome is not in the row
};

struct DispatchRequest {
    CallId call_id{};
    std::uint32_t epoch = 1;
    OwnerId owner = 0;
    base::Sha256Digest definition_hash{};
    std::vector<AuditEvent> events;
};
struct DispatchReply : Reply {
    bool fenced = false;
    std::uint32_t attempt = 0;
};

struct SettleRequest {
    CallId call_id{};
    std::uint32_t epoch = 1;
    std::uint32_t attempt = 0;
    AttemptEnd end = AttemptEnd::failed;
    bool last = true;  ///< false for a late answer, too
    std::shared_ptr<const StoredOutcome> outcome;
    std::vector<AuditEvent> events;  ///< on the record if the outcome is accepted
};
struct SettleReply : Reply {
    Settled settled;
    /// What it is now; `unknown` where an earlier attempt may have had its effect.
    CallState state = CallState::failed;
};

struct ConcludeRequest {
    CallId call_id{};
    std::uint32_t epoch = 1;
    Reconciliation::Verdict verdict = Reconciliation::Verdict::cannot_tell;
    std::shared_ptr<const StoredOutcome> outcome;
    std::vector<AuditEvent> events;
};
struct ConcludeReply : Reply {
    bool accepted = false;
    CallState state = CallState::unknown;
};

struct OpenApprovalRequest {
    Approval approval;  ///< all except state, votes and times; `lifetime` from now
    std::chrono::milliseconds lifetime{900'000};
    base::Sha256Digest fingerprint{};
    std::vector<AuditEvent> events;  ///< only if a new one is opened
};
struct OpenApprovalReply : Reply {
    /// The new one, or the open one of the same requester, fingerprint and idempotency key. That one keeps
    /// the id of the call that first asked, and is found under the id of the one that joined, too. An open
    /// one with another binding is not joined: it is superseded, and approval.superseded goes on the record
    /// before the new one's events.
    Approval approval;
    bool joined = false;
};

/// Whether the call under a key still runs, so that its end is waited for.
struct WaitReply : Reply {
    bool runs = false;
};

/// The approval that was looked for; nothing: there is none.
struct ApprovalReply : Reply {
    std::optional<Approval> approval;
};

/// C2 for one call in doubt, by its call id.
struct AdoptRequest {
    CallId call_id{};
    OwnerId owner = 0;
    AuditEvent event;  ///< on the record if it is adopted; its number is the reply's first_event
};
struct AdoptReply : Reply {
    /// To be concluded under its epoch. Nothing: it is not in doubt any more (ended, gone, or somebody
    /// else's).
    std::optional<CallRow> row;
};

struct OwnerReply : Reply {
    OwnerId owner = 0;
};

/// Whether the ledger could do its work and there is no such thing.
inline bool is_not_found(const Error& error) noexcept {
    const auto* reason = error.details.if_contains("reason");
    return error.code == ErrorCode::denied && reason != nullptr && reason->is_string() &&
           reason->get_string() == "not_found";
}

/// Who wants to know what happens to approvals.
class ApprovalSink {
public:
    virtual ~ApprovalSink() = default;
    /// On the ledger's thread, or on a caller's while the ledger is locked: it must be quick, asks the ledger
    /// only for the time, and runs no foreign code.
    virtual void changed(const ApprovalChange& change) = 0;
};

class Ledger {
public:
    virtual ~Ledger() = default;

    // The path of a call.
    virtual Io peek(const KeyScope& key, const base::Sha256Digest& fingerprint, PeekReply& reply,
                    Waiter& waiter) = 0;
    virtual Io claim(ClaimRequest request, ClaimReply& reply, Waiter& waiter) = 0;
    virtual Io dispatch(DispatchRequest request, DispatchReply& reply, Waiter& waiter) = 0;
    virtual Io settle(SettleRequest request, SettleReply& reply, Waiter& waiter) = 0;
    virtual Io conclude(ConcludeRequest request, ConcludeReply& reply, Waiter& waiter) = 0;
    virtual Io open_approval(OpenApprovalRequest request, OpenApprovalReply& reply, Waiter& waiter) = 0;
    /// Audit alone: refusals and reads. The event gets its sequence, and its time if it has none. Done with
    /// sequence 0: it goes on the record with the next batch and is numbered then. The event and its texts
    /// stay where they are, unchanged, until this is done.
    virtual Io record(AuditEvent& event, Reply& reply, Waiter& waiter) = 0;
    /// Asked before a read without a claim is run: what record() would refuse with now, so that nothing runs
    /// whose end could not be recorded. Only a hint, and cheap: no lock, no waiting. Only a ledger with a
    /// thread of its own is asked.
    virtual std::optional<Error> ready_to_record() { return std::nullopt; }
    /// `ended` is woken when the call under the key has ended or is free again, perhaps before `asked` is.
    /// The reply says whether there is anything to wait for; if not, or on an error, `ended` has been
    /// released.
    virtual Io wait_for_end(const KeyScope& key, std::shared_ptr<Waiter> ended, WaitReply& reply,
                            Waiter& waiter) = 0;
    /// The waiter no longer wants to be woken, and is released. It may still be woken once more.
    virtual void stop_waiting(const KeyScope& key, const Waiter& waiter) = 0;

    /// The approval a call id asked for.
    virtual Io approval_of_call(std::string call_id, ApprovalReply& reply, Waiter& waiter) = 0;
    /// An undecided or approved, unused and unexpired approval of this requester for exactly this request.
    virtual Io open_approval_for(std::string_view tenant, std::string_view requester,
                                 const base::Sha256Digest& fingerprint, std::string_view idempotency_key,
                                 ApprovalReply& reply, Waiter& waiter) = 0;
    /// One of in_doubt() passes to `owner` and is `reconciling`, with the row's next epoch. An error where
    /// the ledger could not do it, or `owner` is not alive (ledger_unavailable).
    virtual Io adopt(AdoptRequest request, AdoptReply& reply, Waiter& waiter) = 0;
    /// Only a registered owner can claim.
    virtual Io register_owner(OwnerReply& reply, Waiter& waiter) = 0;

    // Approvals, decided by people: these may block.
    virtual Result<std::vector<Approval>> approvals(std::optional<ApprovalState> state) = 0;
    /// denied {reason: not_found}.
    virtual Result<Approval> approval(std::string_view id) = 0;
    // These put `event` on the record, unless they fail, and give it its number.

    /// As in approval_rules.h; denied {reason: not_found}. A vote that does not count is not on the record,
    /// and its event has no number.
    virtual Result<Approval> vote(std::string_view id, Vote vote, AuditEvent& event) = 0;
    virtual Result<Approval> revoke(std::string_view id, std::string_view by, AuditEvent& event) = 0;

    /// The sink hears of all that changes from now on except by time, in the order in which it goes on the
    /// record and once it is there, before those who changed it are answered; until nobody else has it.
    virtual void watch_approvals(std::weak_ptr<ApprovalSink> sink) = 0;
    /// The clock that approvals end by. Takes no lock: a sink may ask it.
    virtual base::WallTime approval_time() = 0;

    // Calls, for operators.
    /// denied {reason: not_found}.
    virtual Result<CallRow> find(const CallId& call_id) = 0;
    virtual Result<std::vector<CallRow>> list(std::optional<CallState> state) = 0;
    /// denied {reason: not_found | not_unknown}.
    virtual Result<CallRow> resolve(const CallId& call_id, bool applied,
                                    std::shared_ptr<const StoredOutcome> outcome, AuditEvent& event) = 0;
    /// Oldest first; all that are kept if `trace` is empty.
    virtual Result<std::vector<AuditEvent>> audit(std::string_view trace) = 0;
    /// All that were ever recorded.
    virtual std::uint64_t audit_count() = 0;
    /// A digest that only who holds this ledger's key can make; the same after a restart, where the ledger
    /// lasts.
    virtual base::Sha256Digest keyed_digest(std::string_view purpose, std::string_view text) = 0;

    /// What a gone owner left in doubt: all for which needs_probe() is true (state_machine.h), keyed or not.
    virtual Result<std::vector<CallRow>> in_doubt() = 0;

    /// Whether its owner may still end a call: it is registered, and its program runs. Takes no disk.
    virtual bool is_alive(OwnerId owner) = 0;
    /// It runs nothing any more: its calls may be taken over, and who waits for them is woken.
    virtual void owner_gone(OwnerId owner) = 0;

    /// Whether it has a thread of its own, and wakes from it. Then no call runs on the thread that wakes it.
    /// A ledger that does everything on the threads of its callers says no.
    virtual bool has_own_thread() const noexcept { return true; }
};

}  // namespace callgate::ledger
