#include "ledger/approval_rows.h"

#include <algorithm>
#include <utility>

namespace callgate::ledger {

namespace {

constexpr std::size_t kMaxCallIds = 64;  // of calls that joined one approval
constexpr int kClearedAtOnce = 16;

}  // namespace

void ApprovalRows::insert(const Approval& approval, const base::Sha256Digest& fingerprint) {
    Request request{approval.tenant, approval.requester, fingerprint, approval.idempotency_key};
    const Place place = entries_.insert(entries_.end(), Entry{approval, std::move(request), {}});
    by_id_.emplace(place->approval.id, place);
    by_request_.insert_or_assign(place->request, place);
    add_call(place, place->approval.call_id);
}

void ApprovalRows::join(std::string_view call_id, std::string_view approval_id) {
    if (const auto found = by_id_.find(approval_id); found != by_id_.end()) add_call(found->second, call_id);
}

RowStore::OpenCount ApprovalRows::count_open(const Approval& wanted, ApprovalTime now) const {
    RowStore::OpenCount count;
    if (entries_.size() < std::min(limits_.per_principal, limits_.per_tenant)) return count;
    for (const Entry& entry : entries_) {
        if (entry.approval.tenant != wanted.tenant || !is_open(entry.approval, now)) continue;
        ++count.of_tenant;
        if (entry.approval.requester == wanted.requester) ++count.of_principal;
    }
    return count;
}

void ApprovalRows::add_call(Place place, std::string_view call_id) {
    if (call_id.empty() || place->call_ids.size() >= kMaxCallIds || by_call_.contains(call_id)) return;
    by_call_.emplace(call_id, place);
    place->call_ids.emplace_back(call_id);
}

Approval* ApprovalRows::find(std::string_view id) {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &found->second->approval;
}

Approval* ApprovalRows::find(std::string_view id, ApprovalTime now) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return nullptr;
    expire(found->second->approval, now);
    return &found->second->approval;
}

Approval* ApprovalRows::by_call(std::string_view call_id, ApprovalTime now) {
    const auto found = by_call_.find(call_id);
    if (found == by_call_.end()) return nullptr;
    expire(found->second->approval, now);
    return &found->second->approval;
}

Approval* ApprovalRows::open_for(std::string_view tenant, std::string_view requester,
                                 const base::Sha256Digest& fingerprint, std::string_view idempotency_key,
                                 ApprovalTime now) {
    const auto found = by_request_.find(
        Request{std::string(tenant), std::string(requester), fingerprint, std::string(idempotency_key)});
    if (found == by_request_.end() || !is_open(found->second->approval, now)) return nullptr;
    return &found->second->approval;
}

std::vector<Approval> ApprovalRows::list(std::optional<ApprovalState> state, ApprovalTime now) {
    std::vector<Approval> listed;
    for (Entry& entry : entries_) {
        expire(entry.approval, now);
        if (!state || entry.approval.state == *state) listed.push_back(entry.approval);
    }
    return listed;
}

bool ApprovalRows::make_room(ApprovalTime now) {
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

ApprovalRows::Place ApprovalRows::remove(Place place) {
    by_id_.erase(place->approval.id);
    for (const std::string& call_id : place->call_ids) by_call_.erase(call_id);
    if (const auto latest = by_request_.find(place->request);
        latest != by_request_.end() && latest->second == place) {
        by_request_.erase(latest);
    }
    return entries_.erase(place);
}

}  // namespace callgate::ledger
