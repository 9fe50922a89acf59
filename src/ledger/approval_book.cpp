#include "ledger/approval_book.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace callgate::ledger {

namespace {

constexpr std::chrono::milliseconds kLongestLife = std::chrono::hours(24);
constexpr std::size_t kMaxCallIds = 64;  // of calls that joined one approval
constexpr int kClearedAtOnce = 16;

}  // namespace

Result<ApprovalBook::Opened> ApprovalBook::open(Approval approval, const base::Sha256Digest& fingerprint,
                                                std::chrono::milliseconds lifetime, ApprovalTime now) {
    Request request{approval.tenant, approval.requester, fingerprint, approval.idempotency_key};
    Approval* stale = nullptr;
    if (const auto same = by_request_.find(request);
        same != by_request_.end() && is_open(same->second->approval, now)) {
        if (can_join(same->second->approval, approval.binding)) {
            add_call(same->second, approval.call_id);
            return Opened{&same->second->approval, true};
        }
        stale = &same->second->approval;
    }
    if (approval.id.empty() || by_id_.contains(approval.id)) {
        return fail(ErrorCode::internal, fmt::format("'{}' cannot be the id of a new approval.", approval.id),
                    {{"reason", "bad_approval_id"}});
    }
    // The one whose place it takes makes room for it.
    if (stale == nullptr) {
        if (auto share = check_share(approval, now); !share) return tl::unexpected(std::move(share.error()));
    }
    if (!make_room(now) && stale == nullptr) {
        return fail(
            ErrorCode::ledger_unavailable,
            fmt::format(
                "{} approvals are open, and there is no room for another. Decide or revoke some of them.",
                entries_.size()),
            {{"reason", "approvals_full"}, {"limit", max_approvals_}});
    }
    approval.state = ApprovalState::pending;
    approval.votes.clear();
    approval.consumed_by.clear();
    approval.created_at = now;
    approval.expires_at = now + std::clamp(lifetime, std::chrono::milliseconds(0), kLongestLife);

    const Place place = entries_.insert(entries_.end(), Entry{std::move(approval), std::move(request), {}});
    by_id_.emplace(place->approval.id, place);
    by_request_.insert_or_assign(place->request, place);
    add_call(place, place->approval.call_id);
    if (stale != nullptr) supersede(*stale, place->approval.id);
    return Opened{&place->approval, false, stale};
}

Result<void> ApprovalBook::check_share(const Approval& approval, ApprovalTime now) const {
    if (entries_.size() < std::min(limits_.per_principal, limits_.per_tenant)) return {};
    std::size_t of_principal = 0;
    std::size_t of_tenant = 0;
    for (const Entry& entry : entries_) {
        if (entry.approval.tenant != approval.tenant || !is_open(entry.approval, now)) continue;
        ++of_tenant;
        if (entry.approval.requester == approval.requester) ++of_principal;
    }
    return check_open_approvals(limits_, of_principal, of_tenant);
}

void ApprovalBook::add_call(Place place, std::string_view call_id) {
    if (call_id.empty() || place->call_ids.size() >= kMaxCallIds || by_call_.contains(call_id)) return;
    by_call_.emplace(call_id, place);
    place->call_ids.emplace_back(call_id);
}

Approval* ApprovalBook::find(std::string_view id, ApprovalTime now) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return nullptr;
    expire(found->second->approval, now);
    return &found->second->approval;
}

Approval* ApprovalBook::by_call(std::string_view call_id, ApprovalTime now) {
    const auto found = by_call_.find(call_id);
    if (found == by_call_.end()) return nullptr;
    expire(found->second->approval, now);
    return &found->second->approval;
}

Approval* ApprovalBook::open_for(std::string_view tenant, std::string_view requester,
                                 const base::Sha256Digest& fingerprint, std::string_view idempotency_key,
                                 ApprovalTime now) {
    const auto found = by_request_.find(
        Request{std::string(tenant), std::string(requester), fingerprint, std::string(idempotency_key)});
    if (found == by_request_.end() || !is_open(found->second->approval, now)) return nullptr;
    return &found->second->approval;
}

std::vector<Approval> ApprovalBook::list(std::optional<ApprovalState> state, ApprovalTime now) {
    std::vector<Approval> listed;
    for (Entry& entry : entries_) {
        expire(entry.approval, now);
        if (!state || entry.approval.state == *state) listed.push_back(entry.approval);
    }
    return listed;
}

bool ApprovalBook::make_room(ApprovalTime now) {
    auto place = entries_.begin();
    for (int i = 0; i < kClearedAtOnce && place != entries_.end(); ++i) {
        const bool stale = !is_open(place->approval, now) && place->approval.expires_at + kept_ <= now;
        place = stale ? remove(place) : std::next(place);
    }
    if (entries_.size() < max_approvals_) return true;
    const auto useless =
        std::ranges::find_if(entries_, [now](const Entry& entry) { return !is_open(entry.approval, now); });
    if (useless == entries_.end()) return false;
    remove(useless);
    return entries_.size() < max_approvals_;
}

ApprovalBook::Place ApprovalBook::remove(Place place) {
    by_id_.erase(place->approval.id);
    for (const std::string& call_id : place->call_ids) by_call_.erase(call_id);
    if (const auto latest = by_request_.find(place->request);
        latest != by_request_.end() && latest->second == place) {
        by_request_.erase(latest);
    }
    return entries_.erase(place);
}

}  // namespace callgate::ledger
