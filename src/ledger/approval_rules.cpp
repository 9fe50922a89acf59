#include "ledger/approval_rules.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/guard.h"

namespace callgate {

std::string_view to_string(ApprovalState state) noexcept {
    switch (state) {
        case ApprovalState::pending: return "pending";
        case ApprovalState::approved: return "approved";
        case ApprovalState::denied: return "denied";
        case ApprovalState::expired: return "expired";
        case ApprovalState::consumed: return "consumed";
        case ApprovalState::revoked: return "revoked";
        case ApprovalState::superseded: return "superseded";
    }
    return "pending";
}

std::string_view to_string(Assurance assurance) noexcept {
    switch (assurance) {
        case Assurance::a1: return "A1";
        case Assurance::a2: return "A2";
        case Assurance::a3: return "A3";
    }
    return "A1";
}

}  // namespace callgate

namespace callgate::ledger {

namespace {

/// Refused votes are not kept and approvers count once, so only a host that names thousands of approvers gets
/// here.
constexpr std::size_t kMaxVotes = 1'000;

std::string_view trimmed(std::string_view text) noexcept {
    const auto is_space = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

/// Where A3 is asked for a critical call, two people at A2 do.
bool two_persons_do(const Approval& approval) noexcept {
    return approval.risk == Risk::critical && approval.assurance_needed == Assurance::a3;
}

Assurance least_assurance(const Approval& approval) noexcept {
    return two_persons_do(approval) ? Assurance::a2 : approval.assurance_needed;
}

bool has_enough(const Approval& approval) noexcept {
    const auto count = [&](Assurance least) {
        return std::count_if(approval.votes.begin(), approval.votes.end(),
                             [least](const Vote& v) { return v.approve && v.assurance >= least; });
    };
    const std::int64_t needed = std::max<std::int64_t>(approval.approvals_needed, 1);
    if (count(approval.assurance_needed) >= needed) return true;
    return two_persons_do(approval) && count(Assurance::a2) >= std::max<std::int64_t>(needed, 2);
}

/// Whether its votes alone make it approved.
bool is_borne_out(const Approval& approval) noexcept {
    const auto excluded = [&](const Vote& vote) {
        return !vote.approve || same_person(vote.approver, approval.requester);
    };
    if (std::ranges::any_of(approval.votes, excluded)) return false;
    for (auto vote = approval.votes.begin(); vote != approval.votes.end(); ++vote) {
        const bool again = std::any_of(approval.votes.begin(), vote,
                                       [&](const Vote& earlier) { return same_voter(earlier, *vote); });
        if (again) return false;
    }
    return has_enough(approval);
}

Error decided(const Approval& approval) {
    const Object details{{"reason", approval.state == ApprovalState::expired ? "expired" : "already_decided"},
                         {"approval_id", approval.id},
                         {"state", to_string(approval.state)}};
    switch (approval.state) {
        case ApprovalState::expired:
            return {ErrorCode::approval_expired,
                    fmt::format("Approval {} has expired. Make the call again to ask anew.", approval.id),
                    details};
        case ApprovalState::denied:
            return {ErrorCode::approval_denied,
                    fmt::format("Approval {} was denied, and one denial is final. Make another call if it is "
                                "still wanted.",
                                approval.id),
                    details};
        case ApprovalState::superseded:
            return {ErrorCode::denied,
                    fmt::format("Approval {} would not be honoured any more: what it was bound to has "
                                "changed since. Approval {} took its place; decide that one.",
                                approval.id, approval.superseded_by),
                    {{"reason", "superseded"},
                     {"approval_id", approval.id},
                     {"state", to_string(approval.state)},
                     {"superseded_by", approval.superseded_by}}};
        default:
            return {ErrorCode::denied,
                    fmt::format(
                        "Approval {} is already {}. A call that is to be decided anew needs a new approval.",
                        approval.id, to_string(approval.state)),
                    details};
    }
}

tl::unexpected<Error> refused(const Approval& approval, std::string_view reason, std::string message) {
    return fail(ErrorCode::denied, std::move(message), {{"reason", reason}, {"approval_id", approval.id}});
}

}  // namespace

std::string_view to_string(ApprovalVerdict verdict) noexcept {
    switch (verdict) {
        case ApprovalVerdict::ok: return "ok";
        case ApprovalVerdict::not_found: return "not_found";
        case ApprovalVerdict::pending: return "pending";
        case ApprovalVerdict::denied: return "denied";
        case ApprovalVerdict::expired: return "expired";
        case ApprovalVerdict::consumed: return "consumed";
        case ApprovalVerdict::revoked: return "revoked";
        case ApprovalVerdict::superseded: return "superseded";
        case ApprovalVerdict::other_call: return "other_call";
        case ApprovalVerdict::tampered: return "tampered";
    }
    return "not_found";
}

Result<void> check_open_approvals(const OpenApprovalLimits& limits, std::size_t of_principal,
                                  std::size_t of_tenant) {
    const auto full = [](std::string_view whose, std::string_view reason, std::size_t limit) {
        return fail(ErrorCode::rate_limited,
                    fmt::format("{} calls of this {} wait for a decision already. Decide or revoke some.",
                                limit, whose),
                    {{"reason", reason}, {"limit", limit}});
    };
    if (of_principal >= limits.per_principal && CALLGATE_GUARD(approvals_capped))
        return full("principal", "approvals_full_for_principal", limits.per_principal);
    if (of_tenant >= limits.per_tenant) return full("tenant", "approvals_full_for_tenant", limits.per_tenant);
    return {};
}

std::string_view bare_name(std::string_view name) noexcept {
    constexpr std::string_view kUser = "user:";
    name = trimmed(name);
    if (!std::ranges::equal(name.substr(0, kUser.size()), kUser, {}, base::ascii_lower)) return name;
    return trimmed(name.substr(kUser.size()));
}

bool same_person(std::string_view one, std::string_view other) noexcept {
    return std::ranges::equal(bare_name(one), bare_name(other), {}, base::ascii_lower, base::ascii_lower);
}

tl::unexpected<Error> tampered_approval(std::string_view id) {
    return fail(ErrorCode::ledger_unavailable,
                fmt::format("The record of approval {} in the ledger's file is not what this program wrote: "
                            "somebody changed it. It is not used. Find out who can write that file, run "
                            "`callgate ledger check`, and make the call again to ask anew.",
                            id),
                {{"reason", "tampered"}, {"approval_id", id}});
}

bool is_tampered(const Error& error) {
    const Value* reason = error.details.if_contains("reason");
    return reason != nullptr && reason->is_string() && reason->get_string() == "tampered";
}

bool same_voter(const Vote& one, const Vote& other) noexcept {
    return (one.uid >= 0 && one.uid == other.uid) || same_person(one.approver, other.approver);
}

bool is_open(const Approval& approval, ApprovalTime now) noexcept {
    const bool undecided =
        approval.state == ApprovalState::pending || approval.state == ApprovalState::approved;
    return undecided && now < approval.expires_at;
}

bool expire(Approval& approval, ApprovalTime now) noexcept {
    const bool undecided =
        approval.state == ApprovalState::pending || approval.state == ApprovalState::approved;
    if (!undecided || now < approval.expires_at) return false;
    approval.state = ApprovalState::expired;
    return true;
}

Result<bool> vote(Approval& approval, Vote vote, ApprovalTime now) {
    expire(approval, now);
    if (approval.state != ApprovalState::pending) return tl::unexpected(decided(approval));
    if (trimmed(vote.approver).empty()) {
        return refused(approval, "approver_missing",
                       fmt::format("A vote on approval {} needs the name of who decides.", approval.id));
    }
    if (same_person(vote.approver, approval.requester)) {
        return refused(
            approval, "self_approval",
            fmt::format("Approval {} was asked for by '{}', who cannot decide it. Somebody else must; to "
                        "withdraw the request, revoke it.",
                        approval.id, approval.requester));
    }
    if (vote.approve && vote.assurance < least_assurance(approval)) {
        return refused(
            approval, "assurance_too_low",
            fmt::format("Approval {} needs a decision with assurance {} and got {}. Decide it through a "
                        "channel that gives it.",
                        approval.id, to_string(least_assurance(approval)), to_string(vote.assurance)));
    }
    const auto earlier =
        std::ranges::find_if(approval.votes, [&](const Vote& v) { return same_voter(v, vote); });
    if (earlier != approval.votes.end() && vote.approve) return false;

    vote.at = now;
    if (!vote.approve) {
        approval.state = ApprovalState::denied;
        approval.votes.push_back(std::move(vote));
        return true;
    }
    if (approval.votes.size() >= kMaxVotes) {
        return refused(
            approval, "too_many_votes",
            fmt::format("Approval {} has {} votes already and takes no more.", approval.id, kMaxVotes));
    }
    approval.votes.push_back(std::move(vote));
    if (has_enough(approval)) approval.state = ApprovalState::approved;
    return true;
}

ApprovalVerdict judge_use(const Approval& approval, const ConsumeRequest& request,
                          ApprovalTime now) noexcept {
    if (request.tenant != approval.tenant) return ApprovalVerdict::not_found;
    const bool same_call = request.principal == approval.requester && request.digest == approval.digest;
    if (!same_call || approval.digest.empty()) return ApprovalVerdict::other_call;
    if (!CALLGATE_GUARD(approval_compare_and_set)) return ApprovalVerdict::ok;
    switch (approval.state) {
        case ApprovalState::denied: return ApprovalVerdict::denied;
        case ApprovalState::expired: return ApprovalVerdict::expired;
        case ApprovalState::consumed: return ApprovalVerdict::consumed;
        case ApprovalState::revoked: return ApprovalVerdict::revoked;
        case ApprovalState::superseded: return ApprovalVerdict::superseded;
        case ApprovalState::pending:
            return now < approval.expires_at ? ApprovalVerdict::pending : ApprovalVerdict::expired;
        case ApprovalState::approved:
            if (now >= approval.expires_at) return ApprovalVerdict::expired;
            return is_borne_out(approval) ? ApprovalVerdict::ok : ApprovalVerdict::tampered;
    }
    return ApprovalVerdict::not_found;
}

ApprovalVerdict consume(Approval& approval, const ConsumeRequest& request, ApprovalTime now) {
    const ApprovalVerdict verdict = judge_use(approval, request, now);
    if (verdict == ApprovalVerdict::ok) {
        approval.consumed_by = request.call_id;
        approval.state = ApprovalState::consumed;
    } else {
        expire(approval, now);
    }
    return verdict;
}

Result<void> revoke(Approval& approval, ApprovalTime now) {
    expire(approval, now);
    if (approval.state != ApprovalState::pending && approval.state != ApprovalState::approved) {
        return tl::unexpected(decided(approval));
    }
    approval.state = ApprovalState::revoked;
    return {};
}

bool can_join(const Approval& approval, std::string_view binding) noexcept {
    return approval.binding == binding || !CALLGATE_GUARD(stale_not_joined);
}

void supersede(Approval& approval, std::string_view by) {
    approval.state = ApprovalState::superseded;
    approval.superseded_by = by;
}

}  // namespace callgate::ledger
