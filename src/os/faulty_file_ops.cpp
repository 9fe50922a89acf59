#include "os/faulty_file_ops.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/failpoint.h"
#include "os/system_error.h"

namespace callgate::os {
namespace {

std::optional<base::FailAction> failpoint(FileOp op) {
    switch (op) {
        case FileOp::open: return CALLGATE_FAILPOINT_ACTION("os.open");
        case FileOp::read:
        case FileOp::pread: return CALLGATE_FAILPOINT_ACTION("os.read");
        case FileOp::write:
        case FileOp::pwrite: return CALLGATE_FAILPOINT_ACTION("os.write");
        case FileOp::fsync:
        case FileOp::fdatasync: return CALLGATE_FAILPOINT_ACTION("os.sync");
        case FileOp::rename: return CALLGATE_FAILPOINT_ACTION("os.rename");
        case FileOp::unlink: return CALLGATE_FAILPOINT_ACTION("os.unlink");
        case FileOp::lock: return CALLGATE_FAILPOINT_ACTION("os.lock");
        case FileOp::truncate:
        case FileOp::stat:
        case FileOp::mkdir: break;
    }
    return std::nullopt;
}

FileFault fault_of(base::FailAction action) {
    switch (action) {
        case base::FailAction::enospc: return FileFault::fail_with(ENOSPC);
        case base::FailAction::short_write: return FileFault::only(1);
        default: return FileFault::fail_with(EIO);
    }
}

std::string_view name_of(FileOp op) {
    constexpr std::array<std::string_view, kFileOpCount> kNames{
        "open", "read", "read",    "write",  "write",  "resize",
        "sync", "sync", "look at", "rename", "remove", "make the directory",
        "lock"};
    return kNames[static_cast<std::size_t>(op)];
}

std::span<char> first(std::span<char> bytes, std::size_t count) {
    return bytes.first(std::min(count, bytes.size()));
}

std::string_view first(std::string_view bytes, std::size_t count) {
    return bytes.substr(0, count);
}

}  // namespace

void FaultyFileOps::inject(FileOp op, FileFault fault, std::uint64_t on_call, bool repeat) {
    const base::MutexLock lock(mutex_);
    armed_.push_back(Armed{op, fault, calls_[static_cast<std::size_t>(op)] + on_call, repeat});
}

void FaultyFileOps::clear() {
    const base::MutexLock lock(mutex_);
    armed_.clear();
}

std::uint64_t FaultyFileOps::calls(FileOp op) const {
    const base::MutexLock lock(mutex_);
    return calls_[static_cast<std::size_t>(op)];
}

const FileFault* FaultyFileOps::due(FileOp op, FileFault& storage) {
    if (const auto action = failpoint(op)) {
        storage = fault_of(*action);
        return &storage;
    }
    const base::MutexLock lock(mutex_);
    const auto count = ++calls_[static_cast<std::size_t>(op)];
    for (const auto& armed : armed_) {
        if (armed.op == op && (count == armed.on_call || (armed.repeat && count > armed.on_call))) {
            storage = armed.fault;
            return &storage;
        }
    }
    return nullptr;
}

template <class Call>
auto FaultyFileOps::pass(FileOp op, Call call) -> decltype(call()) {
    FileFault storage;
    if (const auto* fault = due(op, storage); fault != nullptr && fault->error != 0) {
        return tl::unexpected(system_error(ErrorCode::internal, name_of(op), "a file", fault->error));
    }
    return call();
}

template <class Bytes, class Call>
Result<std::size_t> FaultyFileOps::pass_bytes(FileOp op, Bytes bytes, Call call) {
    FileFault storage;
    if (const auto* fault = due(op, storage)) {
        if (fault->error != 0) {
            return tl::unexpected(system_error(ErrorCode::internal, name_of(op), "a file", fault->error));
        }
        bytes = first(bytes, fault->at_most);
    }
    return call(bytes);
}

Result<Fd> FaultyFileOps::open(const std::string& path, OpenMode mode, mode_t permissions) {
    return pass(FileOp::open, [&] { return inner_.open(path, mode, permissions); });
}

Result<std::size_t> FaultyFileOps::read(const Fd& fd, std::span<char> into) {
    return pass_bytes(FileOp::read, into, [&](std::span<char> part) { return inner_.read(fd, part); });
}

Result<std::size_t> FaultyFileOps::pread(const Fd& fd, std::span<char> into, std::uint64_t offset) {
    return pass_bytes(FileOp::pread, into,
                      [&](std::span<char> part) { return inner_.pread(fd, part, offset); });
}

Result<std::size_t> FaultyFileOps::write(const Fd& fd, std::string_view bytes) {
    return pass_bytes(FileOp::write, bytes, [&](std::string_view part) { return inner_.write(fd, part); });
}

Result<std::size_t> FaultyFileOps::pwrite(const Fd& fd, std::string_view bytes, std::uint64_t offset) {
    return pass_bytes(FileOp::pwrite, bytes,
                      [&](std::string_view part) { return inner_.pwrite(fd, part, offset); });
}

Result<void> FaultyFileOps::truncate(const Fd& fd, std::uint64_t size) {
    return pass(FileOp::truncate, [&] { return inner_.truncate(fd, size); });
}

Result<void> FaultyFileOps::fsync(const Fd& fd) {
    return pass(FileOp::fsync, [&] { return inner_.fsync(fd); });
}

Result<void> FaultyFileOps::fdatasync(const Fd& fd) {
    return pass(FileOp::fdatasync, [&] { return inner_.fdatasync(fd); });
}

Result<FileInfo> FaultyFileOps::stat(const std::string& path) {
    return pass(FileOp::stat, [&] { return inner_.stat(path); });
}

Result<FileInfo> FaultyFileOps::stat(const Fd& fd) {
    return pass(FileOp::stat, [&] { return inner_.stat(fd); });
}

Result<void> FaultyFileOps::rename(const std::string& from, const std::string& to) {
    return pass(FileOp::rename, [&] { return inner_.rename(from, to); });
}

Result<void> FaultyFileOps::unlink(const std::string& path) {
    return pass(FileOp::unlink, [&] { return inner_.unlink(path); });
}

Result<void> FaultyFileOps::mkdir(const std::string& path, mode_t permissions) {
    return pass(FileOp::mkdir, [&] { return inner_.mkdir(path, permissions); });
}

Result<bool> FaultyFileOps::try_lock(const Fd& fd, LockKind kind) {
    return pass(FileOp::lock, [&] { return inner_.try_lock(fd, kind); });
}

Result<void> FaultyFileOps::unlock(const Fd& fd) {
    return pass(FileOp::lock, [&] { return inner_.unlock(fd); });
}

}  // namespace callgate::os
