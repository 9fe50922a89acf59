// What the ledger's file knows of the audit's segments: which events are archived, where, and how the log
// goes on after them.
//
// A segment counts from the moment its row is committed. Its events go afterwards, a few at a time; those
// that are still there are nobody's any more, and readers pass over them.
//
// Threads: as their connection, one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>

#include "base/clock.h"
#include "ledger/audit/signed_head.h"
#include "ledger/sqlite/database.h"

namespace callgate::ledger {

struct SegmentRow {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    SignedHead head;                 ///< after `last`
    std::vector<Sha256Digest> tail;  ///< hashes of the events since the last whole tile of 256, up to `last`
    std::string file;                ///< where it was written
    std::uint64_t bytes = 0;
    Sha256Digest sha256{};  ///< of the file
    base::WallTime archived_at{};

    Object to_json() const;
};

/// The newest.
Result<std::optional<SegmentRow>> last_segment(Database& database);
/// Oldest first.
Result<std::vector<SegmentRow>> all_segments(Database& database);
/// Inside a transaction, like the next two.
Result<void> add_segment(Database& database, const SegmentRow& segment);
/// Events, payloads and checkpoints that are archived go, at most `limit` events. How many rows went.
Result<std::int64_t> drop_archived(Database& database, std::size_t limit);

/// Pages that nothing is on, of all there are.
struct FreePages {
    std::int64_t free = 0;
    std::int64_t all = 0;
    bool can_shrink = false;  ///< a file of an older version can only use them again
};
Result<FreePages> free_pages(Database& database);
/// Gives pages back to the file system, at most `pages`; the file is smaller once the log was moved into it.
Result<void> shrink(Database& database, std::size_t pages);

}  // namespace callgate::ledger
