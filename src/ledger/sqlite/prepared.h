// What a caller's thread makes ready of a request: texts are shaped, hashed and sealed there, so that the
// writer, of whom there is one, has only the record itself to write.
//
// Threads: made on the caller's thread, read by the writer; values.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/seal.h"
#include "base/sha256.h"
#include "ledger/ledger.h"

namespace callgate::ledger {

/// A text beside an audit event, as it is stored. Sealed under the id of the event's call and its own name.
struct SealedPayload {
    std::string_view field;
    std::string plain;  ///< "": there is none
    std::string sealed;
};
std::string seal_payload(const base::SealKey& key, const CallId& call_id, std::string_view field,
                         std::string_view plain);
Result<std::string> unseal_payload(const base::SealKey& key, const CallId& call_id, std::string_view field,
                                   std::string_view sealed);

/// An outcome as it is stored. Sealed under the call's id.
struct SealedOutcome {
    base::Sha256Digest digest{};  ///< of what is sealed
    std::string sealed;
};
SealedOutcome seal_outcome(const base::SealKey& key, const CallId& call_id, const StoredOutcome& outcome);
Result<std::shared_ptr<const StoredOutcome>> unseal_outcome(const base::SealKey& key, const CallId& call_id,
                                                            std::string_view sealed);

struct PreparedClaim {
    PreparedClaim(ClaimRequest request, const base::SealKey& key);

    ClaimRequest request;
    base::Sha256Digest key_hash;
    SealedPayload arguments;
};

struct PreparedSettle {
    /// A result that makes the outcome larger than `max_bytes` is not kept; that it was there, is.
    PreparedSettle(SettleRequest request, const base::SealKey& key, std::size_t max_bytes);

    SettleRequest request;
    SealedOutcome outcome;  ///< empty if the request has none
    SealedPayload result;
};

}  // namespace callgate::ledger
