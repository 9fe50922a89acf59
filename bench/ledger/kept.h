// What a ledger costs that is kept: bytes for a million calls, before and after they are archived; a backup
// while others write; and whether 2,000 callers at once are served with few descriptors.
//
// Threads: none; each function is a measurement of its own.
#pragma once

#include <cstdint>
#include <string>

namespace callgate::bench {

struct Kept {
    double mb_per_million = 0;           ///< ledger.db with its log, of keyed calls
    double mb_per_million_archived = 0;  ///< after archiving, with every outcome expired to a tombstone
    double segment_mb_per_million = 0;   ///< the files that it was archived to
    double backup_s = 0;                 ///< while two callers write
    std::uint64_t calls = 0;             ///< that were made; the figures are scaled
};

/// Makes `calls` keyed calls by 64 callers in a new ledger in `directory`.
Kept measure_kept(const std::string& directory, std::uint64_t calls);

/// 2,000 threads make five keyed calls each, in a process of its own with 1,024 descriptors. How many were
/// refused.
std::uint64_t refused_of_2000_callers(const std::string& directory);

}  // namespace callgate::bench
