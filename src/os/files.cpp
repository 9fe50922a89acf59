#include "os/files.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "os/system_error.h"

namespace callgate::os {
namespace {

tl::unexpected<Error> unusable(std::string_view reason, const std::string& path, std::string sentence,
                               boost::json::object facts = {}) {
    facts["reason"] = reason;
    facts["path"] = path;
    return fail(ErrorCode::config_error, std::move(sentence), std::move(facts));
}

tl::unexpected<Error> unreadable(const std::string& path, const Error& error) {
    const int number = error_number(error);
    switch (number) {
        case ENOENT:
        case ENOTDIR:
            return unusable("file_missing", path, fmt::format("There is no file {}. Check the path.", path));
        case EACCES:
        case EPERM:
            return unusable(
                "file_permission", path,
                fmt::format("The file {} may not be read by this user. Check its permissions.", path));
        default:
            return unusable("file_unreadable", path,
                            fmt::format("The file {} cannot be read: {}.", path, errno_text(number)),
                            {{"errno", number}});
    }
}

template <class Write>
Result<void> write_with(std::string_view bytes, Write write) {
    std::size_t written = 0;
    while (written < bytes.size()) {
        CALLGATE_TRY_ASSIGN(const auto step,
                            uninterrupted([&] { return write(bytes.substr(written), written); }));
        if (step == 0) {
            // POSIX allows it for no reason at all; going on could take forever.
            return tl::unexpected(system_error(ErrorCode::internal, "write", "a file", EIO));
        }
        written += step;
    }
    return {};
}

Result<void> put_new_file(FileOps& files, const std::string& path, std::string_view content,
                          mode_t permissions) {
    CALLGATE_TRY_ASSIGN(
        auto fd, uninterrupted([&] { return files.open(path, OpenMode::create_exclusive, permissions); }));
    CALLGATE_TRY(write_all(files, fd, content));
    return uninterrupted([&] { return files.fsync(fd); });
}

Result<void> sync_directory(FileOps& files, const std::string& path) {
    CALLGATE_TRY_ASSIGN(auto fd, uninterrupted([&] { return files.open(path, OpenMode::directory); }));
    return uninterrupted([&] { return files.fsync(fd); });
}

}  // namespace

Result<std::string> read_file(FileOps& files, const std::string& path, std::size_t max_bytes) {
    // Looked at before it is opened: opening a pipe would wait for a writer.
    const auto before = uninterrupted([&] { return files.stat(path); });
    if (!before) {
        return unreadable(path, before.error());
    }
    if (before->kind == FileKind::directory) {
        return unusable("file_is_directory", path,
                        fmt::format("{} is a directory. Give the path of a file.", path));
    }
    if (before->kind == FileKind::other) {
        return unusable(
            "file_is_special", path,
            fmt::format("{} is no regular file but a pipe, socket or device. Give the path of a file.",
                        path));
    }
    const auto too_large = [&] {
        return unusable("file_too_large", path,
                        fmt::format("The file {} is larger than the limit of {} bytes.", path, max_bytes),
                        {{"max", max_bytes}});
    };
    if (before->size > max_bytes) {
        return too_large();
    }
    const auto fd = uninterrupted([&] { return files.open(path, OpenMode::read); });
    if (!fd) {
        return unreadable(path, fd.error());
    }
    // Read where it stays: a key that is wiped afterwards has no second copy.
    std::string out(std::min(std::max<std::size_t>(before->size, 4'095), max_bytes) + 1, '\0');
    std::size_t used = 0;
    for (;;) {
        if (used == out.size()) {
            out.resize(std::min(2 * used, max_bytes + 1));
        }
        const auto got = uninterrupted([&] { return files.read(*fd, std::span(out).subspan(used)); });
        if (!got) {
            return unreadable(path, got.error());
        }
        used += *got;
        if (*got == 0) {
            out.resize(used);
            return out;
        }
        if (used > max_bytes) {
            return too_large();
        }
    }
}

Result<void> write_all(FileOps& files, const Fd& fd, std::string_view bytes) {
    return write_with(bytes, [&](std::string_view rest, std::size_t) { return files.write(fd, rest); });
}

Result<void> pwrite_all(FileOps& files, const Fd& fd, std::string_view bytes, std::uint64_t offset) {
    return write_with(bytes, [&](std::string_view rest, std::size_t written) {
        return files.pwrite(fd, rest, offset + written);
    });
}

Result<void> write_file_atomically(FileOps& files, base::Rng& rng, const std::string& path,
                                   std::string_view content, mode_t permissions) {
    const std::string temporary = fmt::format("{}.{:016x}.tmp", path, rng.next_u64());
    auto result = put_new_file(files, temporary, content, permissions);
    if (result) {
        result = uninterrupted([&] { return files.rename(temporary, path); });
    }
    if (!result) {
        // Somebody else's file of that name stays: it was not made here.
        if (error_number(result.error()) != EEXIST) {
            (void)files.unlink(temporary);
        }
        auto error = std::move(result.error());
        error.message =
            fmt::format("The file {} was not written: {}.", path, errno_text(error_number(error)));
        error.details["path"] = path;
        return tl::unexpected(std::move(error));
    }
    if (auto synced = sync_directory(files, directory_of(path)); !synced) {
        auto error = std::move(synced.error());
        error.message =
            fmt::format("The file {} was written, but it is not certain to survive a power cut: {}.", path,
                        errno_text(error_number(error)));
        error.details["path"] = path;
        return tl::unexpected(std::move(error));
    }
    return {};
}

std::string directory_of(const std::string& path) {
    const auto slash = path.find_last_of('/');
    if (slash == std::string::npos) {
        return ".";
    }
    return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace callgate::os
