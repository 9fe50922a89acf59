// A disk that fails when told to: passes every call on to another FileOps, except the chosen ones.
//
// For tests. A failed call does nothing; a short one does a part, as a full disk or a signal would have it.
// Each kind of call is a failpoint, too.
//
// Threads: may be used from any thread.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "os/file_ops.h"

namespace callgate::os {

enum class FileOp : std::uint8_t {
    open,
    read,
    pread,
    write,
    pwrite,
    truncate,
    fsync,
    fdatasync,
    stat,
    rename,
    unlink,
    mkdir,
    lock
};
inline constexpr std::size_t kFileOpCount = static_cast<std::size_t>(FileOp::lock) + 1;

struct FileFault {
    int error = 0;            ///< the errno to fail with; 0 = do a part
    std::size_t at_most = 1;  ///< how much a short read or write does

    static FileFault fail_with(int error_number) { return FileFault{error_number, 0}; }
    static FileFault only(std::size_t bytes) { return FileFault{0, bytes}; }
};

class FaultyFileOps final : public FileOps {
public:
    using FileOps::mkdir;
    using FileOps::open;

    /// `inner` must outlive this.
    explicit FaultyFileOps(FileOps& inner) : inner_(inner) {}

    /// The `on_call`-th call of `op` from now (1 is the next) fails; with `repeat`, all later ones too.
    void inject(FileOp op, FileFault fault, std::uint64_t on_call = 1, bool repeat = false);
    void clear();
    std::uint64_t calls(FileOp op) const;

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

private:
    struct Armed {
        FileOp op;
        FileFault fault;
        std::uint64_t on_call;
        bool repeat;
    };

    /// Counts the call; the fault that is due, if any.
    const FileFault* due(FileOp op, FileFault& storage);
    template <class Call>
    auto pass(FileOp op, Call call) -> decltype(call());
    template <class Bytes, class Call>
    Result<std::size_t> pass_bytes(FileOp op, Bytes bytes, Call call);

    FileOps& inner_;
    mutable base::Mutex mutex_;
    std::array<std::uint64_t, kFileOpCount> calls_ CALLGATE_GUARDED_BY(mutex_){};
    std::vector<Armed> armed_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate::os
