#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "ledger/control/row_views.h"
#include "ledger/control/signed_vote.h"
#include "ledger/control/verbs.h"
#include "ledger/operators.h"

namespace callgate::ledger {
namespace {

constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kLongestKey = 256;
constexpr std::size_t kLongestSignature = 128;

tl::unexpected<Error> own_request(const Approval& approval) {
    return fail(ErrorCode::denied,
                fmt::format("Approval {} was asked for by '{}', and that is you: somebody else must decide "
                            "it. To withdraw the request, revoke it.",
                            approval.id, approval.requester),
                {{"reason", "self_approval"}, {"approval_id", approval.id}});
}

// Better told here, where it can be said what to do, than by the rule that would refuse it.
tl::unexpected<Error> needs_signature(const Approval& approval) {
    return fail(ErrorCode::denied,
                fmt::format("Approval {} needs a person's decision ({}), and any program that runs as you "
                            "could have sent this one ({}). Sign it: `callgate operator enroll` makes your "
                            "key, once, and `callgate approvals approve` then asks for its passphrase. Or "
                            "let the host's configuration name you as an operator.",
                            approval.id, to_string(approval.assurance_needed), to_string(Assurance::a1)),
                {{"reason", "assurance_too_low"}, {"approval_id", approval.id}, {"sign", true}});
}

Value shown(const Approval& approval, const VerbRequest& request) {
    return {
        {"approval", to_json(approval, request.operations.approval_time())},
        {"your_assurance", to_string(assurance_of(request.user.uid, request.operations.operator_uids()))}};
}

// An owner counts from its own start, so the count alone would repeat under the next one.
std::string version_of(VerbRequest& request) {
    return fmt::format("{}-{}", request.incarnation, request.operations.approvals_version());
}

Result<Value> list_approvals(VerbRequest& request) {
    ApprovalQuery query;
    query.state = choice(request.members, "state", ApprovalState::superseded);
    query.before = request.members.text_or("before", {});
    const std::size_t limit = request.members.number_or("limit", kUsualPage, 1, kLargestPage);
    CALLGATE_TRY(request.members.done());
    query.limit = limit + 1;
    // Read before the page: what changes in between is seen by who asks for this version again.
    const std::string version = version_of(request);
    CALLGATE_TRY_ASSIGN(auto page, request.operations.page_of_approvals(query));
    Value next = cut_to_page(page, limit, [](const Approval& last) { return last.id; });
    const base::WallTime now = request.operations.approval_time();
    Array rows;
    for (const Approval& approval : page) rows.push_back(summary_json(approval, now));
    return Value{{"approvals", std::move(rows)}, {"next", std::move(next)}, {"version", version}};
}

Result<Value> version(VerbRequest& request) {
    CALLGATE_TRY(request.members.done());
    return Value{{"version", version_of(request)}};
}

Result<Value> show_approval(VerbRequest& request) {
    const std::string id = request.members.text("id");
    CALLGATE_TRY(request.members.done());
    CALLGATE_TRY_ASSIGN(const auto approval, find_approval(request, id));
    return shown(approval, request);
}

Result<Value> vote(VerbRequest& request) {
    const std::string id = request.members.text("id");
    const bool yes = request.members.flag("approve");
    const std::string digest = yes ? request.members.text("digest", kDigestDigits)
                                   : request.members.text_or("digest", {}, kDigestDigits);
    const std::string reason = request.members.text_or("reason", {}, kLongestReason);
    SignedVote signature;
    signature.key = request.members.text_or("key", {}, kLongestKey);
    signature.signature = request.members.text_or("signature", {}, kLongestSignature);
    signature.succession =
        request.members.texts_or_none("succession", kMostSuccessions, kLongestKey + kLongestSignature);
    CALLGATE_TRY(request.members.done());
    CALLGATE_TRY_ASSIGN(const auto approval, find_approval(request, id));
    if (!digest.empty() && digest != approval.digest)
        return fail(ErrorCode::denied,
                    fmt::format("The digest is not that of approval {}: what was shown is not what would be "
                                "decided. Look at it again.",
                                approval.id),
                    {{"reason", "digest_mismatch"}, {"approval_id", approval.id}});
    Vote vote;
    vote.approver = request.user.name;
    vote.assurance = assurance_of(request.user.uid, request.operations.operator_uids());
    vote.approve = yes;
    vote.reason = with_origin(reason, request.user);
    vote.uid = request.user.uid;
    CALLGATE_TRY_ASSIGN(const auto own, is_own_request(approval.requester, request.user.uid));
    if (own) return own_request(approval);
    if (!signature.signature.empty()) {
        CALLGATE_TRY(
            check_signature(request.operations, request.user, approval, yes, signature, request.sink));
        vote.assurance = std::max(vote.assurance, Assurance::a2);
        vote.key = signature.key;
        vote.signature = signature.signature;
    } else if (yes && approval.state == ApprovalState::pending && vote.assurance < Assurance::a2 &&
               approval.assurance_needed >= Assurance::a2) {
        return needs_signature(approval);
    }
    vote.at = request.clock.wall_now();
    CALLGATE_TRY_ASSIGN(const auto voted,
                        cast_vote(request.ledger, approval.id, std::move(vote), request.sink));
    return shown(voted, request);
}

Result<Value> revoke(VerbRequest& request) {
    const std::string id = request.members.text("id");
    const std::string reason = request.members.text_or("reason", {}, kLongestReason);
    CALLGATE_TRY(request.members.done());
    CALLGATE_TRY_ASSIGN(const auto approval, find_approval(request, id));
    CALLGATE_TRY_ASSIGN(const auto revoked, take_back(request.ledger, approval.id, request.user.name,
                                                      with_origin(reason, request.user), request.sink));
    return shown(revoked, request);
}

}  // namespace

std::span<const Verb> approval_verbs() noexcept {
    constexpr auto writes = Verb::Length::writes;
    static constexpr std::array kVerbs = {
        Verb{"approvals.list", list_approvals}, Verb{"approvals.version", version},
        Verb{"approvals.show", show_approval}, Verb{"approvals.vote", vote, writes},
        Verb{"approvals.revoke", revoke, writes}};
    return kVerbs;
}

}  // namespace callgate::ledger
