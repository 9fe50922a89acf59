// What shows that a process was started below one of our launchers, whoever its parent is by now.
//
// callgate-launch lowers the hard limit of RLIMIT_LOCKS of what it starts by one, from 2^60. Linux has had no
// use for that limit since 2.4.25, and so has nobody else. A limit is inherited, outlives exec, setsid and
// any fork, and only root can raise it again. So a process whose limit is lower than ours comes from a
// launcher that ours does not come from; one that killed its launcher to get another parent is still known by
// it.
//
// Without the C++ library, as process_table.h.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace callgate::os {

/// Of the calling process, and of all that it starts. False: the system refused.
bool lower_descent_limit() noexcept;

/// False: there is no such process, or we may not look.
bool read_descent_limit(pid_t pid, std::uint64_t& limit) noexcept;

/// Whether a process was started below a launcher that this process does not come from itself. False, too,
/// where there is none or we may not look.
bool is_from_launcher(pid_t pid) noexcept;

}  // namespace callgate::os
