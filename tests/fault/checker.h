// The checker: when all are dead and the rest was brought to its end, holds the ledger against what the
// oracle heard.
#pragma once

#include <string>

#include "board.h"

namespace callgate::fault {

/// In a process of its own. The verdict is on the board; the first thing wrong is printed. `records`
/// is what the oracle wrote, `exported` where the audit goes as lines of JSON ("" nowhere).
[[noreturn]] void run_checker(const std::string& directory, const std::string& records,
                              const std::string& exported, Board& board);

}  // namespace callgate::fault
