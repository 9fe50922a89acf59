// What can be wrong with a contract, judged at registration.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <callgate/tool.h>

namespace callgate {

struct ContractFault {
    std::string place;    ///< e.g. "contract.timeout"
    std::string message;  ///< one sentence
};

/// `actions` are those the body lists, sorted.
std::optional<ContractFault> contract_fault(const Tool& tool, const std::vector<std::string>& actions);

}  // namespace callgate
