// What makes an approval and its votes evidence: a keyed hash over everything that decides.
//
// Each vote carries a MAC over its approval's id and digest, who voted, how and when, and the number and hash
// of the audit event that was written with it. The approval's row carries one over all its columns and the
// MACs of its votes in their order. So a state, a vote or a number that somebody without the ledger's key set
// in the file, or a vote that was taken out, is found when the approval is next read, and before it is used.
//
// The key is derived from the ledger's seal key by HKDF (purpose "callgate-approval-v1" and
// "callgate-vote-v1"). Who has that key can make such rows.
//
// Threads: immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <callgate/approvals.h>

#include "base/seal.h"
#include "base/sha256.h"

namespace callgate::ledger {

/// Which event of the audit says so. Zeros: none does.
struct AuditMark {
    std::uint64_t sequence = 0;
    base::Sha256Digest hash{};
};

/// The columns of an approval's row that are not part of an Approval.
struct ApprovalColumns {
    std::int64_t n = 0;
    std::string_view request_hash;
    std::string_view body;  ///< sealed
    std::int64_t sequence = 0;
};

class VoteMac {
public:
    /// `key` must outlive this.
    explicit VoteMac(const base::SealKey& key) noexcept : key_(&key) {}

    base::Sha256Digest of_vote(const Approval& approval, std::size_t n, const Vote& vote,
                               const AuditMark& mark) const;
    /// `votes` are the MACs of its votes, one after the other.
    base::Sha256Digest of_approval(const Approval& approval, ApprovalState state,
                                   const ApprovalColumns& columns, std::string_view votes) const;

private:
    const base::SealKey* key_;
};

/// In constant time.
bool same_mac(const base::Sha256Digest& expected, std::string_view found) noexcept;

}  // namespace callgate::ledger
