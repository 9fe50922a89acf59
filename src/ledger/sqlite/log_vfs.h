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

#include "ledger/sqlite/passing_vfs.h"

namespace callgate::ledger {

class LogVfs final : public PassingVfs {
public:
    /// Over the layer of this name, nullptr: the usual one.
    explicit LogVfs(const char* base);

private:
    static int open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags, int* out);
};

}  // namespace callgate::ledger
