#include "os/file_ops.h"

#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/system_error.h"

namespace callgate::os {
namespace {

constexpr std::string_view kThisFile = "a file";

tl::unexpected<Error> failed(std::string_view what, std::string_view subject) {
    return tl::unexpected(system_error(ErrorCode::internal, what, subject, errno));
}

Result<void> done(int result, std::string_view what, std::string_view subject) {
    if (result != 0) {
        return failed(what, subject);
    }
    return {};
}

Result<std::size_t> moved(ssize_t result, std::string_view what) {
    if (result < 0) {
        return failed(what, kThisFile);
    }
    return static_cast<std::size_t>(result);
}

int flags_of(OpenMode mode) {
    switch (mode) {
        case OpenMode::read: return O_RDONLY;
        case OpenMode::read_write: return O_RDWR;
        case OpenMode::create: return O_RDWR | O_CREAT | O_NOFOLLOW;
        case OpenMode::create_exclusive: return O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
        case OpenMode::append: return O_WRONLY | O_CREAT | O_APPEND;
        case OpenMode::directory: return O_RDONLY | O_DIRECTORY;
    }
    return O_RDONLY;
}

FileInfo info_of(const struct ::stat& raw) {
    FileInfo out;
    out.kind = S_ISREG(raw.st_mode)   ? FileKind::regular
               : S_ISDIR(raw.st_mode) ? FileKind::directory
                                      : FileKind::other;
    out.size = static_cast<std::uint64_t>(raw.st_size);
    out.permissions = raw.st_mode & 07777;
    out.owner = raw.st_uid;
    out.device = raw.st_dev;
    out.inode = raw.st_ino;
    return out;
}

// The kernel would see only what stands before a NUL: another file.
bool path_has_nul(const std::string& path) {
    if (path.find('\0') == std::string::npos) {
        return false;
    }
    errno = EINVAL;
    return true;
}

int lock_call(const Fd& fd, short type) {
    struct ::flock request{};
    request.l_type = type;
    request.l_whence = SEEK_SET;
    return ::fcntl(fd.get(), F_OFD_SETLK, &request);
}

}  // namespace

Result<Fd> RealFileOps::open(const std::string& path, OpenMode mode, mode_t permissions) {
    Fd fd(path_has_nul(path) ? -1 : ::open(path.c_str(), flags_of(mode) | O_CLOEXEC | O_NOCTTY, permissions));
    if (!fd) {
        return failed("open", path);
    }
    return fd;
}

Result<std::size_t> RealFileOps::read(const Fd& fd, std::span<char> into) {
    return moved(::read(fd.get(), into.data(), into.size()), "read");
}

Result<std::size_t> RealFileOps::pread(const Fd& fd, std::span<char> into, std::uint64_t offset) {
    return moved(::pread(fd.get(), into.data(), into.size(), static_cast<off_t>(offset)), "read");
}

Result<std::size_t> RealFileOps::write(const Fd& fd, std::string_view bytes) {
    return moved(::write(fd.get(), bytes.data(), bytes.size()), "write");
}

Result<std::size_t> RealFileOps::pwrite(const Fd& fd, std::string_view bytes, std::uint64_t offset) {
    return moved(::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)), "write");
}

Result<void> RealFileOps::truncate(const Fd& fd, std::uint64_t size) {
    return done(::ftruncate(fd.get(), static_cast<off_t>(size)), "resize", kThisFile);
}

Result<void> RealFileOps::fsync(const Fd& fd) {
    return done(::fsync(fd.get()), "sync", kThisFile);
}

Result<void> RealFileOps::fdatasync(const Fd& fd) {
    return done(::fdatasync(fd.get()), "sync", kThisFile);
}

Result<FileInfo> RealFileOps::stat(const std::string& path) {
    struct ::stat raw{};
    if (path_has_nul(path) || ::stat(path.c_str(), &raw) != 0) {
        return failed("look at", path);
    }
    return info_of(raw);
}

Result<FileInfo> RealFileOps::stat(const Fd& fd) {
    struct ::stat raw{};
    if (::fstat(fd.get(), &raw) != 0) {
        return failed("look at", kThisFile);
    }
    return info_of(raw);
}

Result<void> RealFileOps::rename(const std::string& from, const std::string& to) {
    return done(path_has_nul(from) || path_has_nul(to) ? -1 : ::rename(from.c_str(), to.c_str()), "rename to",
                to);
}

Result<void> RealFileOps::unlink(const std::string& path) {
    return done(path_has_nul(path) ? -1 : ::unlink(path.c_str()), "remove", path);
}

Result<void> RealFileOps::mkdir(const std::string& path, mode_t permissions) {
    return done(path_has_nul(path) ? -1 : ::mkdir(path.c_str(), permissions), "make the directory", path);
}

Result<bool> RealFileOps::try_lock(const Fd& fd, LockKind kind) {
    if (lock_call(fd, kind == LockKind::exclusive ? F_WRLCK : F_RDLCK) == 0) {
        return true;
    }
    if (errno == EAGAIN || errno == EACCES) {
        return false;
    }
    return failed("lock", kThisFile);
}

Result<void> RealFileOps::unlock(const Fd& fd) {
    return done(lock_call(fd, F_UNLCK), "unlock", kThisFile);
}

}  // namespace callgate::os
