#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "ledger/control/row_views.h"
#include "ledger/control/verbs.h"

namespace callgate::ledger {
namespace {

constexpr std::size_t kDigestDigits = 64;

Value shown(const Approval& approval, const Asked& asked) {
    return {{"approval", to_json(approval, asked.operations.approval_time())}};
}

// Counts are of one owner's life, and the next one begins anew.
std::string version_of(Asked& asked) {
    return fmt::format("{}-{}", asked.incarnation, asked.operations.approvals_version());
}

Result<Value> list(Asked& asked) {
    ApprovalQuery query;
    query.state = choice(asked.members, "state", ApprovalState::revoked);
    query.before = asked.members.text_or("before", {});
    const std::size_t limit = asked.members.number_or("limit", kUsualPage, 1, kLargestPage);
    if (auto read = asked.members.done(); !read) return tl::unexpected(std::move(read.error()));
    query.limit = limit + 1;
    // Read before the page: what changes in between is seen by who asks for this version again.
    std::string version = version_of(asked);
    auto page = asked.operations.page_of_approvals(query);
    if (!page) return tl::unexpected(std::move(page.error()));
    Value next = cut_to_page(*page, limit, [](const Approval& last) { return last.id; });
    const base::WallTime now = asked.operations.approval_time();
    Array rows;
    for (const Approval& approval : *page) rows.push_back(summary_json(approval, now));
    return Value{{"approvals", std::move(rows)}, {"next", std::move(next)}, {"version", std::move(version)}};
}

Result<Value> version(Asked& asked) {
    if (auto read = asked.members.done(); !read) return tl::unexpected(std::move(read.error()));
    return Value{{"version", version_of(asked)}};
}

Result<Value> show(Asked& asked) {
    const std::string id = asked.members.text("id");
    if (auto read = asked.members.done(); !read) return tl::unexpected(std::move(read.error()));
    const auto approval = find_approval(asked, id);
    if (!approval) return tl::unexpected(approval.error());
    return shown(*approval, asked);
}

Result<Value> vote(Asked& asked) {
    const std::string id = asked.members.text("id");
    const bool yes = asked.members.flag("approve");
    const std::string digest = yes ? asked.members.text("digest", kDigestDigits)
                                   : asked.members.text_or("digest", {}, kDigestDigits);
    const std::string reason = asked.members.text_or("reason", {}, kLongestReason);
    if (auto read = asked.members.done(); !read) return tl::unexpected(std::move(read.error()));
    const auto approval = find_approval(asked, id);
    if (!approval) return tl::unexpected(approval.error());
    if (!digest.empty() && digest != approval->digest)
        return fail(ErrorCode::denied,
                    fmt::format("The digest is not that of approval {}: what was shown is not what would be "
                                "decided. Look at it again.",
                                approval->id),
                    {{"reason", "digest_mismatch"}, {"approval_id", approval->id}});
    Vote vote;
    vote.approver = asked.asker.name;
    vote.assurance = Assurance::a2;
    vote.approve = yes;
    vote.reason = with_origin(reason, asked.asker);
    vote.at = asked.clock.wall_now();
    const auto voted = cast_vote(asked.ledger, approval->id, std::move(vote), asked.told);
    if (!voted) return tl::unexpected(voted.error());
    return shown(*voted, asked);
}

Result<Value> revoke(Asked& asked) {
    const std::string id = asked.members.text("id");
    const std::string reason = asked.members.text_or("reason", {}, kLongestReason);
    if (auto read = asked.members.done(); !read) return tl::unexpected(std::move(read.error()));
    const auto approval = find_approval(asked, id);
    if (!approval) return tl::unexpected(approval.error());
    const auto revoked =
        take_back(asked.ledger, approval->id, asked.asker.name, with_origin(reason, asked.asker), asked.told);
    if (!revoked) return tl::unexpected(revoked.error());
    return shown(*revoked, asked);
}

}  // namespace

std::span<const Verb> approval_verbs() noexcept {
    static constexpr std::array kVerbs = {Verb{"approvals.list", list}, Verb{"approvals.version", version},
                                          Verb{"approvals.show", show}, Verb{"approvals.vote", vote},
                                          Verb{"approvals.revoke", revoke}};
    return kVerbs;
}

}  // namespace callgate::ledger
