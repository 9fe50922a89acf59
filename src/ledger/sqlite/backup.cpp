// A copy of the ledger's file that is as the file was at one moment.
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "base/failpoint.h"
#include "base/try.h"
#include "ledger/sqlite/engine.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/files.h"
#include "os/system_error.h"

namespace callgate::ledger {

namespace {

constexpr int kPagesCopiedAtOnce = 1'000;  // between two looks at whoever waits for it

// It is about the backup's disk; the ledger itself is not touched.
tl::unexpected<Error> unwritten(Error why, const std::string& path) {
    if (!is_disk_full(why)) return tl::unexpected(std::move(why));
    return fail(
        ErrorCode::config_error,
        fmt::format("The disk is full on which '{}' was to be. Nothing is left of the backup: free some "
                    "space, or name another place.",
                    path),
        {{"reason", "disk_full"}, {"path", path}});
}

/// What is in the new file's directory survives a power cut, too.
Result<void> sync_directory_of(os::FileOps& files, const std::string& path) {
    CALLGATE_TRY_ASSIGN(const auto directory, files.open(os::directory_of(path), os::OpenMode::directory));
    return files.fsync(directory);
}

}  // namespace

Result<Object> SqliteLedger::backup(const std::string& path, const WorkProgress& progress) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_backup");
    if (std::error_code none;
        std::filesystem::equivalent(os::directory_of(path), engine_->options.directory, none)) {
        return fail(
            ErrorCode::config_error,
            "A backup in the ledger's own directory would be lost with it, and might be taken for one of "
            "its files. Name a place outside.",
            {{"reason", "own_directory"}, {"path", path}});
    }
    CALLGATE_TRY(flush());
    os::FileOps& files = *engine_->options.files;
    const auto made = files.open(path, os::OpenMode::create_exclusive);
    if (!made) {
        const bool there = os::error_number(made.error()) == EEXIST;
        return fail(ErrorCode::config_error,
                    there ? fmt::format("'{}' is there already. Name a file that is not.", path)
                          : made.error().message,
                    {{"reason", there ? "file_exists" : "not_writable"}, {"path", path}});
    }
    auto copied = copy_to(path, progress);
    if (copied) {
        if (auto synced = sync_directory_of(files, path); !synced)
            copied = tl::unexpected(std::move(synced.error()));
    }
    if (!copied) {
        for (const char* beside : {"", "-journal", "-wal", "-shm"}) (void)files.unlink(path + beside);
    }
    return copied;
}

// SQLite begins a copy again whenever it finds that another connection has written to its source. So the copy
// is made in one read transaction, for which the source does not change. Until that ends, the log cannot
// begin again and grows by what is written meanwhile: for as long as it takes to read the file once.
Result<Object> SqliteLedger::copy_to(const std::string& path, const WorkProgress& progress) {
    CALLGATE_TRY_ASSIGN(auto from, engine_->open_reader());
    CALLGATE_TRY(from.execute("BEGIN; SELECT count(*) FROM meta"));
    CALLGATE_TRY_ASSIGN(auto to, Database::open(path, Access::read_write, engine_->options.vfs));
    // The file is new and of no use before it is whole: nothing has to be undone in it.
    CALLGATE_TRY(to.execute("PRAGMA journal_mode = OFF"));
    sqlite3_backup* copy = sqlite3_backup_init(to.raw(), "main", from.raw(), "main");
    if (copy == nullptr) return tl::unexpected(sqlite_error(to.raw(), sqlite3_errcode(to.raw()), "copy"));
    int code = SQLITE_OK;
    bool stopped = false;
    while (!stopped) {
        code = sqlite3_backup_step(copy, kPagesCopiedAtOnce);
        const auto total = static_cast<std::uint64_t>(sqlite3_backup_pagecount(copy));
        const auto left = static_cast<std::uint64_t>(sqlite3_backup_remaining(copy));
        if (progress && !progress(total - left, total)) stopped = true;
        if (code != SQLITE_OK) break;
    }
    sqlite3_backup_finish(copy);
    if (stopped) return fail(ErrorCode::cancelled, "The backup was called off.", {{"reason", "called_off"}});
    if (code != SQLITE_DONE) return unwritten(sqlite_error(to.raw(), code, "write the backup"), path);
    const auto bytes =
        to.integer_of("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    CALLGATE_FAILPOINT_RETURN("ledger.after_backup");
    return Object{{"path", path},
                  {"bytes", bytes.value_or(0)},
                  {"key", engine_->key->id()},
                  {"note", "The sealed records in it need the ledger's key, which is not in it."}};
}

}  // namespace callgate::ledger
