// Approvals: evidence that a person agreed to one exact call.
//
// An approval is bound to a digest over everything that decides the effect, is used at most once, expires,
// and can never come from who asked. Deciding only records; resume() or the same call again executes. One
// denial is final.
//
// Threads: may be used from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/args.h>
#include <callgate/context.h>
#include <callgate/error.h>
#include <callgate/result.h>
#include <callgate/tool.h>

namespace callgate {

/// superseded: it would not be honoured any more under the rules of now, and another took its place when the
/// call was made again.
enum class ApprovalState : std::uint8_t { pending, approved, denied, expired, consumed, revoked, superseded };
std::string_view to_string(ApprovalState state) noexcept;

/// How sure we are that a person decided. a1: the client said so. a2: a person, through a channel that the
/// agent does not hold. a3: signed.
enum class Assurance : std::uint8_t { a1, a2, a3 };
std::string_view to_string(Assurance assurance) noexcept;

struct Vote {
    std::string approver;
    Assurance assurance = Assurance::a2;
    bool approve = true;
    std::string reason;
    std::chrono::system_clock::time_point at;
    /// Of the operating system's user who cast it: two votes of one user are one person's, whatever their
    /// names. -1: the host says who it was.
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
    std::string digest;  ///< hex
    /// hex; the digest without the id of the call that asked: two requests share an approval only if they
    /// have the same one.
    std::string binding;
    Risk risk = Risk::low;
    Autonomy autonomy = Autonomy::a2;
    std::string why;  ///< the rule's or the matrix's reason
    std::string how_to_approve;
    std::string trace_id;
    std::string task_id;
    std::string step_id;
    std::string idempotency_key;
    std::uint64_t policy_rev = 0;
    std::uint32_t approvals_needed = 1;
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

class Approvals {
public:
    virtual ~Approvals() = default;

    /// An error where they could not be read: an empty list says that there are none.
    virtual Result<std::vector<Approval>> list(
        std::optional<ApprovalState> state = ApprovalState::pending) const = 0;
    /// denied {reason: not_found}.
    virtual Result<Approval> get(std::string_view id) const = 0;

    /// denied {reason: self_approval | assurance_too_low | already_decided | superseded | not_found …},
    /// approval_expired, approval_denied. Voting twice changes nothing.
    virtual Result<Approval> approve(std::string_view id, std::string_view approver,
                                     Assurance assurance = Assurance::a2, std::string_view reason = {}) = 0;
    virtual Result<Approval> deny(std::string_view id, std::string_view approver,
                                  std::string_view reason = {}) = 0;

    /// Takes back a request that is still open, or approved and unused. Nothing can be executed with it any
    /// more.
    virtual Result<Approval> revoke(std::string_view id, std::string_view by) = 0;

    /// The same call with other arguments: checked and decided anew, as a new approval that already has this
    /// vote. The old one is revoked.
    virtual Result<Approval> approve_edited(std::string_view id, Args arguments, std::string_view approver,
                                            Assurance assurance = Assurance::a2,
                                            std::string_view reason = {}) = 0;
};

}  // namespace callgate
