// What a caller's thread makes ready of a request: texts are shaped, hashed and sealed there, so that the
// writer, of whom there is one, has only the record itself to write.
//
// Threads: made on the caller's thread, read by the writer; values.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/observer.h>

#include "base/seal.h"
#include "base/sha256.h"
#include "ledger/audit/chain.h"
#include "ledger/ledger.h"

namespace callgate::ledger {

/// A text beside an audit event is sealed under the id of the event's call and its own name.
std::string seal_payload(const base::SealKey& key, const CallId& call_id, std::string_view field,
                         std::string_view plain, base::Rng& rng);
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

/// An audit event as it is stored, except for its place in the chain.
struct PreparedEvent {
    PreparedEvent(const AuditChain& chain, const base::SealKey& key, base::Rng& rng, const AuditFacts& facts,
                  std::span<const PayloadView> payloads = {}, const KeyNames& keys = {});

    std::chrono::system_clock::time_point at;  ///< none: when it is written
    CallId call_id;
    std::string trace_id;
    EventDraft text;
    std::vector<StoredPayload> payloads;  ///< sealed
};

/// About how much memory a request holds while it waits.
std::size_t bytes_of(const Value& value) noexcept;
std::size_t bytes_of(const std::vector<PreparedEvent>& events) noexcept;

struct PreparedClaim {
    PreparedClaim(ClaimRequest request, const AuditChain& chain, const base::SealKey& key);

    ClaimRequest request;
    base::Sha256Digest key_hash;
    std::vector<PreparedEvent> events;  ///< the last one with the arguments
};

struct PreparedSettle {
    /// A result that makes the outcome larger than `max_bytes` is not kept; that it was there, is.
    PreparedSettle(SettleRequest request, const AuditChain& chain, const base::SealKey& key,
                   std::size_t max_bytes);

    SettleRequest request;
    SealedOutcome outcome;              ///< empty if the request has none
    std::vector<PreparedEvent> events;  ///< the last one with a note of the result, if there is one
};

}  // namespace callgate::ledger
