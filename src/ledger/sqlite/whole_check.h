// `ledger check`: SQLite's own check of the whole file, our rules between the tables, every record read under
// its own key, and whether a hand was in it (replay_check.h).
//
// Threads: as the reader, one at a time.
#pragma once

#include <callgate/error.h>
#include <callgate/json.h>

#include "base/seal.h"
#include "ledger/operations.h"
#include "ledger/sqlite/engine.h"
#include "ledger/sqlite/replay_check.h"

namespace callgate::ledger {

/// {"ok", "problems": […], "rows", "events", "archived_up_to", "rows_per_s"}. `progress` may call it off:
/// cancelled {reason: called_off}.
Result<Object> check_all(Reader& reader, const base::SealKey& key, const KeptSince& kept,
                         const WorkProgress& progress);

}  // namespace callgate::ledger
