// The audit put to the test, or taken elsewhere: verify, export, prove.
//
// Whoever owns the ledger only hands its log out; it is judged here.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator_verb.h"

namespace callgate::cli {

struct VerifyLine {
    std::vector<std::string> keys;
    std::string witness;
    std::vector<std::string> from_export;
    std::vector<std::string> segments;
};

struct ExportLine {
    std::string format = "jsonl";
    std::optional<std::uint64_t> from;
    std::optional<std::uint64_t> to;
    std::string output;
};

struct ProveLine {
    std::optional<std::uint64_t> sequence;
    std::optional<std::uint64_t> from;
    std::optional<std::uint64_t> to;
    std::string check;
    std::vector<std::string> keys;
};

// Each gives the exit code.
int verify_log(OperatorRun& run, const VerifyLine& line);
int export_log(OperatorRun& run, const ExportLine& line);
int prove(OperatorRun& run, const ProveLine& line);

}  // namespace callgate::cli
