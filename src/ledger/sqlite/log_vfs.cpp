#include "ledger/sqlite/log_vfs.h"

#include <atomic>
#include <stdexcept>
#include <string_view>

namespace callgate::ledger {

namespace {

// Bytes gathered; what is more is written in pieces. SQLite's own layer takes less than 128 KiB in one call:
// of a longer one it writes the remainder of that first, which may be nothing.
constexpr std::size_t kMost = 124u << 10;

/// What SQLite holds for an open log; the file below follows it in memory.
struct Log {
    sqlite3_file base;
    std::string* gathered;
    sqlite3_int64 begin;  // where in the file that goes

    sqlite3_file* below() noexcept { return reinterpret_cast<sqlite3_file*>(this + 1); }
    const sqlite3_io_methods& methods() noexcept { return *below()->pMethods; }
};

Log& log_of(sqlite3_file* file) {
    return *reinterpret_cast<Log*>(file);
}

/// What cannot be written is let go: it belongs to a transaction that fails by it.
int write_gathered(Log& log) {
    if (log.gathered->empty()) return SQLITE_OK;
    const int code = log.methods().xWrite(log.below(), log.gathered->data(),
                                          static_cast<int>(log.gathered->size()), log.begin);
    log.gathered->clear();
    return code;
}

int close(sqlite3_file* file) {
    Log& log = log_of(file);
    const int written = write_gathered(log);
    delete log.gathered;
    const int closed = log.methods().xClose(log.below());
    return written == SQLITE_OK ? closed : written;
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    Log& log = log_of(file);
    const auto count = static_cast<std::size_t>(size);
    const bool follows = offset == log.begin + static_cast<sqlite3_int64>(log.gathered->size());
    if (!follows || log.gathered->size() + count > kMost) {
        if (const int code = write_gathered(log); code != SQLITE_OK) return code;
    }
    if (count > kMost) return log.methods().xWrite(log.below(), bytes, size, offset);
    if (log.gathered->empty()) log.begin = offset;
    log.gathered->append(static_cast<const char*>(bytes), count);
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
    log.gathered = new std::string;
    log.begin = 0;
    log.base.pMethods = &kMethods;
    return code;
}

LogVfs::~LogVfs() {
    sqlite3_vfs_unregister(&vfs_);
}

}  // namespace callgate::ledger
