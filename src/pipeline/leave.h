// Leaving: a call whose deadline has passed goes on without the answer that the ledger still owes it, so that
// a disk that hangs hangs nobody.
//
// What was asked stays asked, and the reply, which is in the call, stays the ledger's until it comes. A call
// that leaves its claim has not begun: `timed_out`, and the claim is settled as not applied when it comes, so
// that its key is free. One that leaves its end is `unknown`: what happened goes on the record when the disk
// answers, and is not told as if it were there. What only looked leaves nothing behind.
//
// Threads: as the stages; after_leaving() on a thread of core->turns, once the call is over.
#pragma once

#include <memory>

#include <callgate/observer.h>

#include "pipeline/step.h"

namespace callgate::pipeline {

/// Before settle: how the call ends.
Step go_on_without_reply(Call& call);

/// The reply that a call left has come: what has to follow from it is done.
void after_leaving(const std::shared_ptr<Call>& call);

/// Puts the event that ends a call which has left on the record, and waits for nothing.
void record_and_go(Call& call, const AuditEvent& event);

}  // namespace callgate::pipeline
