// A file layer for SQLite that writes its log in one go. SQLite puts down each page of a transaction with two
// calls, a header of 24 bytes and the page; here they are gathered and written as one when the log is synced,
// which is before anybody learns of the commit. For a commit of 64 calls that is one call instead of
// seventy.
//
// Only for a connection with synchronous = FULL: with less, others would see a commit before it is written.
// All other files, and whatever is not a write, go to the layer below as they are; so does everything where
// there is no memory to gather in, or where a write may damage what stands beside it (the layer says so).
//
// Threads: as SQLite's own; each file belongs to one connection. Must outlive every connection that uses it.
#pragma once

#include <string>

#include <sqlite3.h>

namespace callgate::ledger {

class LogVfs {
public:
    /// Over the layer of this name, nullptr: the usual one.
    explicit LogVfs(const char* base);
    ~LogVfs();
    LogVfs(const LogVfs&) = delete;
    LogVfs& operator=(const LogVfs&) = delete;

    const char* name() const noexcept { return name_.c_str(); }

private:
    static sqlite3_vfs* below(sqlite3_vfs* vfs) noexcept {
        return static_cast<LogVfs*>(vfs->pAppData)->below_;
    }
    static int open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags, int* out);

    sqlite3_vfs* below_;
    sqlite3_vfs vfs_;
    std::string name_;
};

}  // namespace callgate::ledger
