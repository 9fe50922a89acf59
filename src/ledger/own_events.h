// What a ledger itself puts on the record: what became of a call whose owner is gone. Whatever else changes a
// row comes with its caller's events.
//
// Threads: pure functions.
#pragma once

#include <callgate/observer.h>

#include "ledger/call_row.h"

namespace callgate::ledger {

/// Given up: `row` is as it was left, unknown or free again.
AuditEvent event_of_giving_up(const CallRow& row);
/// Another call with its key goes on with it: under the id of who ran it before, who has no other end.
AuditEvent event_of_take_over(const CallRow& row, const CallId& by);

}  // namespace callgate::ledger
