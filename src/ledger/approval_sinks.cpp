#include "ledger/approval_sinks.h"

#include <utility>

namespace callgate {

std::string_view to_string(ApprovalChange::What what) noexcept {
    switch (what) {
        case ApprovalChange::What::opened: return "opened";
        case ApprovalChange::What::voted: return "voted";
        case ApprovalChange::What::decided: return "decided";
        case ApprovalChange::What::expired: return "expired";
        case ApprovalChange::What::consumed: return "consumed";
        case ApprovalChange::What::revoked: return "revoked";
        case ApprovalChange::What::superseded: return "superseded";
        case ApprovalChange::What::missed: break;
    }
    return "missed";
}

}  // namespace callgate

namespace callgate::ledger {

ApprovalChange change_of(const Approval& approval, ApprovalState before) {
    using What = ApprovalChange::What;
    if (approval.state == before) return {What::voted, approval};
    switch (approval.state) {
        case ApprovalState::pending: return {What::opened, approval};
        case ApprovalState::approved:
        case ApprovalState::denied: return {What::decided, approval};
        case ApprovalState::expired: return {What::expired, approval};
        case ApprovalState::consumed: return {What::consumed, approval};
        case ApprovalState::revoked: return {What::revoked, approval};
        case ApprovalState::superseded: break;
    }
    return {What::superseded, approval};
}

void ApprovalSinks::add(std::weak_ptr<ApprovalSink> sink) {
    const base::MutexLock lock(mutex_);
    std::erase_if(sinks_, [](const auto& one) { return one.expired(); });
    sinks_.push_back(std::move(sink));
}

void ApprovalSinks::tell(const std::vector<ApprovalChange>& changes) {
    if (changes.empty()) return;
    std::vector<std::shared_ptr<ApprovalSink>> sinks;
    {
        const base::MutexLock lock(mutex_);
        for (const auto& one : sinks_) {
            if (auto sink = one.lock()) sinks.push_back(std::move(sink));
        }
    }
    for (const ApprovalChange& change : changes) {
        for (const auto& sink : sinks) sink->changed(change);
    }
}

}  // namespace callgate::ledger
