// The worker: an ordinary host of the library that owns a durable ledger and makes calls on many threads,
// until it is killed.
//
// Five tools, one per effect class. Their effect is one message to the oracle. Now and then a tool refuses,
// fails, or loses its answer, with or without the effect. Threads take keys from a small window, so that they
// meet under the same keys; what callers learn goes to the oracle, too.
#pragma once

#include <cstdint>
#include <string>

#include "board.h"

namespace callgate::fault {

struct Orders {
    std::string directory;  ///< of the ledger
    std::uint64_t seed = 1;
    std::size_t place = 0;    ///< which of the contenders it is
    std::string failpoint;    ///< where it dies by itself; "" nowhere
    bool waits = false;       ///< if another owns the ledger: tries again when it is freed
    bool resends = false;     ///< without the rule that unsafe calls are never sent again
    std::uint64_t calls = 0;  ///< so many, then an orderly end with a census; 0: until it is killed
    bool drains = false;      ///< once over every key, then an orderly end
};

/// In a process of its own. Ends only by orders; anything that should not happen is on the board, and the
/// exit code is not 0.
[[noreturn]] void run_worker(const Orders& orders, Board& board, const Channels& channels);

}  // namespace callgate::fault
