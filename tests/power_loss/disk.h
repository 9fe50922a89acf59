// A disk that forgets what was not synced. Files are real ones, and hold what a running process sees; what
// would be left of them after a power cut is known here, and put in their place by die().
//
// Threads: may be used from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "os/file_ops.h"

namespace callgate::power_loss {

class Disk {
public:
    /// `honest` false: syncs are answered and do nothing. After `life` writes and syncs the power goes, and
    /// `on_death` ends the process.
    Disk(std::uint64_t seed, std::uint64_t life, bool honest, std::function<void()> on_death)
        : rng_(seed), life_(life), honest_(honest), on_death_(std::move(on_death)) {}

    // Told before it happens to the real file.
    void writes(const std::string& path, std::uint64_t offset, std::string_view bytes);
    void truncates(const std::string& path, std::uint64_t size);
    // Told after.
    void created(const std::string& path);
    void removed(const std::string& path, std::string before);
    void renamed(const std::string& from, const std::string& to, bool replaced, std::string before);
    void synced(const std::string& path);
    void synced_directory(const std::string& path);

    /// The power goes now.
    void die();

private:
    struct Write {
        bool truncates = false;
        std::uint64_t offset = 0;  // or the new size
        std::string bytes;
    };
    struct File {
        std::string durable;
        std::vector<Write> pending;
    };
    /// A change of a directory that a power cut may undo.
    struct Entry {
        enum class Kind : std::uint8_t { created, removed, renamed } kind;
        std::string path, to;
        bool replaced = false;
        std::string before;  // what the name meant until then
    };

    File& file(const std::string& path);
    void step();
    void cut();
    void undo(const Entry& entry);
    std::string survivor(const File& file, std::uint64_t sector);

    std::mutex mutex_;
    base::SeededRng rng_;
    std::uint64_t life_;
    const bool honest_;
    const std::function<void()> on_death_;
    std::map<std::string, File> files_;
    std::map<std::string, std::vector<Entry>> entries_;  // by directory
};

/// Files on that disk.
class DiskFileOps final : public os::FileOps {
public:
    explicit DiskFileOps(Disk& disk) : disk_(disk) {}

    using FileOps::mkdir;
    using FileOps::open;
    Result<os::Fd> open(const std::string& path, os::OpenMode mode, mode_t permissions) override;
    Result<std::size_t> read(const os::Fd& fd, std::span<char> into) override { return real_.read(fd, into); }
    Result<std::size_t> pread(const os::Fd& fd, std::span<char> into, std::uint64_t offset) override {
        return real_.pread(fd, into, offset);
    }
    Result<std::size_t> write(const os::Fd& fd, std::string_view bytes) override;
    Result<std::size_t> pwrite(const os::Fd& fd, std::string_view bytes, std::uint64_t offset) override;
    Result<void> truncate(const os::Fd& fd, std::uint64_t size) override;
    Result<void> fsync(const os::Fd& fd) override;
    Result<void> fdatasync(const os::Fd& fd) override { return fsync(fd); }
    Result<os::FileInfo> stat(const std::string& path) override { return real_.stat(path); }
    Result<os::FileInfo> stat(const os::Fd& fd) override { return real_.stat(fd); }
    Result<void> rename(const std::string& from, const std::string& to) override;
    Result<void> unlink(const std::string& path) override;
    Result<void> mkdir(const std::string& path, mode_t permissions) override;
    Result<bool> try_lock(const os::Fd& fd, os::LockKind kind) override { return real_.try_lock(fd, kind); }
    Result<void> unlock(const os::Fd& fd) override { return real_.unlock(fd); }

private:
    Disk& disk_;
    os::RealFileOps real_;
};

std::string content_of(const std::string& path);

}  // namespace callgate::power_loss
