// A file layer for SQLite that passes everything on to the layer below: what others begin with, which put
// something of their own in the place of a few calls.
//
// A layer keeps a Handle for each open file. It begins with a sqlite3_file; the file of the layer below
// follows it in memory.
//
// Threads: as SQLite's own. Must outlive every connection that uses it.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include <sqlite3.h>

namespace callgate::ledger {

/// Of an open file: what the layer keeps of it, and the file below.
template <class Handle>
Handle& handle_of(sqlite3_file* file) noexcept {
    return *reinterpret_cast<Handle*>(file);
}
template <class Handle>
sqlite3_file* file_below(sqlite3_file* file) noexcept {
    return reinterpret_cast<sqlite3_file*>(reinterpret_cast<Handle*>(file) + 1);
}

/// A call of a file, made of the file below.
template <class Handle, auto Method>
struct PassOn;
template <class Handle, class R, class... Given, R (*sqlite3_io_methods::*Method)(sqlite3_file*, Given...)>
struct PassOn<Handle, Method> {
    static R call(sqlite3_file* file, Given... given) {
        sqlite3_file* const below = file_below<Handle>(file);
        return (below->pMethods->*Method)(below, given...);
    }
};

/// What a layer changes some of. `version` 1: the files are not shared in memory; 2: they are.
template <class Handle>
constexpr sqlite3_io_methods passing_methods(int version) {
    using Methods = sqlite3_io_methods;
    Methods methods{};
    methods.iVersion = version;
    methods.xClose = &PassOn<Handle, &Methods::xClose>::call;
    methods.xRead = &PassOn<Handle, &Methods::xRead>::call;
    methods.xWrite = &PassOn<Handle, &Methods::xWrite>::call;
    methods.xTruncate = &PassOn<Handle, &Methods::xTruncate>::call;
    methods.xSync = &PassOn<Handle, &Methods::xSync>::call;
    methods.xFileSize = &PassOn<Handle, &Methods::xFileSize>::call;
    methods.xLock = &PassOn<Handle, &Methods::xLock>::call;
    methods.xUnlock = &PassOn<Handle, &Methods::xUnlock>::call;
    methods.xCheckReservedLock = &PassOn<Handle, &Methods::xCheckReservedLock>::call;
    methods.xFileControl = &PassOn<Handle, &Methods::xFileControl>::call;
    methods.xSectorSize = &PassOn<Handle, &Methods::xSectorSize>::call;
    methods.xDeviceCharacteristics = &PassOn<Handle, &Methods::xDeviceCharacteristics>::call;
    if (version < 2) return methods;
    methods.xShmMap = &PassOn<Handle, &Methods::xShmMap>::call;
    methods.xShmLock = &PassOn<Handle, &Methods::xShmLock>::call;
    methods.xShmBarrier = &PassOn<Handle, &Methods::xShmBarrier>::call;
    methods.xShmUnmap = &PassOn<Handle, &Methods::xShmUnmap>::call;
    return methods;
}

class PassingVfs {
public:
    PassingVfs(const PassingVfs&) = delete;
    PassingVfs& operator=(const PassingVfs&) = delete;

    const char* name() const noexcept { return name_.c_str(); }

protected:
    using Open = decltype(sqlite3_vfs::xOpen);
    using Delete = decltype(sqlite3_vfs::xDelete);

    /// Over the layer called `below`, nullptr: the usual one. `handle`: the size of the layer's Handle.
    PassingVfs(const char* below, std::string name, std::size_t handle, Open open,
               Delete remove = &delete_below)
        : below_(found(below)), vfs_(*below_), name_(std::move(name)) {
        vfs_.pNext = nullptr;
        vfs_.zName = name_.c_str();
        vfs_.pAppData = this;
        vfs_.szOsFile = static_cast<int>(handle) + below_->szOsFile;
        vfs_.xOpen = open;
        vfs_.xDelete = remove;
        vfs_.xAccess = [](sqlite3_vfs* vfs, const char* path, int flags, int* out) {
            return below_of(vfs)->xAccess(below_of(vfs), path, flags, out);
        };
        vfs_.xFullPathname = [](sqlite3_vfs* vfs, const char* path, int size, char* out) {
            return below_of(vfs)->xFullPathname(below_of(vfs), path, size, out);
        };
        sqlite3_vfs_register(&vfs_, 0);
    }
    ~PassingVfs() { sqlite3_vfs_unregister(&vfs_); }

    /// The layer that SQLite calls, as the class that it is.
    template <class Layer>
    static Layer& layer(sqlite3_vfs* vfs) noexcept {
        return static_cast<Layer&>(*static_cast<PassingVfs*>(vfs->pAppData));
    }
    static sqlite3_vfs* below_of(sqlite3_vfs* vfs) noexcept { return layer<PassingVfs>(vfs).below_; }

    static int delete_below(sqlite3_vfs* vfs, const char* path, int sync_directory) {
        return below_of(vfs)->xDelete(below_of(vfs), path, sync_directory);
    }

private:
    static sqlite3_vfs* found(const char* name) {
        sqlite3_vfs* const vfs = sqlite3_vfs_find(name);
        if (vfs == nullptr) throw std::invalid_argument("there is no such file layer");
        return vfs;
    }

    sqlite3_vfs* below_;
    sqlite3_vfs vfs_;
    std::string name_;
};

}  // namespace callgate::ledger
