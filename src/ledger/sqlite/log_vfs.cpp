#include "ledger/sqlite/log_vfs.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "os/system_error.h"

namespace callgate::ledger {

namespace {

// Bytes gathered; what is more is written in pieces. SQLite's own layer takes less than 128 KiB in one call:
// of a longer one it writes the remainder of that first, which may be nothing.
constexpr int kMost = 124 << 10;

/// What SQLite holds for an open log; the file below follows it in memory.
struct Log {
    sqlite3_file base;
    char* gathered;       // room for kMost bytes; null: nothing is gathered
    std::size_t count;    // of them in use
    sqlite3_int64 begin;  // where in the file they go

    sqlite3_file* below() noexcept { return reinterpret_cast<sqlite3_file*>(this + 1); }
    const sqlite3_io_methods& methods() noexcept { return *below()->pMethods; }
};

Log& log_of(sqlite3_file* file) {
    return *reinterpret_cast<Log*>(file);
}

/// SQLite's own layer calls a device without room full, and a user's used up share a broken disk; later
/// nobody can tell the two apart.
int counted(int code) noexcept {
    const bool no_room = (code & 0xFF) == SQLITE_IOERR && os::is_disk_full(errno);
    return no_room ? SQLITE_FULL : code;
}

/// What cannot be written stays, and is written before anything that comes later: SQLite takes it for written
/// already, and may learn of the failure in a call after which it goes on.
int write_gathered(Log& log) {
    if (log.count == 0) return SQLITE_OK;
    const int code =
        counted(log.methods().xWrite(log.below(), log.gathered, static_cast<int>(log.count), log.begin));
    if (code == SQLITE_OK) log.count = 0;
    return code;
}

int close(sqlite3_file* file) {
    Log& log = log_of(file);
    sqlite3_free(log.gathered);  // what was never synced belongs to no commit
    return log.methods().xClose(log.below());
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    Log& log = log_of(file);
    const auto count = static_cast<std::size_t>(size);
    const bool follows = offset == log.begin + static_cast<sqlite3_int64>(log.count);
    if (!follows || log.count + count > std::size_t{kMost}) {
        if (const int code = write_gathered(log); code != SQLITE_OK) return code;
    }
    if (log.gathered == nullptr || size > kMost)
        return counted(log.methods().xWrite(log.below(), bytes, size, offset));
    if (log.count == 0) log.begin = offset;
    std::memcpy(log.gathered + log.count, bytes, count);
    log.count += count;
    return SQLITE_OK;
}

int read(sqlite3_file* file, void* into, int size, sqlite3_int64 offset) {
    Log& log = log_of(file);
    const int code = write_gathered(log);
    return code == SQLITE_OK ? log.methods().xRead(log.below(), into, size, offset) : code;
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
    Log& log = log_of(file);
    const int code = write_gathered(log);
    return code == SQLITE_OK ? log.methods().xTruncate(log.below(), size) : code;
}

int sync(sqlite3_file* file, int flags) {
    Log& log = log_of(file);
    const int code = write_gathered(log);
    return code == SQLITE_OK ? log.methods().xSync(log.below(), flags) : code;
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
    Log& log = log_of(file);
    const int code = write_gathered(log);
    return code == SQLITE_OK ? log.methods().xFileSize(log.below(), size) : code;
}

// A log is neither locked nor mapped.
constexpr sqlite3_io_methods kMethods{
    1,
    &close,
    &read,
    &write,
    &truncate,
    &sync,
    &file_size,
    [](sqlite3_file* file, int level) { return log_of(file).methods().xLock(log_of(file).below(), level); },
    [](sqlite3_file* file, int level) { return log_of(file).methods().xUnlock(log_of(file).below(), level); },
    [](sqlite3_file* file, int* out) {
        return log_of(file).methods().xCheckReservedLock(log_of(file).below(), out);
    },
    [](sqlite3_file* file, int op, void* argument) {
        return log_of(file).methods().xFileControl(log_of(file).below(), op, argument);
    },
    [](sqlite3_file* file) { return log_of(file).methods().xSectorSize(log_of(file).below()); },
    [](sqlite3_file* file) { return log_of(file).methods().xDeviceCharacteristics(log_of(file).below()); },
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

LogVfs::LogVfs(const char* base) : below_(sqlite3_vfs_find(base)), vfs_() {
    if (below_ == nullptr) throw std::invalid_argument("there is no such file layer");
    static std::atomic<unsigned> made{0};
    name_ = "callgate-log-" + std::to_string(++made);
    vfs_ = *below_;
    vfs_.pNext = nullptr;
    vfs_.zName = name_.c_str();
    vfs_.szOsFile = static_cast<int>(sizeof(Log)) + below_->szOsFile;
    vfs_.pAppData = this;
    vfs_.xOpen = &open;
    vfs_.xDelete = [](sqlite3_vfs* vfs, const char* path, int sync_directory) {
        return below(vfs)->xDelete(below(vfs), path, sync_directory);
    };
    vfs_.xAccess = [](sqlite3_vfs* vfs, const char* path, int flags, int* found) {
        return below(vfs)->xAccess(below(vfs), path, flags, found);
    };
    vfs_.xFullPathname = [](sqlite3_vfs* vfs, const char* path, int size, char* full) {
        return below(vfs)->xFullPathname(below(vfs), path, size, full);
    };
    sqlite3_vfs_register(&vfs_, 0);
}

int LogVfs::open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags, int* out) {
    if ((flags & SQLITE_OPEN_WAL) == 0) return below(vfs)->xOpen(below(vfs), path, file, flags, out);
    Log& log = log_of(file);
    log.base.pMethods = nullptr;
    const int code = below(vfs)->xOpen(below(vfs), path, log.below(), flags, out);
    if (log.below()->pMethods == nullptr) return code;  // it need not be closed either
    const int can = log.methods().xDeviceCharacteristics(log.below());
    // Where a write may damage what stands beside it, SQLite writes on after the sync; and what it calls must
    // not throw.
    const bool gathers = (can & SQLITE_IOCAP_POWERSAFE_OVERWRITE) != 0;
    log.gathered = gathers ? static_cast<char*>(sqlite3_malloc(kMost)) : nullptr;
    log.count = 0;
    log.begin = 0;
    log.base.pMethods = &kMethods;
    return code;
}

LogVfs::~LogVfs() {
    sqlite3_vfs_unregister(&vfs_);
}

}  // namespace callgate::ledger
