// The ledger's operations as transactions of its file: the procedures (procedures.h) over the file's rows,
// and what recovery and clearing away need.
//
// An error means that the whole transaction must be undone. Each may be run again from the start: it changes
// nothing of its request.
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
#include "ledger/procedures.h"
#include "ledger/sqlite/prepared.h"
#include "ledger/sqlite/sqlite_rows.h"

namespace callgate::ledger {

class Transactions {
public:
    using IsAlive = SqliteRows::IsAlive;

    /// `tables` must outlive this.
    Transactions(Tables& tables, IsAlive is_alive) : tables_(&tables), is_alive_(std::move(is_alive)) {}

    Tables& tables() noexcept { return *tables_; }

    Result<void> claim(const PreparedClaim& prepared, ClaimReply& reply);
    Result<void> dispatch(const DispatchRequest& request, DispatchReply& reply);
    Result<void> settle(const PreparedSettle& prepared, SettleReply& reply);
    Result<void> conclude(const ConcludeRequest& request, ConcludeReply& reply);
    Result<void> open_approval(const OpenApprovalRequest& request, OpenApprovalReply& reply);

    /// The event's number is set if the vote counts.
    Answered<Approval> vote(std::string_view id, const Vote& vote, AuditEvent& event);
    Answered<Approval> revoke(std::string_view id, AuditEvent& event);
    Answered<CallRow> resolve(const CallId& call_id, bool applied,
                              const std::shared_ptr<const StoredOutcome>& outcome, AuditEvent& event);

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
    Result<CallState> give_up(const StoredCall& call);
    Result<std::int64_t> give_up_left(base::WallTime begun_before, std::size_t limit);

    Tables* tables_;
    IsAlive is_alive_;
};

}  // namespace callgate::ledger
