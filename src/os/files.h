// Whole files: read with a limit, written so that a crash leaves the old content or the new, never a mixture.
//
// Interrupted and short calls are carried on with. Errors name the file and say what to do about it.
//
// Threads: as safe as the FileOps they are given.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/rng.h"
#include "os/file_ops.h"
#include "os/system_error.h"

namespace callgate::os {

/// What a call of FileOps gives; made again for as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
    for (;;) {
        auto result = call();
        if (result || error_number(result.error()) != EINTR) return result;
    }
}

/// config_error with details {reason, path, …}: file_missing, file_is_directory, file_is_special,
/// file_permission, file_too_large, file_unreadable. A file that grows while it is read is still held to
/// `max_bytes`. Pipes and devices are refused, so that reading never waits; details.reason file_is_special.
Result<std::string> read_file(FileOps& files, const std::string& path, std::size_t max_bytes);

/// All of `bytes`, or an error; how much was written is then unknown.
Result<void> write_all(FileOps& files, const Fd& fd, std::string_view bytes);
Result<void> pwrite_all(FileOps& files, const Fd& fd, std::string_view bytes, std::uint64_t offset);

/// A temporary file in the same directory is written, synced and renamed over `path`, then the directory is
/// synced: after success the content survives a power cut. On failure the old file is untouched and the
/// temporary one removed; only if the last sync fails may the new content already be visible. Code
/// `internal`.
Result<void> write_file_atomically(FileOps& files, base::Rng& rng, const std::string& path,
                                   std::string_view content, mode_t permissions = 0600);

/// "dir/file" → "dir", "file" → ".", "/file" → "/".
std::string directory_of(const std::string& path);

}  // namespace callgate::os
