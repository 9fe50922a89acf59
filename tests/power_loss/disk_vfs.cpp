#include "disk_vfs.h"

#include <filesystem>

#include "os/files.h"

namespace callgate::power_loss {

/// What SQLite holds for an open file; the inner file follows it in memory.
struct DiskVfs::Handle {
    sqlite3_file base;
    Disk* disk;
    std::string* path;
    bool new_log;  // SQLite syncs the directory with the first sync of a log that it made

    sqlite3_file* inner() noexcept { return reinterpret_cast<sqlite3_file*>(this + 1); }
    const sqlite3_io_methods& methods() noexcept { return *inner()->pMethods; }
    static Handle& of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }

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

const sqlite3_io_methods DiskVfs::Handle::kMethods{
    2,
    &close,
    [](sqlite3_file* f, void* into, int size, sqlite3_int64 at) {
        return of(f).methods().xRead(of(f).inner(), into, size, at);
    },
    &write,
    &truncate,
    &sync,
    [](sqlite3_file* f, sqlite3_int64* size) { return of(f).methods().xFileSize(of(f).inner(), size); },
    [](sqlite3_file* f, int level) { return of(f).methods().xLock(of(f).inner(), level); },
    [](sqlite3_file* f, int level) { return of(f).methods().xUnlock(of(f).inner(), level); },
    [](sqlite3_file* f, int* out) { return of(f).methods().xCheckReservedLock(of(f).inner(), out); },
    [](sqlite3_file* f, int op, void* arg) { return of(f).methods().xFileControl(of(f).inner(), op, arg); },
    [](sqlite3_file* f) { return of(f).methods().xSectorSize(of(f).inner()); },
    [](sqlite3_file* f) { return of(f).methods().xDeviceCharacteristics(of(f).inner()); },
    [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
        return of(f).methods().xShmMap(of(f).inner(), page, size, extend, out);
    },
    [](sqlite3_file* f, int offset, int n, int flags) {
        return of(f).methods().xShmLock(of(f).inner(), offset, n, flags);
    },
    [](sqlite3_file* f) { of(f).methods().xShmBarrier(of(f).inner()); },
    [](sqlite3_file* f, int remove_it) { return of(f).methods().xShmUnmap(of(f).inner(), remove_it); },
    nullptr,
    nullptr,
};

DiskVfs::DiskVfs(Disk& disk) : disk_(disk), inner_(sqlite3_vfs_find(nullptr)), vfs_(*inner_) {
    vfs_.pNext = nullptr;
    vfs_.zName = name();
    vfs_.pAppData = this;
    vfs_.szOsFile = static_cast<int>(sizeof(Handle)) + inner_->szOsFile;
    vfs_.xOpen = &open;
    vfs_.xDelete = &remove;
    vfs_.xAccess = [](sqlite3_vfs* vfs, const char* path, int flags, int* out) {
        return self(vfs).inner_->xAccess(self(vfs).inner_, path, flags, out);
    };
    vfs_.xFullPathname = [](sqlite3_vfs* vfs, const char* path, int size, char* out) {
        return self(vfs).inner_->xFullPathname(self(vfs).inner_, path, size, out);
    };
    sqlite3_vfs_register(&vfs_, 0);
}

DiskVfs::~DiskVfs() {
    sqlite3_vfs_unregister(&vfs_);
}

int DiskVfs::open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags, int* out) {
    Handle& opened = Handle::of(file);
    opened.base.pMethods = nullptr;
    const bool there = path == nullptr || std::filesystem::exists(path);
    const int code = self(vfs).inner_->xOpen(self(vfs).inner_, path, opened.inner(), flags, out);
    if (opened.inner()->pMethods == nullptr) return code;
    opened.disk = &self(vfs).disk_;
    opened.path = new std::string(path != nullptr ? path : "");
    opened.new_log = !there && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
    if (!there) opened.disk->created(*opened.path);
    opened.base.pMethods = &Handle::kMethods;
    return code;
}

int DiskVfs::remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
    std::string before = content_of(path);
    const int code = self(vfs).inner_->xDelete(self(vfs).inner_, path, 0);
    if (code != SQLITE_OK) return code;
    self(vfs).disk_.removed(path, std::move(before));
    if (sync_directory != 0) self(vfs).disk_.synced_directory(os::directory_of(path));
    return code;
}

}  // namespace callgate::power_loss
