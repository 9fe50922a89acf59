// Approvals, calls and attempts as the JSON that operators get: over the control socket, and from --json.
// docs/formats/control.md names every member.
//
// Times are ISO 8601 in UTC. What an approval's time says is judged by the ledger's clock, not the reader's.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include <callgate/approvals.h>
#include <callgate/json.h>

#include "base/clock.h"
#include "ledger/call_row.h"
#include "ledger/operations.h"

namespace callgate::ledger {

/// {summary, diff, supported}, or null.
Value preview_json(const std::optional<Preview>& preview);

/// Everything, the arguments as they are.
Object to_json(const Approval& approval, base::WallTime now);
/// For lists: the arguments as a text of at most 200 bytes, "" where they are long.
Object summary_json(const Approval& approval, base::WallTime now);

Object to_json(const CallRow& row);
Object to_json(const AttemptRow& attempt);
/// {succeeded, state, error, attempts, approval_id, result: {bytes, sha256, blocks: [{kind, bytes}]}}: what
/// came of it, not the result itself. `null` where there is none.
Value shape_json(const StoredOutcome* outcome);

}  // namespace callgate::ledger
