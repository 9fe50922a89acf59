// The workload: everything that a host does with a durable ledger, in one process, passing every failpoint.
//
// It goes on after whatever fails: a ledger that has stopped is opened again, one that has no room is waited
// for. What its callers learn, and the effects of its tools, are written to two plain files line by line,
// so that they are known whoever dies.
#pragma once

#include <string>

namespace callgate::failpoints {

/// Where a run keeps its files.
struct Place {
    std::string directory;

    std::string ledger() const { return directory + "/ledger"; }
    std::string effects() const { return directory + "/effects"; }  ///< "key call_id"
    std::string told() const { return directory + "/told"; }        ///< "what about"
    std::string anchor() const { return directory + "/anchor"; }
    std::string secrets() const { return directory + "/secrets"; }
    std::string hits() const { return directory + "/hits"; }        ///< "failpoint number", at the end
    std::string trouble() const { return directory + "/trouble"; }  ///< what must not happen, and did
};

/// In a process of its own, which it ends with exit code 0, unless it is killed.
[[noreturn]] void run_workload(const Place& place);

}  // namespace callgate::failpoints
