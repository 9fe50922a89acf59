// The audit kept for years: its beginning taken out into segments, and what a person asked to have erased.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operator_verb.h"

namespace callgate::cli {

struct ArchiveLine {
    std::string directory;
    std::uint64_t keep = 0;
    std::uint64_t at_least = 1;
    std::uint64_t max_events = 1'000'000;
    std::optional<std::uint64_t> older_than_days;
    bool yes = false;
};

struct EraseLine {
    std::string call;
    std::string segment;
    bool yes = false;
};

// Each gives the exit code.
int archive_log(OperatorRun& run, const ArchiveLine& line);
int list_segments(OperatorRun& run);
int erase_payloads(OperatorRun& run, const EraseLine& line);

}  // namespace callgate::cli
