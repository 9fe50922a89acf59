// Carries out what the ledger is asked, over its tables: T1 claim, T2 dispatch, T3 settle, and what
// approvals, recovery and operators need.
//
// Each function reads what it needs, lets the rules decide (state_machine.h, approval_rules.h) and stores the
// decision with its events. An error means that the whole transaction must be undone. Each may be run again
// from the start: it changes nothing of its request.
//
// Threads: the writer's alone, inside a transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ledger/ledger.h"
#include "ledger/sqlite/book.h"
#include "ledger/sqlite/prepared.h"

namespace callgate::ledger {

class Clerk {
public:
    using IsAlive = std::function<bool(OwnerId)>;

    /// `book` must outlive this.
    Clerk(Book& book, IsAlive is_alive) : book_(&book), is_alive_(std::move(is_alive)) {}

    Book& book() noexcept { return *book_; }

    /// T1, and T2 where it is asked for.
    Result<void> claim(const PreparedClaim& prepared, ClaimReply& reply);
    /// T2
    Result<void> dispatch(const DispatchRequest& request, DispatchReply& reply);
    /// T3
    Result<void> settle(const PreparedSettle& prepared, SettleReply& reply);
    Result<void> conclude(const ConcludeRequest& request, ConcludeReply& reply);
    Result<void> open_approval(const OpenApprovalRequest& request, OpenApprovalReply& reply);

    /// What the inner result says is an answer, and stands; what the outer one says undoes the transaction.
    template <class T>
    using Answer = Result<Result<T>>;

    /// The event's number is set if the vote counts.
    Answer<Approval> vote(std::string_view id, const Vote& vote, AuditEvent& event);
    Answer<Approval> revoke(std::string_view id, AuditEvent& event);
    Answer<CallRow> resolve(const CallId& call_id, bool applied, std::shared_ptr<const StoredOutcome> outcome,
                            AuditEvent& event);

    /// C2 for one call in doubt; nothing if it is not in doubt any more.
    Result<void> adopt(const AdoptRequest& request, AdoptReply& reply);

    /// What the calls of owners that are gone become, from the one behind `after` on, at most `limit`.
    struct Recovered {
        std::uint64_t seen = 0;  ///< 0: there are no more
        std::uint64_t unknown = 0;
        std::uint64_t freed = 0;
        std::uint64_t left_to_claims = 0;  ///< may be sent again, or a probe can tell
        CallId last{};
    };
    Result<Recovered> take_over_orphans(const CallId& after, std::size_t limit);

    /// What has expired goes, at most `limit` of each kind. How many.
    Result<std::int64_t> collect(std::size_t limit);

private:
    Result<std::int64_t> give_up_left(base::WallTime begun_before, std::size_t limit);

    Book* book_;
    IsAlive is_alive_;
};

}  // namespace callgate::ledger
