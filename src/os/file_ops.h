// Files behind an interface, so that tests can make the disk fail.
//
// Each method is one system call and promises no more than the call does: reads and writes may be short and
// any call may fail with EINTR. files.h has what callers usually want. Every failure is an Error with code
// `internal` and details.errno; who knows what the file is for gives it a better code. Descriptors are
// close-on-exec.
//
// Threads: implementations may be used from any thread; a descriptor's offset is shared by its users.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <callgate/error.h>

#include "os/fd.h"

namespace callgate::os {

enum class OpenMode : std::uint8_t {
    read,
    read_write,        ///< must exist
    create,            ///< read and write, made if missing; not through a symbolic link
    create_exclusive,  ///< read and write, must not exist
    append,            ///< write at the end, made if missing
    directory,         ///< to sync or to lock
};

enum class FileKind : std::uint8_t { regular, directory, other };

struct FileInfo {
    FileKind kind = FileKind::other;
    std::uint64_t size = 0;
    mode_t permissions = 0;  ///< the lower twelve bits
    uid_t owner = 0;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
};

enum class LockKind : std::uint8_t { shared, exclusive };

class FileOps {
public:
    virtual ~FileOps() = default;

    virtual Result<Fd> open(const std::string& path, OpenMode mode, mode_t permissions) = 0;
    /// 0 is the end of the file.
    virtual Result<std::size_t> read(const Fd& fd, std::span<char> into) = 0;
    virtual Result<std::size_t> pread(const Fd& fd, std::span<char> into, std::uint64_t offset) = 0;
    virtual Result<std::size_t> write(const Fd& fd, std::string_view bytes) = 0;
    virtual Result<std::size_t> pwrite(const Fd& fd, std::string_view bytes, std::uint64_t offset) = 0;
    virtual Result<void> truncate(const Fd& fd, std::uint64_t size) = 0;
    virtual Result<void> fsync(const Fd& fd) = 0;
    virtual Result<void> fdatasync(const Fd& fd) = 0;
    virtual Result<FileInfo> stat(const std::string& path) = 0;
    virtual Result<FileInfo> stat(const Fd& fd) = 0;
    virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
    virtual Result<void> unlink(const std::string& path) = 0;
    virtual Result<void> mkdir(const std::string& path, mode_t permissions) = 0;
    /// A lock on the whole file that belongs to the open description, not to the process: it goes when the
    /// last copy of the descriptor is closed. False when somebody else holds it; never waits.
    virtual Result<bool> try_lock(const Fd& fd, LockKind kind) = 0;
    virtual Result<void> unlock(const Fd& fd) = 0;

    /// What is made belongs to its owner alone.
    Result<Fd> open(const std::string& path, OpenMode mode) { return open(path, mode, 0600); }
    Result<void> mkdir(const std::string& path) { return mkdir(path, 0700); }
};

class RealFileOps final : public FileOps {
public:
    using FileOps::mkdir;
    using FileOps::open;

    Result<Fd> open(const std::string& path, OpenMode mode, mode_t permissions) override;
    Result<std::size_t> read(const Fd& fd, std::span<char> into) override;
    Result<std::size_t> pread(const Fd& fd, std::span<char> into, std::uint64_t offset) override;
    Result<std::size_t> write(const Fd& fd, std::string_view bytes) override;
    Result<std::size_t> pwrite(const Fd& fd, std::string_view bytes, std::uint64_t offset) override;
    Result<void> truncate(const Fd& fd, std::uint64_t size) override;
    Result<void> fsync(const Fd& fd) override;
    Result<void> fdatasync(const Fd& fd) override;
    Result<FileInfo> stat(const std::string& path) override;
    Result<FileInfo> stat(const Fd& fd) override;
    Result<void> rename(const std::string& from, const std::string& to) override;
    Result<void> unlink(const std::string& path) override;
    Result<void> mkdir(const std::string& path, mode_t permissions) override;
    Result<bool> try_lock(const Fd& fd, LockKind kind) override;
    Result<void> unlock(const Fd& fd) override;
};

}  // namespace callgate::os
