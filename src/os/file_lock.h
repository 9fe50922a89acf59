// Turns at a file that several processes change.
//
// The lock is on a file of its own beside it (PATH.lock, which stays), because the file itself is replaced by
// each change. It belongs to this object, not to the process, so threads take turns too, and it goes when the
// object or the process goes, however that ends.
//
// Threads: a FileLock belongs to one thread at a time.
#pragma once

#include <chrono>
#include <string>

#include "os/file_ops.h"

namespace callgate::os {

class FileLock {
public:
    /// Waits for its turn for at most `wait`. config_error {reason: file_locked, path}, retryable, when
    /// somebody else still holds it; {reason: file_unwritable} when the lock file cannot be made.
    static Result<FileLock> take(FileOps& files, const std::string& path, std::chrono::milliseconds wait);

private:
    explicit FileLock(Fd fd) : fd_(std::move(fd)) {}

    Fd fd_;
};

}  // namespace callgate::os
