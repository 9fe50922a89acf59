#include "os/file_lock.h"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "os/files.h"
#include "os/system_error.h"

namespace callgate::os {

Result<FileLock> FileLock::take(FileOps& files, const std::string& path, std::chrono::milliseconds wait) {
    using namespace std::chrono_literals;
    const std::string lock_path = path + ".lock";
    const auto unusable = [&](const Error& error) {
        return fail(
            ErrorCode::config_error,
            fmt::format("The lock file {} cannot be used: {}.", lock_path, errno_text(error_number(error))),
            {{"reason", "file_unwritable"}, {"path", lock_path}, {"errno", error_number(error)}});
    };
    auto fd = uninterrupted([&] { return files.open(lock_path, OpenMode::create); });
    if (!fd) return unusable(fd.error());

    // The kernel has no wait with an end, so it is asked again. Turns are short: one file is written.
    const auto until = std::chrono::steady_clock::now() + wait;
    for (auto pause = 1ms;; pause = std::min<std::chrono::milliseconds>(pause * 2, 50ms)) {
        const Result<bool> taken = files.try_lock(*fd, LockKind::exclusive);
        if (!taken && error_number(taken.error()) != EINTR) return unusable(taken.error());
        if (taken && *taken) return FileLock(std::move(*fd));
        const auto left = until - std::chrono::steady_clock::now();
        if (left <= 0ms) break;
        std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, left));
    }
    Error error(
        ErrorCode::config_error,
        fmt::format("Another process is changing {}, and has been for {} ms. Try again.", path, wait.count()),
        {{"reason", "file_locked"}, {"path", path}});
    error.retryable = true;
    return tl::unexpected(std::move(error));
}

}  // namespace callgate::os
