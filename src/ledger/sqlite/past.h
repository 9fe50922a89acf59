// Is this the ledger that was here last, or an older one, or one that came from elsewhere?
//
// A ledger opens only if its audit is not behind its mark outside the directory (head_mark.h) and not behind
// its anchor file, and goes on from both; and if its directory is the one the mark knows. A copy of the
// ledger, its log and its mark that are all of the same time is not noticed here: only a witness on another
// machine sees it.
//
// Threads: one, before the ledger is in use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <callgate/error.h>

#include "ledger/audit/reader.h"
#include "ledger/sqlite/head_mark.h"
#include "os/file_ops.h"

namespace callgate::ledger {

struct Past {
    enum class Verdict : std::uint8_t {
        same,         ///< it goes on
        unmarked,     ///< of a version that had no mark: the first one is written
        moved,        ///< another directory, or the mark is gone
        rolled_back,  ///< behind its mark or its anchor, or of another past
    };
    Verdict verdict = Verdict::same;
    AuditEnd end;                    ///< of the ledger
    std::uint64_t seen = 0;          ///< by the mark or the anchor that it is behind
    std::string seen_by;             ///< "mark" or "anchor", where it is behind
    std::string witness;             ///< that one's file
    std::optional<MarkRecord> mark;  ///< as it was found
    bool mark_elsewhere = false;     ///< in the directory that the ledger itself names, not in the one given
};

struct PastQuestion {
    std::string ledger_directory;
    std::string mark_directory;  ///< where it is to be
    std::string mark_was_in;     ///< as the ledger says; "": it never had one
    std::string anchor_file;     ///< "": none
    Place place;
};

/// What a comparison needs of `audit`, whatever of it has been archived since, is still there: its end.
Result<Past> judge_past(os::FileOps& files, AuditReader& audit, const PastQuestion& question);

/// ledger_unavailable {reason: moved | rolled_back}: what was found, and what to do. For these two only.
Error refusal_of(const Past& past, const PastQuestion& question);

}  // namespace callgate::ledger
