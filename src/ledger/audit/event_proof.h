// The document that proves one event to somebody who does not have the log: the event's bytes, the hash
// before it, its path in the tree, and a signed checkpoint.
//
// Threads: all functions may be called from any thread; a reader belongs to one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <callgate/error.h>
#include <callgate/json.h>

#include "ledger/audit/checkpoint.h"
#include "ledger/audit/reader.h"

namespace callgate::ledger {

/// Under the latest checkpoint, which must cover the event. audit_failure {reason: no_checkpoint}, and the
/// errors of inclusion_proof().
Result<Object> prove_event(AuditReader& reader, std::uint64_t sequence);
/// The event's bytes, if the document proves them under one of these keys; audit_failure {reason: bad_proof}.
Result<std::string> check_event_proof(const Object& proof, std::span<const VerifyingKey> keys);

}  // namespace callgate::ledger
