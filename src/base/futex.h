// Sleeps until a word has changed: the kernel's futex as it is. std::atomic::wait first spins and yields,
// which helps who waits for nanoseconds; where 64 callers wait for a disk, their yields took a third of the
// machine.
//
// Threads: any. wake_all() uses only the address, so the word may be gone by then.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace callgate::base {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

/// Returns when the word is something else than `value`, or somebody woke: look, and wait again.
inline void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

inline void wake_all(const std::atomic<std::uint32_t>& word) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace callgate::base
