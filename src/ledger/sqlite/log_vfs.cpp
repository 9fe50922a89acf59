#include "ledger/sqlite/log_vfs.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

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

    sqlite3_file* below() noexcept { return file_below<Log>(&base); }
    const sqlite3_io_methods& methods() noexcept { return *below()->pMethods; }
};

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
    Log& log = handle_of<Log>(file);
    sqlite3_free(log.gathered);  // what was never synced belongs to no commit
    return log.methods().xClose(log.below());
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    Log& log = handle_of<Log>(file);
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
    Log& log = handle_of<Log>(file);
    const int code = write_gathered(log);
    return code == SQLITE_OK ? log.methods().xRead(log.below(), into, size, offset) : code;
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
    Log& log = handle_of<Log>(file);
    const int code = write_gathered(log);
    return code == SQLITE_OK ? log.methods().xTruncate(log.below(), size) : code;
}

int sync(sqlite3_file* file, int flags) {
    Log& log = handle_of<Log>(file);
    const int code = write_gathered(log);
    return code == SQLITE_OK ? log.methods().xSync(log.below(), flags) : code;
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
    Log& log = handle_of<Log>(file);
    const int code = write_gathered(log);
    return code == SQLITE_OK ? log.methods().xFileSize(log.below(), size) : code;
}

// A log is not mapped.
constexpr sqlite3_io_methods kLogMethods = [] {
    sqlite3_io_methods methods = passing_methods<Log>(1);
    methods.xClose = &close;
    methods.xRead = &read;
    methods.xWrite = &write;
    methods.xTruncate = &truncate;
    methods.xSync = &sync;
    methods.xFileSize = &file_size;
    return methods;
}();

std::string next_name() {
    static std::atomic<unsigned> made{0};
    return "callgate-log-" + std::to_string(++made);
}

}  // namespace

LogVfs::LogVfs(const char* base) : PassingVfs(base, next_name(), sizeof(Log), &open) {}

int LogVfs::open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags, int* out) {
    if ((flags & SQLITE_OPEN_WAL) == 0) return below_of(vfs)->xOpen(below_of(vfs), path, file, flags, out);
    Log& log = handle_of<Log>(file);
    log.base.pMethods = nullptr;
    const int code = below_of(vfs)->xOpen(below_of(vfs), path, log.below(), flags, out);
    if (log.below()->pMethods == nullptr) return code;  // it need not be closed either
    const int can = log.methods().xDeviceCharacteristics(log.below());
    // Where a write may damage what stands beside it, SQLite writes on after the sync; and what it calls must
    // not throw.
    const bool gathers = (can & SQLITE_IOCAP_POWERSAFE_OVERWRITE) != 0;
    log.gathered = gathers ? static_cast<char*>(sqlite3_malloc(kMost)) : nullptr;
    log.count = 0;
    log.begin = 0;
    log.base.pMethods = &kLogMethods;
    return code;
}

}  // namespace callgate::ledger
