// The oracle: a process of its own that only hears of effects, and so knows what happened whoever dies.
#pragma once

#include <string>

#include "board.h"

namespace callgate::fault {

/// Listens until it is killed. `file` is where Question::Kind::write puts all records, one after the other.
[[noreturn]] void run_oracle(const Channels& channels, const std::string& file);

}  // namespace callgate::fault
