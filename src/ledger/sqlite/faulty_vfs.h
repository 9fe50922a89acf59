// For tests: a file layer for SQLite that fails when told to. It passes every call on to the usual one,
// except the chosen ones.
//
// A failed call does nothing; a short write does a part of its work, half of it unless told otherwise. Syncs
// are counted and answered, but not passed on: what is tested is what is asked of a disk, not the disk. Each
// kind of call is a failpoint, too.
//
// Threads: may be used from any thread. Must outlive every connection that uses it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include "base/failpoint.h"
#include "base/mutex.h"
#include "ledger/sqlite/passing_vfs.h"

namespace callgate::ledger {

class FaultyVfs final : public PassingVfs {
public:
    enum class Op : std::uint8_t { open, read, write, truncate, sync, remove };
    enum class File : std::uint8_t { database, log, other };
    enum class Fault : std::uint8_t {
        error,  ///< what a broken disk says
        full,   ///< no space left; for a call that needs none, as `error`
        half,   ///< a part of a write, then no space is left
        torn,   ///< a part of a write, then the disk breaks
        quota,  ///< the user's share is used up: SQLite takes that for a broken disk
    };

    FaultyVfs() : PassingVfs(nullptr, next_name(), sizeof(Handle), &open, &remove) {}

    std::function<void()> before_read;  ///< set while nothing runs

    /// The `on_call`-th such call from now (1 is the next) fails; with `repeat`, all later ones too.
    void inject(Op op, File file, Fault fault, std::uint64_t on_call = 1, bool repeat = false) {
        const base::MutexLock lock(mutex_);
        armed_.push_back({Which{op, file}, fault, count(op, file) + on_call, repeat});
    }
    /// The same for the calls of every kind that change or open something, counted together.
    void inject_any(Fault fault, std::uint64_t on_call, bool repeat = false) {
        const base::MutexLock lock(mutex_);
        armed_.push_back({std::nullopt, fault, changes_ + on_call, repeat});
    }
    /// How much of a write that is torn is done. Set while nothing runs.
    void tear_at(std::uint64_t eighths) { eighths_ = eighths; }
    void clear() {
        const base::MutexLock lock(mutex_);
        armed_.clear();
    }
    /// The disk hangs: what writes or syncs waits until it goes on.
    void stop() {
        const base::MutexLock lock(stop_mutex_);
        stopped_ = true;
    }
    void go_on() {
        const base::MutexLock lock(stop_mutex_);
        stopped_ = false;
        stop_changed_.notify_all();
    }
    /// Returns when somebody waits for it.
    void until_somebody_hangs() {
        base::MutexLock lock(stop_mutex_);
        stop_changed_.wait(lock, [this]() CALLGATE_REQUIRES(stop_mutex_) { return hanging_ != 0; });
    }

    std::uint64_t calls(Op op, File file) const {
        const base::MutexLock lock(mutex_);
        return count(op, file);
    }
    /// Of all files.
    std::uint64_t calls(Op op) const {
        return calls(op, File::database) + calls(op, File::log) + calls(op, File::other);
    }
    std::uint64_t faults() const {
        const base::MutexLock lock(mutex_);
        return faults_;
    }

private:
    struct Which {
        Op op;
        File file;
        bool operator==(const Which&) const = default;
    };
    struct Armed {
        std::optional<Which> which;  // nothing: any that changes something
        Fault fault;
        std::uint64_t on_call;
        bool repeat;
    };
    /// What SQLite holds for an open file; the one below follows it in memory.
    struct Handle {
        sqlite3_file base;
        FaultyVfs* owner;
        File file;
    };

    static std::string next_name() {
        static std::atomic<int> made{0};
        return "faulty-" + std::to_string(++made);
    }

    static Handle& handle(sqlite3_file* file) { return handle_of<Handle>(file); }
    static sqlite3_file* inner(sqlite3_file* file) { return file_below<Handle>(file); }
    static const sqlite3_io_methods& methods(sqlite3_file* file) { return *inner(file)->pMethods; }

    std::uint64_t count(Op op, File file) const CALLGATE_REQUIRES(mutex_) {
        return calls_[static_cast<std::size_t>(op)][static_cast<std::size_t>(file)];
    }

    static std::optional<base::FailAction> failpoint(Op op, File file) {
        switch (op) {
            case Op::open: return CALLGATE_FAILPOINT_ACTION("vfs.open");
            case Op::read: return CALLGATE_FAILPOINT_ACTION("vfs.read");
            case Op::remove: return CALLGATE_FAILPOINT_ACTION("vfs.remove");
            case Op::write:
                if (file == File::log) return CALLGATE_FAILPOINT_ACTION("vfs.log_write");
                if (file == File::database) return CALLGATE_FAILPOINT_ACTION("vfs.database_write");
                return std::nullopt;
            case Op::sync:
                if (file == File::log) return CALLGATE_FAILPOINT_ACTION("vfs.log_sync");
                if (file == File::database) return CALLGATE_FAILPOINT_ACTION("vfs.database_sync");
                return std::nullopt;
            case Op::truncate: break;
        }
        return std::nullopt;
    }

