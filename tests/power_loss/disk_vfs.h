// SQLite's files on a disk that forgets (disk.h).
//
// Threads: as SQLite's own. Must outlive every connection that uses it.
#pragma once

#include "disk.h"
#include "ledger/sqlite/passing_vfs.h"

namespace callgate::power_loss {

class DiskVfs final : public ledger::PassingVfs {
public:
    explicit DiskVfs(Disk& disk);

private:
    struct Handle;
    static int open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags, int* out);
    static int remove(sqlite3_vfs* vfs, const char* path, int sync_directory);

    Disk& disk_;
};

}  // namespace callgate::power_loss
