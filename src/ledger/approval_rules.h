// The rules of approvals as pure functions: what a vote, a use, a withdrawal or the time does to one.
//
// One denial is final. Votes of the same approver count once. Nobody approves what they asked for. A vote
// that is not sure enough is refused, not counted. Expiry is checked when somebody votes and again when it is
// used. It is used once, and only by the requester for the call it was given for.
//
// Threads: pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <callgate/approvals.h>
#include <callgate/error.h>

namespace callgate::ledger {

enum class ApprovalVerdict : std::uint8_t {
    ok,
    not_found,
    pending,
    denied,
    expired,
    consumed,
    revoked,
    superseded,
    other_call,
    tampered  ///< it says approved, and its votes do not
};
std::string_view to_string(ApprovalVerdict verdict) noexcept;

using ApprovalTime = std::chrono::system_clock::time_point;

/// How many approvals may be open, of one principal and of one tenant.
struct OpenApprovalLimits {
    std::size_t per_principal = 1'000;
    std::size_t per_tenant = 5'000;

    OpenApprovalLimits() {}
};
/// rate_limited {reason: approvals_full_for_principal, approvals_full_for_tenant} where there are as many
/// open already.
Result<void> check_open_approvals(const OpenApprovalLimits& limits, std::size_t of_principal,
                                  std::size_t of_tenant);

/// Pending or approved, as far as the time allows.
bool is_open(const Approval& approval, ApprovalTime now) noexcept;

/// Marks it expired if its time has come. True if that changed it.
bool expire(Approval& approval, ApprovalTime now) noexcept;

/// True: counted. False: the same approver said so before, nothing changed. Otherwise it is
/// unchanged, except that it may have expired:
///   denied, its reason approver_missing, self_approval, assurance_too_low, already_decided, superseded or
///     too_many_votes
///   approval_denied {reason: already_decided}, approval_expired {reason: expired}
/// A denial needs no assurance, and also takes back the approver's own earlier yes while others are still
/// asked.
Result<bool> vote(Approval& approval, Vote vote, ApprovalTime now);

/// Who wants to use it, and for what.
struct ConsumeRequest {
    std::string_view tenant;
    std::string_view principal;
    std::string_view digest;   ///< hex, of the call as it would run now
    std::string_view call_id;  ///< text, for the record

    ConsumeRequest(std::string_view of_tenant, std::string_view of_principal, std::string_view hex_digest,
                   std::string_view for_call)
        : tenant(of_tenant), principal(of_principal), digest(hex_digest), call_id(for_call) {}
};

/// What consume() would say. Another tenant's approval does not exist. The votes are counted again: a state
/// that they do not bear out is worth nothing.
ApprovalVerdict judge_use(const Approval& approval, const ConsumeRequest& request, ApprovalTime now) noexcept;

/// approved → consumed, once. Anything but ok: not used (it may have become expired).
ApprovalVerdict consume(Approval& approval, const ConsumeRequest& request, ApprovalTime now);

/// Takes it back: from pending or approved, unused. denied {reason: already_decided}, approval_denied,
/// approval_expired as for a vote. Who did is in the audit.
Result<void> revoke(Approval& approval, ApprovalTime now);

/// Whether a request that would be bound like this joins it: the current rules would honour it.
bool can_join(const Approval& approval, std::string_view binding) noexcept;

/// Another one takes its place: from pending or approved, unused.
void supersede(Approval& approval, std::string_view by);

/// Somebody else changed the approval where it is stored. ledger_unavailable {reason: tampered}.
tl::unexpected<Error> tampered_approval(std::string_view id);
bool is_tampered(const Error& error);

/// Whether one person cast both: by uid where both have one, and by name.
bool same_voter(const Vote& one, const Vote& other) noexcept;

/// Without surrounding spaces and without the mark of who decides as a user of the operating system
/// (control/control_user.h): `ada` for ` User: ada`.
std::string_view bare_name(std::string_view name) noexcept;

/// The same person: compared without surrounding spaces and without ASCII case. `user:ada`, as who decides
/// through the control socket is called, is ada.
bool same_person(std::string_view one, std::string_view other) noexcept;

}  // namespace callgate::ledger
