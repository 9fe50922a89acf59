// For programs whose children may kill their launchers: what then loses its parent comes to this process, and
// is ended.
//
// To be a subreaper changes what a whole program's children are: orphans of all of them come to it, and it
// has to reap them. So a program chooses to be one, and nothing in the library does. What did not come from a
// launcher (descent.h) is left alone.
//
// Threads: all functions may be called from any thread, each by one at a time.
#pragma once

#include <chrono>

#include <callgate/error.h>

namespace callgate::os {

/// For as long as this process lives; what it starts does not inherit it.
Result<void> become_subreaper();

/// Kills and reaps everything that came to this process because its launcher was killed. Blocks, for
/// `at_most` where something cannot be killed. True: nothing of it is left.
bool end_left_behind(std::chrono::milliseconds at_most);

}  // namespace callgate::os
