// The operators' public keys that a ledger knows, one per user.
//
// The first key that a user's vote comes with is pinned; another one is taken only with a signature of the
// one before. Each row carries a MAC, so that a key that somebody without the ledger's key set in the file is
// refused.
//
// Threads: as its connection, one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/clock.h"
#include "base/seal.h"
#include "ledger/sqlite/database.h"

namespace callgate::ledger {

class OperatorTable {
public:
    /// Both must outlive this.
    OperatorTable(Database& database, const base::SealKey& key) : database_(&database), key_(&key) {}

    /// Nothing if none is pinned. ledger_unavailable {reason: tampered}.
    Result<std::optional<std::string>> find(uid_t uid);
    Result<void> pin(uid_t uid, std::string_view vkey, base::WallTime now, std::uint64_t event);

private:
    base::Sha256Digest mac_of(std::int64_t uid, std::string_view vkey, std::int64_t since,
                              std::int64_t event) const;

    Database* database_;
    const base::SealKey* key_;
};

}  // namespace callgate::ledger
