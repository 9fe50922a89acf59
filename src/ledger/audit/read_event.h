// A stored event, read back as the observers saw it.
//
// Threads: may be called from any thread.
#pragma once

#include <span>
#include <string_view>

#include <callgate/error.h>
#include <callgate/observer.h>

#include "ledger/audit/chain.h"

namespace callgate::ledger {

/// `payloads` gives it back the texts that are kept apart; what was erased is empty. Its type, outcome, stage
/// and error code are the library's own words; one that this version does not know is "other".
/// audit_failure {reason: malformed, byte} for bytes that are no event.
Result<AuditEvent> read_event(std::string_view bytes, std::span<const StoredPayload> payloads);

}  // namespace callgate::ledger
