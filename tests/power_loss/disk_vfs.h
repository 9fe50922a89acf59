// SQLite's files on a disk that forgets (disk.h).
//
// Threads: as SQLite's own. Must outlive every connection that uses it.
#pragma once

#include <string>

#include <sqlite3.h>

#include "disk.h"

namespace callgate::power_loss {

class DiskVfs {
public:
    explicit DiskVfs(Disk& disk);
    ~DiskVfs();
    DiskVfs(const DiskVfs&) = delete;
    DiskVfs& operator=(const DiskVfs&) = delete;

    const char* name() const noexcept { return "callgate-disk"; }

private:
    struct Handle;
    static DiskVfs& self(sqlite3_vfs* vfs) { return *static_cast<DiskVfs*>(vfs->pAppData); }
    static int open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags, int* out);
    static int remove(sqlite3_vfs* vfs, const char* path, int sync_directory);

    Disk& disk_;
    sqlite3_vfs* inner_;
    sqlite3_vfs vfs_;
};

}  // namespace callgate::power_loss
