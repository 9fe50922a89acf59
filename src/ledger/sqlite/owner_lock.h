// Who owns a ledger's directory: one process at a time, known by a kernel lock that goes with the process.
//
// The lock is on a file of its own, never on the database: closing any descriptor of that would drop SQLite's
// locks. No clock takes part, so a killed owner is succeeded at once and a sleeping one never.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <callgate/error.h>
#include <callgate/json.h>

#include "os/fd.h"
#include "os/file_ops.h"

namespace callgate::ledger {

class OwnerLock {
public:
    OwnerLock() = default;

    /// Makes the directory if its parent is there. ledger_unavailable {reason: ledger_owned (details.owner),
    /// network_filesystem, not_private (details.owner where it is another user's, details.parent where it is
    /// not about the directory but the one it is in), not_a_file, disk_full, …}. Where this process
    /// holds it itself, another of its threads may be about to release it: waits for that, at most
    /// `while_closing`.
    static Result<OwnerLock> take(os::FileOps& files, const std::string& directory,
                                  std::chrono::milliseconds while_closing);

    explicit operator bool() const noexcept { return static_cast<bool>(fd_); }

private:
    /// That this process has it; so that its threads can wait for each other.
    struct Entry;
    struct Entries;
    struct StrikeOut {
        void operator()(Entry* entry) const;
    };
    using EntryPtr = std::unique_ptr<Entry, StrikeOut>;

    OwnerLock(EntryPtr entry, os::Fd fd) noexcept : entry_(std::move(entry)), fd_(std::move(fd)) {}

    EntryPtr entry_;
    os::Fd fd_;  // goes first
};

/// Whether files on a filesystem of this kind (statfs's f_type) are shared with other machines, where neither
/// locks nor syncs mean what they must. Those behind a program in user space count as such.
bool is_network_filesystem(std::uint64_t kind) noexcept;

}  // namespace callgate::ledger