    /// Counts the call; the fault that is due, if any.
    std::optional<Fault> due(Op op, File file) {
        if (const auto action = failpoint(op, file)) {
            if (*action == base::FailAction::enospc) return Fault::full;
            return *action == base::FailAction::short_write ? Fault::half : Fault::error;
        }
        const base::MutexLock lock(mutex_);
        const auto number = ++calls_[static_cast<std::size_t>(op)][static_cast<std::size_t>(file)];
        if (op != Op::read) ++changes_;
        for (const Armed& armed : armed_) {
            if (armed.which ? *armed.which != Which{op, file} : op == Op::read) continue;
            const std::uint64_t at = armed.which ? number : changes_;
            if (at == armed.on_call || (armed.repeat && at > armed.on_call)) {
                ++faults_;
                return armed.fault;
            }
        }
        return std::nullopt;
    }

    void pass() {
        base::MutexLock lock(stop_mutex_);
        if (!stopped_) return;
        ++hanging_;
        stop_changed_.notify_all();
        stop_changed_.wait(lock, [this]() CALLGATE_REQUIRES(stop_mutex_) { return !stopped_; });
        --hanging_;
    }

    int part_of(int size) const { return static_cast<int>(static_cast<std::uint64_t>(size) * eighths_ / 8); }

    static int code_of(Op op, Fault fault) {
        if (fault == Fault::quota) errno = EDQUOT;
        switch (op) {
            case Op::open: return SQLITE_CANTOPEN;
            case Op::read: return SQLITE_IOERR_READ;
            case Op::write:
                return fault == Fault::full || fault == Fault::half ? SQLITE_FULL : SQLITE_IOERR_WRITE;
            case Op::truncate: return SQLITE_IOERR_TRUNCATE;
            case Op::sync: return SQLITE_IOERR_FSYNC;
            case Op::remove: return SQLITE_IOERR_DELETE;
        }
        return SQLITE_IOERR;
    }

    static int open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags, int* out) {
        FaultyVfs& owner = layer<FaultyVfs>(vfs);
        Handle& opened = handle(file);
        opened.base.pMethods = nullptr;
        opened.owner = &owner;
        opened.file = (flags & SQLITE_OPEN_MAIN_DB) != 0 ? File::database
                      : (flags & SQLITE_OPEN_WAL) != 0   ? File::log
                                                         : File::other;
        if (const auto fault = owner.due(Op::open, opened.file)) return code_of(Op::open, *fault);
        const int code = below_of(vfs)->xOpen(below_of(vfs), path, inner(file), flags, out);
        if (inner(file)->pMethods != nullptr) opened.base.pMethods = &kMethods;
        return code;
    }
    static int remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
        FaultyVfs& owner = layer<FaultyVfs>(vfs);
        const File file = std::string_view(path).ends_with("-wal") ? File::log : File::other;
        if (const auto fault = owner.due(Op::remove, file)) return code_of(Op::remove, *fault);
        return delete_below(vfs, path, sync_directory);
    }
    static int read(sqlite3_file* file, void* into, int size, sqlite3_int64 offset) {
        if (const auto& before = handle(file).owner->before_read) before();
        if (const auto fault = handle(file).owner->due(Op::read, handle(file).file))
            return code_of(Op::read, *fault);
        return methods(file).xRead(inner(file), into, size, offset);
    }
    static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
        handle(file).owner->pass();
        const auto fault = handle(file).owner->due(Op::write, handle(file).file);
        if (!fault) return methods(file).xWrite(inner(file), bytes, size, offset);
        if (*fault == Fault::half || *fault == Fault::torn)
            methods(file).xWrite(inner(file), bytes, handle(file).owner->part_of(size), offset);
        return code_of(Op::write, *fault);
    }
    static int truncate(sqlite3_file* file, sqlite3_int64 size) {
        if (const auto fault = handle(file).owner->due(Op::truncate, handle(file).file))
            return code_of(Op::truncate, *fault);
        return methods(file).xTruncate(inner(file), size);
    }
    static int sync(sqlite3_file* file, int /*flags*/) {
        handle(file).owner->pass();
        const auto fault = handle(file).owner->due(Op::sync, handle(file).file);
        return fault ? code_of(Op::sync, *fault) : SQLITE_OK;
    }

    static constexpr sqlite3_io_methods kMethods = [] {
        sqlite3_io_methods methods = passing_methods<Handle>(2);
        methods.xRead = &read;
        methods.xWrite = &write;
        methods.xTruncate = &truncate;
        methods.xSync = &sync;
        return methods;
    }();

    std::uint64_t eighths_ = 4;

    mutable base::Mutex mutex_;
    std::array<std::array<std::uint64_t, 3>, 6> calls_ CALLGATE_GUARDED_BY(mutex_){};
    std::uint64_t changes_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::uint64_t faults_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::vector<Armed> armed_ CALLGATE_GUARDED_BY(mutex_);

    base::Mutex stop_mutex_;
    base::CondVar stop_changed_;
    bool stopped_ CALLGATE_GUARDED_BY(stop_mutex_) = false;
    int hanging_ CALLGATE_GUARDED_BY(stop_mutex_) = 0;
};

}  // namespace callgate::ledger
