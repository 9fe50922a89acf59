// Approvals: evidence that a person agreed to one exact call.
//
// An approval is bound to a digest over everything that decides the effect, is used at most once, expires,
// and can never come from who asked. Deciding only records; resume() or the same call again executes. One
// denial is final.
//
//     cg::Outcome asked = runtime.call("wire_money", args);              // approval_required
//     auto decided = runtime.approvals().wait(asked.approval_id());      // until a person has decided
//     if (decided && decided->state == cg::ApprovalState::approved) runtime.resume(asked.call_id());
//
// Threads: may be used from any thread. All may block while the ledger reads or writes, except
// when_decided(). Functions that are handed in run on threads that exist for such code, never on those that
// others depend on: they may block, throw and call the runtime. What they throw is dropped and counted
// (RuntimeStats::observer_faults).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/args.h>
#include <callgate/calls.h>
#include <callgate/context.h>
#include <callgate/error.h>
#include <callgate/result.h>
#include <callgate/tool.h>

namespace callgate {

/// superseded: the current rules would no longer honour it, and when the call was made again another took its
/// place.
enum class ApprovalState : std::uint8_t { pending, approved, denied, expired, consumed, revoked, superseded };
std::string_view to_string(ApprovalState state) noexcept;

/// How sure we are that a person decided. a1: the client said so. a2: a person, through a channel that the
/// agent does not hold, such as a signature with an operator's key. a3: a host's own channel for the gravest
/// decisions; nothing over the control socket gives it. Where a critical call asks for a3, two people with a2
/// do as well.
enum class Assurance : std::uint8_t { a1, a2, a3 };
std::string_view to_string(Assurance assurance) noexcept;

struct Vote {
    std::string approver;
    Assurance assurance = Assurance::a2;
    bool approve = true;
    std::string reason;
    std::chrono::system_clock::time_point at;
    /// The operating system's user who cast it: two votes of one user are one person's, whatever their names.
    /// -1: the host says who it was.
    std::int64_t uid = -1;
    std::string key;        ///< the operator's public key that it was signed with; "": it was not
    std::string signature;  ///< base64

    Vote() = default;
};

struct Approval {
    std::string id;
    std::string call_id;  ///< the call that asked
    std::string tenant;
    std::string requester;
    ScopeSet scopes;  ///< granted to the requester when it asked
    std::string tool;
    std::string action;
    Value arguments;     ///< exact
    std::string digest;  ///< hex, over everything that decides the effect
    /// Hex: the digest without the id of the call that asked. Two requests share an approval only if they
    /// have the same one.
    std::string binding;
    Risk risk = Risk::low;
    Autonomy autonomy = Autonomy::a2;
    std::string why;             ///< the rule's or the matrix's reason
    std::string how_to_approve;  ///< a sentence for people
    std::string trace_id;
    std::string task_id;
    std::string step_id;
    std::string idempotency_key;
    std::uint64_t policy_rev = 0;
    std::uint32_t approvals_needed = 1;
    /// Of each vote that counts. Where it is A3 for a critical call, two people at A2 do, too.
    Assurance assurance_needed = Assurance::a1;
    std::optional<Preview> preview;
    ApprovalState state = ApprovalState::pending;
    std::vector<Vote> votes;
    std::chrono::system_clock::time_point created_at;
    std::chrono::system_clock::time_point expires_at;
    std::string consumed_by;    ///< call id
    std::string superseded_by;  ///< the approval that took its place

    Approval() = default;
};

/// What happened to an approval; it is on the record.
struct ApprovalChange {
    enum class What : std::uint8_t {
        opened,
        voted,    ///< counted, and more votes are needed
        decided,  ///< it is approved or denied
        expired,  ///< undecided, or approved and unused
        consumed,
        revoked,
        superseded,
        missed  ///< changes that found no room while the listener was busy; `approval` is empty: list()
    };
    What what = What::opened;
    Approval approval;  ///< as it was then

