// Approvals and their votes in the ledger's file, with the rules of approval_rules.h.
//
// Each row carries a MAC (vote_mac.h), which is looked at whenever one is read: a row that was changed by
// somebody without the ledger's key is refused (ledger_unavailable {reason: tampered}), never taken for what
// it says. One that is older than the MACs counts as expired while it is open.
//
// What an approval is about is sealed; the columns beside it are what it is found and judged by. That one has
// expired is seen when it is looked at, and written down when it is next changed.
//
// Threads: as its connection, one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/approvals.h>

#include "base/seal.h"
#include "base/sha256.h"
#include "ledger/approval_rules.h"
#include "ledger/operations.h"
#include "ledger/row_store.h"
#include "ledger/sqlite/database.h"
#include "ledger/sqlite/vote_mac.h"

namespace callgate::ledger {

/// Who asks for what under which key: the same request joins the approval that is open for it.
base::Sha256Digest hash_of_request(std::string_view tenant, std::string_view requester,
                                   const base::Sha256Digest& fingerprint, std::string_view idempotency_key);

/// Instead of the time: an approval as it is written, whether or not it has expired.
inline constexpr ApprovalTime kAsWritten = ApprovalTime::min();

class ApprovalTable {
public:
    /// Both must outlive this.
    ApprovalTable(Database& database, const base::SealKey& key)
        : database_(&database), key_(&key), macs_(key) {}

    Result<void> prepare(Access access);

    Result<std::optional<Approval>> find(std::string_view id, ApprovalTime now);
    Result<std::optional<Approval>> by_call(std::string_view call_id, ApprovalTime now);
    /// The latest for this request, if it is open.
    Result<std::optional<Approval>> open_for(const base::Sha256Digest& request, ApprovalTime now);
    Result<std::vector<Approval>> page(const ApprovalQuery& query, ApprovalTime now);
    /// Those that may still be used or decided.
    Result<std::uint64_t> count_open(ApprovalTime now);
    /// Counted no further than the limits.
    Result<RowStore::OpenCount> count_open_of(std::string_view tenant, std::string_view requester,
                                              ApprovalTime now, const OpenApprovalLimits& limits);

    /// `event` of the audit says so.
    Result<void> insert(const Approval& approval, const base::Sha256Digest& request, const AuditMark& event);
    Result<void> join(std::string_view call_id, std::string_view approval_id);
    /// State, user and new votes. False: it is not in the state `before` any more.
    Result<bool> update(const Approval& approval, ApprovalState before, std::size_t votes_before,
                        const AuditMark& event);
    /// Which events its votes were written with, in their order.
    Result<std::vector<AuditMark>> marks_of(std::string_view id);
    /// Used up, decided or expired ones that ended before `since`, at most `limit`: they go. How many.
    Result<std::int64_t> drop_old(ApprovalTime since, std::size_t limit);

private:
    Result<std::optional<Approval>> one(Statement& query, ApprovalTime now);
    Result<Approval> read(const Statement& row, ApprovalTime now);
    /// The MACs of its votes one after the other, as they are in the file.
    Result<std::string> load_votes(Approval& approval, bool& intact);

    Database* database_;
    const base::SealKey* key_;
    VoteMac macs_;
    Statement find_, by_call_, open_for_, votes_, count_, count_of_principal_, count_of_tenant_;
    Statement insert_, join_, rest_, update_, vote_, old_, drop_, drop_votes_, drop_calls_;
};

}  // namespace callgate::ledger
