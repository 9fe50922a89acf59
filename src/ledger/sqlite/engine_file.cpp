// Opening the ledger's file: whether it may be opened, its schema, and the key it is sealed under.
#include "ledger/sqlite/engine.h"

#include <cerrno>

#include <fmt/format.h>

#include "base/try.h"
#include "ledger/audit/event_view.h"
#include "ledger/sqlite/log_check.h"
#include "ledger/sqlite/refused.h"
#include "ledger/sqlite/schema.h"
#include "os/files.h"
#include "os/system_error.h"
#include "secrets/key_source.h"

namespace callgate::ledger {

Result<void> SqliteLedger::Engine::open_database() {
    // Made by us, so that it belongs to us alone; SQLite gives its log the same permissions.
    os::FileOps& files = *options.files;
    const auto there = files.stat(path());
    if (!there && os::error_number(there.error()) != ENOENT) return tl::unexpected(there.error());
    if (there && there->kind != os::FileKind::regular) {
        return refused("not_a_database",
                       fmt::format("'{}' is not a file. Move it away, or name another directory.", path()));
    }
    if (there && (there->permissions & 0022) != 0) {
        return refused("not_private", fmt::format("Others may write to the ledger's file '{}'. "
                                                  "See who has, and take that "
                                                  "away: chmod 600.",
                                                  path()));
    }
    if ((!there || there->size == 0) && has_signed()) return lost();
    if (!there) {
        if (auto made = files.open(path(), os::OpenMode::create_exclusive); !made) {
            const bool full = os::is_disk_full(os::error_number(made.error()));
            return refused(full ? "disk_full" : "not_writable",
                           fmt::format("The ledger's file cannot be made. {}", made.error().message));
        }
    }
    const auto log = files.stat(path() + "-wal");
    const auto alone = log && log->size != 0 ? look_at_file_alone(path(), options.vfs) : std::nullopt;
    CALLGATE_TRY_ASSIGN(auto opened,
                        Database::open(path(), Access::read_write, log_vfs.emplace(options.vfs).name()));
    database = std::move(opened);
    database.limit_records(options.max_record_bytes);
    sqlite3_busy_timeout(database.raw(), kBusyMilliseconds);
    if (sqlite3_db_readonly(database.raw(), "main") == 1) {
        return refused("read_only", fmt::format("'{}' may not be written. Change that.", path()));
    }
    // First only looked at: another program's file is not touched.
    auto fit = check_identity(database);
    if (fit && alone) fit = check_log(*alone, database);
    if (!fit) return alone ? blame_log(std::move(fit)) : fit;
    // Only before the first table is made; an older file can use its room again, and gives none back.
    CALLGATE_TRY(database.execute("PRAGMA auto_vacuum = INCREMENTAL"));
    CALLGATE_TRY(
        database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA "
                         "wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = "
                         "0; PRAGMA cache_size = -16384;"));
    CALLGATE_TRY_ASSIGN(const auto mode, database.text_of("PRAGMA journal_mode"));
    if (mode != "wal") {
        return refused("no_wal", fmt::format("SQLite cannot keep a log beside '{}' (its journal mode is {}). "
                                             "Put the ledger on a usual local filesystem.",
                                             path(), mode));
    }
    CALLGATE_TRY_ASSIGN(version_before_, database.integer_of("PRAGMA user_version"));
    return migrate(database, ledger_migrations(), [this](int step) -> Result<void> {
        return step == kFirstTalliedVersion ? begin_tally() : Result<void>();
    });
}

// A ledger from before there was a tally gets one with the tables that have it, or neither: later there is no
// telling one that was never made from one that somebody took away. A new ledger begins with nothing to
// count.
Result<void> SqliteLedger::Engine::begin_tally() {
    CALLGATE_TRY_ASSIGN(auto chain, database.text_of("SELECT value FROM meta WHERE name = 'chain_id'"));
    if (chain.empty()) return {};
    CALLGATE_TRY_ASSIGN(auto sealed_under, database.text_of("SELECT value FROM meta WHERE name = 'key_id'"));
    CALLGATE_TRY(load_key());
    CALLGATE_TRY(check_key(sealed_under));
    CALLGATE_TRY(check_it_is_older());
    CALLGATE_TRY(put_meta("upgraded_from", version_before_));
    CALLGATE_TRY_ASSIGN(auto place, audit_place(database, chain));
    Tally tally(*key, chain);
    CALLGATE_TRY(tally.begin(database));
    return tally.store(place);
}

// Its audit says if it had one: then the version was set back in the file, and what it had was removed.
Result<void> SqliteLedger::Engine::check_it_is_older() {
    CALLGATE_TRY_ASSIGN(auto events,
                        database.prepare("SELECT event FROM audit WHERE instr(event, ?1) OR (seq "
                                         "= 1 AND instr(event, ?2))"));
    events.bind_blob(1, kUpgraded).bind_blob(2, kTalliedFromTheFirst);
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, events.step());
        if (!found) return {};
        EventView view;
        if (scan_event(events.blob(0), view)) continue;
        if (view.raw(Member::type) != kUpgraded && view.raw(Member::action) != kTalliedFromTheFirst) continue;
        return refused("tampered", fmt::format("The ledger in '{}' was set back to version {}, and its "
                                               "audit shows that it "
                                               "was newer. Restore the newest copy; nothing was changed.",
                                               options.directory, version_before_));
    }
}

Result<void> SqliteLedger::Engine::check_key(const std::string& sealed_under) const {
    if (sealed_under == key->id()) return {};
    return refused("wrong_key", fmt::format("The ledger in '{}' is sealed under key {}, and the key "
                                            "given is {}. Put the "
                                            "right key back, or restore file, log and key together.",
                                            options.directory, sealed_under, key->id()));
}

// The key that signs a log is made only once the log has its place in the database.
bool SqliteLedger::Engine::has_signed() const {
    return options.files->stat(options.directory + "/audit.key").has_value();
}

tl::unexpected<Error> SqliteLedger::Engine::lost() const {
    return refused("ledger_lost", fmt::format("There was a ledger in '{}', as its audit.key shows, and "
                                              "nothing of it is in "
                                              "ledger.db. Restore ledger.db, and ledger.db-wal if there "
                                              "was one. To begin "
                                              "anew, and give up what it knew, name another directory.",
                                              options.directory));
}

// A new key is made only for a new ledger: beside an old one it would hide that the right one is gone.
Result<void> SqliteLedger::Engine::load_key() {
    if (key) return {};
    if (options.key) {
        key = std::move(options.key);
        return {};
    }
    CALLGATE_TRY_ASSIGN(const auto sealed_under,
                        database.text_of("SELECT value FROM meta WHERE name = 'key_id'"));
    const std::string file = options.directory + "/ledger.key";
    CALLGATE_TRY_ASSIGN(key, sealed_under.empty()
                                 ? secrets::load_or_create_key(*options.files, *options.rng, file)
                                 : secrets::load_key(*options.files, KeySource::file(file)));
    return {};
}

}  // namespace callgate::ledger
