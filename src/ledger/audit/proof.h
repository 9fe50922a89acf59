// Proofs about the audit's tree (RFC 6962, RFC 9162): that an event is in the log of a checkpoint, and that
// one checkpoint's log is the beginning of another's.
//
// A proof for ten million events is 24 hashes. Making one reads about two tiles of 256 rows of each level
// that is stored; checking one reads nothing.
//
// Threads: all functions may be called from any thread; a reader belongs to one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <callgate/error.h>

#include "ledger/audit/reader.h"

namespace callgate::ledger {

using ProofPath = std::vector<Sha256Digest>;

/// That event `sequence` is in the log's first `size` events. invalid_arguments {reason: no_such_event}
/// unless 1 <= sequence <= size <= the log's; audit_failure {reason: node_missing | row_missing}.
Result<ProofPath> inclusion_proof(AuditReader& reader, std::uint64_t sequence, std::uint64_t size);
/// That the log's first `from` events are the first of its first `to`. Errors likewise.
Result<ProofPath> consistency_proof(AuditReader& reader, std::uint64_t from, std::uint64_t to);
/// The root of the log's first `size` events.
Result<Sha256Digest> root_at(AuditReader& reader, std::uint64_t size);

bool verify_inclusion(const Sha256Digest& event_hash, std::uint64_t sequence, std::uint64_t size,
                      std::span<const Sha256Digest> path, const Sha256Digest& root);
bool verify_consistency(std::uint64_t from, const Sha256Digest& from_root, std::uint64_t to,
                        const Sha256Digest& to_root, std::span<const Sha256Digest> path);

}  // namespace callgate::ledger