    ApprovalChange() = default;
    ApprovalChange(What happened, Approval to) : what(happened), approval(std::move(to)) {}
};
std::string_view to_string(ApprovalChange::What what) noexcept;

class Approvals {
public:
    virtual ~Approvals() = default;

    /// Those in one state; without one, all. An error where they could not be read: an empty list says that
    /// there are none.
    virtual Result<std::vector<Approval>> list(
        std::optional<ApprovalState> state = ApprovalState::pending) const = 0;
    /// denied {reason: not_found}.
    virtual Result<Approval> get(std::string_view id) const = 0;

    /// denied {reason: self_approval | assurance_too_low | already_decided | superseded | not_found …},
    /// approval_expired, approval_denied. A second yes of the same person changes nothing; a no after their
    /// yes counts.
    virtual Result<Approval> approve(std::string_view id, std::string_view approver,
                                     Assurance assurance = Assurance::a2, std::string_view reason = {}) = 0;
    virtual Result<Approval> deny(std::string_view id, std::string_view approver,
                                  std::string_view reason = {}) = 0;

    /// The same, and wait for nothing: `done` is called once, on `executor`, or without one on a thread that
    /// exists for such code.
    using Decided = std::function<void(Result<Approval>)>;
    virtual void start_approve(std::string id, std::string approver, Decided done, Executor executor = {},
                               Assurance assurance = Assurance::a2, std::string reason = {}) = 0;
    virtual void start_deny(std::string id, std::string approver, Decided done, Executor executor = {},
                            std::string reason = {}) = 0;

    /// Takes back a request that is still open, or approved and unused. Nothing can run with it any more.
    virtual Result<Approval> revoke(std::string_view id, std::string_view by) = 0;
    virtual void start_revoke(std::string id, std::string by, Decided done, Executor executor = {}) = 0;

    /// The same call with other arguments: checked and decided again, as a new approval that already has this
    /// vote. The old one is revoked, so it must be pending, and is left as it was where the edit is refused:
    /// as a vote on either would be, or as the call itself is.
    virtual Result<Approval> approve_edited(std::string_view id, Args arguments, std::string_view approver,
                                            Assurance assurance = Assurance::a2,
                                            std::string_view reason = {}) = 0;

    /// Blocks until the approval is no longer pending, and gives it as it is then: approved, denied, expired,
    /// revoked, consumed or superseded (superseded_by names the one to wait for). It returns at once if the
    /// approval is not pending now, and always ends, since an approval expires. Otherwise:
    ///   timed_out {reason: undecided}: nobody decided within `timeout`; one that is not positive only looks
    ///   cancelled {reason: called_off}: `cancel` was stopped, perhaps before the wait began
    ///   cancelled {reason: runtime_closing}: the runtime ended
    ///   denied {reason: not_found | would_block}, or what the ledger said when it could not be read
    /// While a tool waits, another thread of the pool takes the place of its own. A coroutine awaits
    /// async_decision() (async.h); on a thread of an executor that the host lent, wait() is refused
    /// (would_block).
    virtual Result<Approval> wait(std::string_view id, std::optional<std::chrono::milliseconds> timeout = {},
                                  std::stop_token cancel = {}) = 0;
    /// The same without blocking: `done` is called once, always on another thread.
    virtual void when_decided(std::string id, std::function<void(Result<Approval>)> done,
                              std::optional<std::chrono::milliseconds> timeout = {},
                              std::stop_token cancel = {}) = 0;

    /// `listener` is called after each change of any approval, whoever made it and however (this program,
    /// operators over the control socket, time), one at a time, in the order in which the changes went on the
    /// record. A slow listener delays nobody else as long as callback_threads are left (RuntimeOptions). Once
    /// 10,000 changes wait for it, further ones become one `missed`. It is unsubscribed when the handle goes:
    /// no call begins after that, but one under way on another thread may still finish. An error where the
    /// open approvals could not be read.
    using Listener = std::function<void(const ApprovalChange&)>;
    [[nodiscard]] virtual Result<std::shared_ptr<void>> on_change(Listener listener) = 0;
};

}  // namespace callgate
