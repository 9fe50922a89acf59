// The approvals of the in-memory ledger, in the order they were asked for, with the rules of
// approval_rules.h.
//
// Bounded: past `max_approvals` the oldest that can no longer be used goes; if all can, none is opened. Nor
// is one for a principal or a tenant that has as many open as it may. Those that can no longer be used are
// kept for a while, for people to look at.
//
// Threads: one at a time; MemoryLedger holds its lock.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <callgate/approvals.h>
#include <callgate/error.h>

#include "base/sha256.h"
#include "ledger/approval_rules.h"
#include "ledger/row_store.h"

namespace callgate::ledger {

class ApprovalRows {
public:
    ApprovalRows(std::size_t max_approvals, OpenApprovalLimits open, std::chrono::nanoseconds kept)
        : max_approvals_(max_approvals), limits_(open), kept_(kept) {}

    const OpenApprovalLimits& open_limits() const noexcept { return limits_; }
    std::size_t max_approvals() const noexcept { return max_approvals_; }

    /// Makes room for one more. False: all can still be used, and there are as many as there may be.
    bool make_room(ApprovalTime now);
    /// Its id must be new. Of two for the same request the later is found.
    void insert(const Approval& approval, const base::Sha256Digest& fingerprint);
    /// The call is found under the approval, too.
    void join(std::string_view call_id, std::string_view approval_id);
    bool contains(std::string_view id) const { return by_id_.contains(id); }
    /// How many are open for the tenant and its requester. Zeros while no limit can be reached.
    RowStore::OpenCount count_open(const Approval& wanted, ApprovalTime now) const;

    /// As written, whether or not it has expired.
    Approval* find(std::string_view id);
    Approval* find(std::string_view id, ApprovalTime now);
    Approval* by_call(std::string_view call_id, ApprovalTime now);
    Approval* open_for(std::string_view tenant, std::string_view requester,
                       const base::Sha256Digest& fingerprint, std::string_view idempotency_key,
                       ApprovalTime now);
    std::vector<Approval> list(std::optional<ApprovalState> state, ApprovalTime now);

private:
    /// tenant, requester, fingerprint, idempotency key
    using Request = std::tuple<std::string, std::string, base::Sha256Digest, std::string>;
    struct Entry {
        Approval approval;
        Request request;
        std::vector<std::string> call_ids;
    };
    using Place = std::list<Entry>::iterator;

    Place remove(Place place);
    void add_call(Place place, std::string_view call_id);

    std::size_t max_approvals_;
    OpenApprovalLimits limits_;
    std::chrono::nanoseconds kept_;
    std::list<Entry> entries_;
    std::map<std::string, Place, std::less<>> by_id_;
    std::map<std::string, Place, std::less<>> by_call_;
    std::map<Request, Place> by_request_;  // the latest of each
};

}  // namespace callgate::ledger
