// The way in for a ledger that has lost a part of its past, or was moved: `callgate ledger restore`.
//
// What happened between the restored end and the restore is not known, and keys carry no time: a key that the
// ledger does not know may be new, or may have been used in what was lost. So after a restore
//   - every key that is not known is answered with outcome_unknown {reason: restored}, for as long as any key
//     is remembered (key_ttl and tombstone_ttl), or until an operator says that new keys may run;
//   - every call that was under way, or unknown, stays unknown until a person resolves it: nobody sends it
//     again and no probe decides it, since in the time that was lost its key may have been freed and used
//     again;
//   - approvals that could still be used are revoked;
//   - calls that an export of the lost time names are unknown by themselves, and the same request under any
//     key is answered so, also after new keys were let in.
// All of it is on the record, with who did it and why, and the audit goes on from the restored end.
//
// Threads: restore() belongs to one thread; lost_in_gap() to that of its tables.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <callgate/error.h>
#include <callgate/json.h>

#include "ledger/call_row.h"
#include "ledger/sqlite/tables.h"

namespace callgate::ledger {

/// What a restore is about to do.
struct RestorePlan {
    bool restores = false;  ///< the end is taken for older than the last answer; else nothing was lost
    bool behind = false;    ///< its mark or anchor shows that
    bool ends_gap = false;  ///< keys that are not known run from now on
    std::uint64_t events = 0;
    std::uint64_t seen = 0;  ///< by the mark or anchor that it is behind
};

struct RestoreRequest {
    bool moved = false;            ///< it is the newest, at another place: nothing was lost
    bool accept_new_keys = false;  ///< keys that are not known may run from now on
    bool anyway = false;           ///< though neither mark nor anchor shows that anything was lost
    std::string by;                ///< who says so
    std::string because;           ///< and why: what shows that it is right
    std::string export_file;       ///< what `callgate audit export` has of the lost time; "": nothing
    bool mark_expected = false;    ///< in the directory of marks that was given: else no_mark
    std::function<bool(const RestorePlan&)> agree;  ///< asked before anything is changed: else not_confirmed

    RestoreRequest() = default;
};

// SqliteLedger::restore() checks the ledger first, and changes nothing if it is not whole. Its report:
// {"restored", "moved", "events", "seen", "unknown", "revoked", "gap": {"events", "calls", "listed": […]},
// "new_keys": "accepted" | "held"}. denied {reason: nothing_to_restore | reason_missing | not_confirmed},
// ledger_unavailable {reason: check_failed | rolled_back | …}, config_error {reason: wrong_export | no_mark},
// else as open().

/// Why a claim of this key must not run, if what was lost in a restore is the reason. `standing`: what is
/// under the key, or null.
Result<std::optional<Error>> lost_in_gap(const Tables& tables, CallTable& calls, const std::string& key,
                                         const base::Sha256Digest& fingerprint, const StoredCall* standing,
                                         bool spent);

}  // namespace callgate::ledger
