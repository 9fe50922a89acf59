#include "disk_vfs.h"

#include <filesystem>

#include "os/files.h"

namespace callgate::power_loss {

/// What SQLite holds for an open file; the one below follows it in memory.
struct DiskVfs::Handle {
    sqlite3_file base;
    Disk* disk;
    std::string* path;
    bool new_log;  // SQLite syncs the directory with the first sync of a log that it made

    sqlite3_file* inner() noexcept { return ledger::file_below<Handle>(&base); }
    const sqlite3_io_methods& methods() noexcept { return *inner()->pMethods; }
    static Handle& of(sqlite3_file* file) { return ledger::handle_of<Handle>(file); }

    static int close(sqlite3_file* file) {
        const int code = of(file).methods().xClose(of(file).inner());
        delete of(file).path;
        return code;
    }
    static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
        of(file).disk->writes(*of(file).path, static_cast<std::uint64_t>(offset),
                              {static_cast<const char*>(bytes), static_cast<std::size_t>(size)});
        return of(file).methods().xWrite(of(file).inner(), bytes, size, offset);
    }
    static int truncate(sqlite3_file* file, sqlite3_int64 size) {
        of(file).disk->truncates(*of(file).path, static_cast<std::uint64_t>(size));
        return of(file).methods().xTruncate(of(file).inner(), size);
    }
    static int sync(sqlite3_file* file, int) {
        of(file).disk->synced(*of(file).path);
        if (of(file).new_log) of(file).disk->synced_directory(os::directory_of(*of(file).path));
        of(file).new_log = false;
        return SQLITE_OK;
    }

    static const sqlite3_io_methods kMethods;
};

const sqlite3_io_methods DiskVfs::Handle::kMethods = [] {
    sqlite3_io_methods methods = ledger::passing_methods<Handle>(2);
    methods.xClose = &close;
    methods.xWrite = &write;
    methods.xTruncate = &truncate;
    methods.xSync = &sync;
    return methods;
}();

DiskVfs::DiskVfs(Disk& disk)
    : PassingVfs(nullptr, "callgate-disk", sizeof(Handle), &open, &remove), disk_(disk) {}

int DiskVfs::open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags, int* out) {
    Handle& opened = Handle::of(file);
    opened.base.pMethods = nullptr;
    const bool there = path == nullptr || std::filesystem::exists(path);
    const int code = below_of(vfs)->xOpen(below_of(vfs), path, opened.inner(), flags, out);
    if (opened.inner()->pMethods == nullptr) return code;
    opened.disk = &layer<DiskVfs>(vfs).disk_;
    opened.path = new std::string(path != nullptr ? path : "");
    opened.new_log = !there && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
    if (!there) opened.disk->created(*opened.path);
    opened.base.pMethods = &Handle::kMethods;
    return code;
}

int DiskVfs::remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
    std::string before = content_of(path);
    const int code = delete_below(vfs, path, 0);
    if (code != SQLITE_OK) return code;
    layer<DiskVfs>(vfs).disk_.removed(path, std::move(before));
    if (sync_directory != 0) layer<DiskVfs>(vfs).disk_.synced_directory(os::directory_of(path));
    return code;
}

}  // namespace callgate::power_loss
