// Whether the rows are what the audit says happened: the part of `ledger check` that looks for a hand in the
// file rather than for a broken disk.
//
// Four looks, each one pass over what it looks at, whatever its size:
//   1. every table, index, trigger and view is one of ours, word for word;
//   2. the rows of calls, tombstones, approvals and votes add up to the tally (tally.h), which only the
//      ledger's key can make right: a freed key, an edited or deleted row, a removed tombstone;
//   3. each approval and vote has its MAC (vote_mac.h), and each vote the event that it was written with;
//   4. the audit is replayed: what it says of a call that has a key, or of an approval, is found in its row.
//      Events that were archived are no problem: the report says up to which they are.
// The second is the proof, and does not say which row it is; the others name what they find. Who holds the
// ledger's key can make all of it fit.
//
// Threads: as the reader, one at a time.
#pragma once

#include <cstdint>

#include <callgate/json.h>

#include "base/clock.h"
#include "base/seal.h"
#include "ledger/operations.h"
#include "ledger/sqlite/engine.h"

namespace callgate::ledger {

/// Since when rows must still be there: younger events have theirs.
struct KeptSince {
    base::WallTime calls;
    base::WallTime approvals;
};

struct ReplayReport {
    Array problems;              ///< at most kMostProblems; then it says that there are more
    std::uint64_t rows = 0;      ///< looked at
    std::uint64_t events = 0;    ///< replayed
    std::uint64_t archived = 0;  ///< the last event that is in a segment: up to there nothing can be replayed
};

/// Why a check has no answer: who asked for it wants it no more.
inline tl::unexpected<Error> check_called_off() {
    return fail(ErrorCode::cancelled, "The check was called off.", {{"reason", "called_off"}});
}

/// In one snapshot of the file. `goes_on` is asked now and then; false: it is called off.
Result<ReplayReport> replay_check(Reader& reader, const base::SealKey& key, const KeptSince& kept,
                                  const WorkProgress& goes_on);

}  // namespace callgate::ledger
