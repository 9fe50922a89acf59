#include "ledger/sqlite/engine.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/failpoint.h"
#include "ledger/audit/event_view.h"
#include "ledger/digest.h"
#include "ledger/own_events.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/log_check.h"
#include "ledger/sqlite/schema.h"
#include "ledger/sqlite/segment_table.h"
#include "os/files.h"
#include "os/system_error.h"
#include "secrets/key_source.h"

namespace callgate::ledger {

namespace {

constexpr int kBusyMilliseconds = 2'000;  // for a foreign program that looks at the file
constexpr std::size_t kReadersKept = 8;   // on loan at most
constexpr std::size_t kRecoveredAtOnce = 1'000;
// Both on the record of every ledger that has a tally: one that was made with it, one that got it later.
constexpr std::string_view kTalliedFromTheFirst = "tallied";
constexpr std::string_view kUpgraded = "ledger.upgraded";

std::string random_id(base::Rng& rng) {
    std::array<std::byte, 8> bytes{};
    rng.fill(bytes);
    return base::hex_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

tl::unexpected<Error> refused(std::string_view reason, std::string message) {
    return fail(ErrorCode::ledger_unavailable, std::move(message), {{"reason", reason}});
}

AuditEvent own_event(std::string_view type, std::string_view detail) {
    AuditFacts event;
    event.type = type;
    event.outcome = "info";
    event.stage = "ledger";
    event.detail = detail;
    return AuditEvent(event);
}

}  // namespace

Result<std::unique_ptr<SqliteLedger::Engine>> SqliteLedger::Engine::open(SqliteOptions options) {
    if (!options.clock) options.clock = std::make_shared<base::SystemClock>();
    if (!options.rng) options.rng = std::make_shared<base::SystemRng>();
    if (!options.files) options.files = std::make_shared<os::RealFileOps>();
    std::unique_ptr<Engine> engine(new Engine(std::move(options)));
    Engine& e = *engine;

    auto lock = OwnerLock::take(*e.options.files, e.options.directory, e.options.while_closing);
    if (!lock) return tl::unexpected(std::move(lock.error()));
    e.lock = std::move(*lock);
    if (auto opened = e.open_database(); !opened) return tl::unexpected(std::move(opened.error()));
    if (auto loaded = e.load_key(); !loaded) return tl::unexpected(std::move(loaded.error()));
    if (auto fit = e.look_back(); !fit) return tl::unexpected(std::move(fit.error()));
    if (auto known = e.settle_identity(); !known) return tl::unexpected(std::move(known.error()));
    if (auto sound = e.check_file(e.recovery.unclean); !sound)
        return tl::unexpected(std::move(sound.error()));
    if (auto begun = e.begin_chain(); !begun) return tl::unexpected(std::move(begun.error()));
    e.keeps_off = e.options.to_restore;
    if (auto loaded = e.load_gap(); !loaded) return tl::unexpected(std::move(loaded.error()));
    if (auto recovered = e.keeps_off ? Result<void>() : e.recover(); !recovered)
        return tl::unexpected(std::move(recovered.error()));
    if (!e.keeps_off) e.find_witnesses();
    // What has expired goes by itself, a little at a time.
    const auto tidy_up = [&e](Transactions& transactions) -> Result<bool> {
        constexpr std::size_t kAtOnce = 200;
        auto gone = transactions.collect(kAtOnce);
        if (!gone) return tl::unexpected(std::move(gone.error()));
        bool more = *gone >= static_cast<std::int64_t>(kAtOnce);
        if (e.audit_readers.use_count() == 1) {
            auto archived = drop_archived(transactions.tables().database(), kAtOnce);
            if (!archived) return tl::unexpected(std::move(archived.error()));
            more = more || *archived != 0;
        }
        // A file that is mostly empty gets smaller; a little room is used again soon.
        auto pages = free_pages(transactions.tables().database());
        if (!pages) return tl::unexpected(std::move(pages.error()));
        if (pages->can_shrink && pages->free > 1'000 && pages->free > pages->all / 4) {
            if (auto done = shrink(transactions.tables().database(), kAtOnce); !done)
                return tl::unexpected(std::move(done.error()));
            more = true;
        }
        return more;
    };
    e.writer = std::make_unique<Writer>(
        *e.transactions, e.options.writer,
        [&e](Tables::Notifications&& notifications) { e.tell(std::move(notifications)); }, &*e.checkpoints,
        tidy_up);
    e.lookups = std::make_unique<Readers>(e.options.readers, [&e] { return e.make_reader(); });
    return engine;
}

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
        return refused("not_private",
                       fmt::format("Others may write to the ledger's file '{}'. See who has, and take that "
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
    auto opened = Database::open(path(), Access::read_write, log_vfs.emplace(options.vfs).name());
    if (!opened) return tl::unexpected(std::move(opened.error()));
    database = std::move(*opened);
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
    if (auto set = database.execute("PRAGMA auto_vacuum = INCREMENTAL"); !set) return set;
    if (auto set = database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA "
                                    "wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = "
                                    "0; PRAGMA cache_size = -16384;");
        !set)
        return set;
    const auto mode = database.text_of("PRAGMA journal_mode");
    if (!mode) return tl::unexpected(mode.error());
    if (*mode != "wal") {
        return refused("no_wal", fmt::format("SQLite cannot keep a log beside '{}' (its journal mode is {}). "
                                             "Put the ledger on a usual local filesystem.",
                                             path(), *mode));
    }
    auto version = database.integer_of("PRAGMA user_version");
    if (!version) return tl::unexpected(std::move(version.error()));
    version_before_ = *version;
    return migrate(database, ledger_migrations(), [this](int step) -> Result<void> {
        return step == kFirstTalliedVersion ? begin_tally() : Result<void>();
    });
}

// A ledger from before there was a tally gets one with the tables that have it, or neither: later there is no
// telling one that was never made from one that somebody took away. A new ledger begins with nothing to
// count.
Result<void> SqliteLedger::Engine::begin_tally() {
    auto chain = database.text_of("SELECT value FROM meta WHERE name = 'chain_id'");
    if (!chain) return tl::unexpected(std::move(chain.error()));
    if (chain->empty()) return {};
    auto sealed_under = database.text_of("SELECT value FROM meta WHERE name = 'key_id'");
    if (!sealed_under) return tl::unexpected(std::move(sealed_under.error()));
    if (auto loaded = load_key(); !loaded) return loaded;
    if (auto right = check_key(*sealed_under); !right) return right;
    if (auto older = check_it_is_older(); !older) return older;
    if (auto noted = put_meta("upgraded_from", version_before_); !noted) return noted;
    auto place = audit_place(database, *chain);
    if (!place) return tl::unexpected(std::move(place.error()));
    Tally tally(*key, *chain);
    if (auto counted = tally.begin(database); !counted) return counted;
    return tally.store(*place);
}

// Its audit says if it had one: then the version was set back in the file, and what it had was removed.
Result<void> SqliteLedger::Engine::check_it_is_older() {
    auto events =
        database.prepare("SELECT event FROM audit WHERE instr(event, ?1) OR (seq = 1 AND instr(event, ?2))");
    if (!events) return tl::unexpected(std::move(events.error()));
    events->bind_blob(1, kUpgraded).bind_blob(2, kTalliedFromTheFirst);
    for (;;) {
        auto found = events->step();
        if (!found) return tl::unexpected(std::move(found.error()));
        if (!*found) return {};
        EventView view;
        if (scan_event(events->blob(0), view)) continue;
        if (view.raw(Member::type) != kUpgraded && view.raw(Member::action) != kTalliedFromTheFirst) continue;
        return refused(
            "tampered",
            fmt::format("The ledger in '{}' was set back to version {}, and its audit shows that it "
                        "was newer. Restore the newest copy; nothing was changed.",
                        options.directory, version_before_));
    }
}

Result<void> SqliteLedger::Engine::check_key(const std::string& sealed_under) const {
    if (sealed_under == key->id()) return {};
    return refused("wrong_key",
                   fmt::format("The ledger in '{}' is sealed under key {}, and the key given is {}. Put the "
                               "right key back, or restore file, log and key together.",
                               options.directory, sealed_under, key->id()));
}

// The key that signs a log is made only once the log has its place in the database.
bool SqliteLedger::Engine::has_signed() const {
    return options.files->stat(options.directory + "/audit.key").has_value();
}

tl::unexpected<Error> SqliteLedger::Engine::lost() const {
    return refused("ledger_lost",
                   fmt::format("There was a ledger in '{}', as its audit.key shows, and nothing of it is in "
                               "ledger.db. Restore ledger.db, and ledger.db-wal if there was one. To begin "
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
    const auto sealed_under = database.text_of("SELECT value FROM meta WHERE name = 'key_id'");
    if (!sealed_under) return tl::unexpected(sealed_under.error());
    const std::string file = options.directory + "/ledger.key";
    auto loaded = sealed_under->empty() ? secrets::load_or_create_key(*options.files, *options.rng, file)
                                        : secrets::load_key(*options.files, KeySource::file(file));
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    key = std::move(*loaded);
    return {};
}

Result<void> SqliteLedger::Engine::put_meta(std::string_view name, std::string_view text) {
    auto put = database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES(?1, ?2)");
    if (!put) return tl::unexpected(std::move(put.error()));
    auto done = put->bind(1, name).bind(2, text).run();
    if (!done) return tl::unexpected(std::move(done.error()));
    return {};
}

Result<void> SqliteLedger::Engine::put_meta(std::string_view name, std::int64_t number) {
    auto put = database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES(?1, ?2)");
    if (!put) return tl::unexpected(std::move(put.error()));
    auto done = put->bind(1, name).bind(2, number).run();
    if (!done) return tl::unexpected(std::move(done.error()));
    return {};
}

// How long things are kept is the host's to say: who only passes by goes by what the host said last, so that
// no key is forgotten before its time.
Result<void> SqliteLedger::Engine::settle_retention() {
    struct Term {
        const char* name;
        std::chrono::seconds& kept;
    };
    for (const Term& term :
         {Term{"key_ttl", options.kept.key_ttl}, Term{"tombstone_ttl", options.kept.tombstone_ttl},
          Term{"approval_ttl", options.kept.approval_ttl}}) {
        if (!options.in_passing) {
            if (auto put = put_meta(term.name, term.kept.count()); !put) return put;
            continue;
        }
        auto said = database.integer_of(fmt::format("SELECT value FROM meta WHERE name = '{}'", term.name));
        if (!said) return tl::unexpected(std::move(said.error()));
        if (*said != 0) term.kept = std::chrono::seconds(*said);
    }
    return {};
}

// Whose votes count for more is the host's to say as well, and sealed, so that nobody else says it.
Result<void> SqliteLedger::Engine::settle_operators() {
    constexpr std::string_view kPurpose = "operator-uids";
    if (!options.in_passing) {
        std::string all;
        for (const uid_t uid : options.operator_uids) all += fmt::format("{} ", uid);
        return put_meta("operator_uids", base::base64_encode(base::seal(*key, kPurpose, chain_id_, all)));
    }
    auto said = database.text_of("SELECT value FROM meta WHERE name = 'operator_uids'");
    if (!said) return tl::unexpected(std::move(said.error()));
    options.operator_uids.clear();
    const auto sealed = base::base64_decode(*said);
    const auto plain = sealed ? base::unseal(*key, kPurpose, chain_id_, *sealed) : Result<std::string>("");
    if (!plain) return {};  // somebody else's words: then nobody is one
    std::istringstream words(*plain);
    for (uid_t uid = 0; words >> uid;) options.operator_uids.push_back(uid);
    return {};
}

// Whether it is the ledger that was here last. Only reads.
Result<void> SqliteLedger::Engine::look_back() {
    if (!options.watch_past) return {};
    auto chain = database.text_of("SELECT value FROM meta WHERE name = 'chain_id'");
    if (!chain) return tl::unexpected(std::move(chain.error()));
    auto was_in = database.text_of("SELECT value FROM meta WHERE name = 'mark_dir'");
    if (!was_in) return tl::unexpected(std::move(was_in.error()));
    auto place = Place::of(*options.files, options.directory);
    if (!place) return tl::unexpected(std::move(place.error()));
    // Who only passes by looks where the host has put it.
    const bool as_before = options.in_passing && options.mark_dir.empty() && !was_in->empty();
    auto marks = as_before ? was_in : HeadMark::directory_for(options.mark_dir, options.directory);
    if (!marks) return tl::unexpected(std::move(marks.error()));
    question = {options.directory, std::move(*marks), std::move(*was_in), options.anchor_file, *place};
    if (chain->empty()) return {};
    auto connection = open_reader();
    if (!connection) return tl::unexpected(std::move(connection.error()));
    auto audit = SqliteAuditReader::make(std::move(*connection), *key);
    if (!audit) return tl::unexpected(std::move(audit.error()));
    auto judged = judge_past(*options.files, **audit, question);
    if (!judged) return tl::unexpected(std::move(judged.error()));
    past = std::move(*judged);
    const bool fits = options.to_restore || past->verdict == Past::Verdict::same ||
                      past->verdict == Past::Verdict::unmarked;
    if (!fits) return tl::unexpected(refusal_of(*past, question));
    return {};
}

// The mark is durable before the ledger says that it has one.
Result<void> SqliteLedger::Engine::settle_mark(bool fresh) {
    if (!options.watch_past || options.to_restore) return {};
    os::FileOps& files = *options.files;
    const std::string& marks = question.mark_directory;
    const MarkRecord last = past && past->mark ? *past->mark : MarkRecord();
    const bool goes_on = past && past->mark && !past->mark_elsewhere;
    if (fresh) {
        auto before = HeadMark::last_at(files, marks, question.place);
        if (!before) return tl::unexpected(std::move(before.error()));
        auto known = before->empty() ? std::nullopt : HeadMark::look(files, marks, *before);
        if (!known) return tl::unexpected(std::move(known.error()));
        if (*known && (*known)->end.events != 0) recovery.replaces = *before;
    }
    auto opened = goes_on ? HeadMark::open(files, marks, chain_id_, question.place, last)
                          : HeadMark::make(files, *options.rng, marks, chain_id_, question.place, last,
                                           past ? past->end : AuditEnd{0, empty_head(chain_id_).hash});
    if (!opened) return tl::unexpected(std::move(opened.error()));
    mark = std::move(*opened);
    return {};
}

tl::unexpected<Error> SqliteLedger::Engine::notes_changed() const {
    return refused("tampered",
                   fmt::format("What the ledger in '{}' notes about itself (its clock, how long things are "
                               "kept, where its mark is) was changed by another program. Restore a copy from "
                               "before that with its own mark; nothing was changed.",
                               options.directory));
}

// Whose file this is and under which key; a log that belongs to another ledger shows here.
Result<void> SqliteLedger::Engine::settle_identity() {
    auto chain = database.text_of("SELECT value FROM meta WHERE name = 'chain_id'");
    auto sealed_under = database.text_of("SELECT value FROM meta WHERE name = 'key_id'");
    auto clean = database.integer_of("SELECT value FROM meta WHERE name = 'clean'");
    auto reached = database.integer_of("SELECT value FROM meta WHERE name = 'reached'");
    auto latest = database.integer_of("SELECT value FROM meta WHERE name = 'latest'");
    auto clocks = database.text_of("SELECT value FROM meta WHERE name = 'clocks'");
    auto boots = database.integer_of("SELECT value FROM meta WHERE name = 'boots'");
    for (const auto* text : {&chain, &sealed_under, &clocks}) {
        if (!*text) return tl::unexpected(text->error());
    }
    for (const auto* number : {&clean, &reached, &latest, &boots}) {
        if (!*number) return tl::unexpected(number->error());
    }
    const bool fresh = chain->empty();
    if (fresh && has_signed()) return lost();
    if (!fresh) {
        if (auto right = check_key(*sealed_under); !right) return right;
    }
    chain_id_ = fresh ? random_id(*options.rng) : *chain;
    auto end = fresh ? AuditPlace(empty_head(chain_id_)) : audit_place(database, chain_id_);
    if (!end) return tl::unexpected(std::move(end.error()));
    Tally tally(*key, chain_id_);
    if (auto loaded = tally.load(database, *end); !loaded) return loaded;
    // Who restores is told by its check what is wrong.
    if (!tally.notes_add_up() && !options.to_restore) return notes_changed();
    recovery.unclean = !fresh && *clean == 0;
    boots_ = static_cast<std::uint64_t>(*boots) + 1;
    std::optional<ClocksReached> last;
    if (*reached != 0) {
        last.emplace();
        last->lived = time_of(*reached);
        last->latest = time_of(*latest);
        // A file that does not say more was written before anybody asked how long the machine was up.
        if (!last->read(*clocks)) last->wall = last->lived;
    }
    time.emplace(*options.clock, last);
    if (auto settled = settle_mark(fresh); !settled) return settled;
    if (auto begun = database.execute("BEGIN IMMEDIATE"); !begun) return begun;
    tally.watch(database);
    Result<void> done = put_meta("chain_id", chain_id_);
    if (done) done = put_meta("key_id", key->id());
    if (done) done = put_meta("boots", static_cast<std::int64_t>(boots_));
    if (done) done = put_meta("clean", 0);
    if (done && mark) done = put_meta("mark_dir", question.mark_directory);
    if (done) done = settle_retention();
    if (done) done = settle_operators();
    if (done) done = tally.store(*end);
    if (done) done = database.execute("COMMIT");
    if (!done && database.in_transaction()) (void)database.execute("ROLLBACK");
    // One that is left behind would only ever be older.
    if (done && past && past->mark_elsewhere)
        (void)options.files->unlink(question.mark_was_in + "/" + chain_id_);
    return done;
}

Result<void> SqliteLedger::Engine::quick_check(Database& connection) {
    health = Health::checking;
    auto verdict = connection.text_of("PRAGMA quick_check(1)");
    // One that was interrupted takes the pages it has not come to for damage.
    if (stop_check_) return {};
    if (!verdict) {
        health_detail = verdict.error().message;
        health = Health::damaged;
        return tl::unexpected(std::move(verdict.error()));
    }
    if (*verdict == "ok") {
        health = Health::sound;
        return {};
    }
    health_detail = *verdict;
    health = Health::damaged;
    return refused("damaged",
                   fmt::format("The ledger's file is damaged: {}. Keep it as it is, and restore a backup "
                               "beside it.",
                               *verdict));
}

// After an unclean stop the file is looked through: a small one at once, a large one while calls go on.
Result<void> SqliteLedger::Engine::check_file(bool unclean) {
    if (!unclean) {
        health = Health::sound;
        return {};
    }
    const auto info = options.files->stat(path());
    if (!info) return tl::unexpected(info.error());
    if (info->size <= options.check_at_once_below) return quick_check(database);
    auto connection = open_reader();
    if (!connection) return tl::unexpected(std::move(connection.error()));
    checked_ = std::move(*connection);
    interrupter_ = std::make_unique<CheckInterrupter>(checked_.raw(), [this] { return !stop_check_.load(); });
    background_check_ = std::thread([this] {
        (void)quick_check(checked_);
        const std::lock_guard guard(check_mutex_);
        interrupter_.reset();
        checked_ = Database();
    });
    return {};
}

Result<void> SqliteLedger::Engine::begin_chain() {
    auto connection = open_reader();
    if (!connection) return tl::unexpected(std::move(connection.error()));
    auto reader = SqliteAuditReader::make(std::move(*connection), *key);
    if (!reader) return tl::unexpected(std::move(reader.error()));
    auto head = restore_head(**reader);
    if (!head) return tl::unexpected(std::move(head.error()));
    auto in_force = database.text_of("SELECT value FROM meta WHERE name = 'audit_key'");
    if (!in_force) return tl::unexpected(std::move(in_force.error()));
    auto signer = AuditSigner::open(*options.files, *options.rng, options.directory + "/audit.key", chain_id_,
                                    *in_force);
    if (!signer) return tl::unexpected(std::move(signer.error()));
    auto signed_size = database.integer_of("SELECT max(size) FROM checkpoints");
    if (!signed_size) return tl::unexpected(std::move(signed_size.error()));
    tables.emplace(database, *key, *time, AuditChain(chain_id_, random_id(*options.rng), *head, *options.rng),
                   options.kept);
    if (auto ready = tables->prepare(); !ready) return ready;
    if (auto loaded = tables->tally.load(database, AuditPlace(*head)); !loaded) return loaded;
    tables->tally.watch(database);
    tables->calls.count_in(tables->tally);
    transactions.emplace(*tables, [this](OwnerId owner) { return is_alive(owner); });
    checkpoints.emplace(std::move(*signer), static_cast<std::uint64_t>(*signed_size), *time);
    recorded = tables->chain().head().size();
    return {};
}

Result<void> SqliteLedger::Engine::load_gap() {
    auto until = database.integer_of("SELECT coalesce(max(gap_until), 0) FROM restores");
    if (!until) return tl::unexpected(std::move(until.error()));
    auto calls = database.integer_of(
        "SELECT EXISTS (SELECT 1 FROM calls WHERE restored IS NOT NULL AND idem_key = '')");
    if (!calls) return tl::unexpected(std::move(calls.error()));
    tables->set_gap({time_of(*until), *calls != 0});
    return {};
}

// So that nobody can pass it off as an older one again.
Result<void> SqliteLedger::Engine::record_upgrade() {
    auto from = database.integer_of("SELECT value FROM meta WHERE name = 'upgraded_from'");
    if (!from) return tl::unexpected(std::move(from.error()));
    if (*from == 0) return {};
    const std::string detail =
        fmt::format("From version {} to version {}; its rows were counted as they were.", *from,
                    ledger_migrations().back().version);
    auto told = tables->record(own_event(kUpgraded, detail));
    if (!told) return tl::unexpected(std::move(told.error()));
    return database.execute("DELETE FROM meta WHERE name = 'upgraded_from'");
}

// The first event of a log names its key; a later start only says that it is one.
Result<void> SqliteLedger::Engine::record_opening() {
    if (tables->chain().head().size() != 0) {
        if (time->jump_at_start()) {
            auto told = tables->record(event_of_clock_jump(*time->jump_at_start()));
            if (!told) return tl::unexpected(std::move(told.error()));
            if (auto stored = tables->store_clocks(); !stored) return stored;
        }
        if (auto told = record_upgrade(); !told) return told;
        if (options.in_passing && !recovery.unclean) return {};
        auto number =
            tables->record(own_event("ledger.opened", recovery.unclean ? "after an unclean stop" : ""));
        if (!number) return tl::unexpected(std::move(number.error()));
        return {};
    }
    const std::string vkey = checkpoints->signer().key().vkey();
    KeyNames keys;
    keys.key = vkey;
    AuditFacts first = own_event("audit.opened", "");
    first.action = kTalliedFromTheFirst;
    auto number = tables->record(first, keys);
    if (!number) return tl::unexpected(std::move(number.error()));
    if (!recovery.replaces.empty()) {
        const std::string detail = fmt::format(
            "There was a ledger {} in this directory, and it is gone: keys that it knew are new "
            "to this one.",
            recovery.replaces);
        auto warned = tables->record(own_event("ledger.replaced", detail));
        if (!warned) return tl::unexpected(std::move(warned.error()));
    }
    return put_meta("audit_key", vkey);
}

// What the last owner left, and that we have begun, in one transaction after the other; nobody else is here
// yet.
Result<void> SqliteLedger::Engine::recover() {
    const auto began = std::chrono::steady_clock::now();
    CallId after{};
    bool opened = false;
    for (bool more = true; more;) {
        tables->begin();
        if (auto begun = database.execute("BEGIN IMMEDIATE"); !begun) return begun;
        const auto step = [&]() -> Result<void> {
            if (!opened) {
                if (auto told = record_opening(); !told) return told;
                opened = true;
            }
            auto done = transactions->take_over_orphans(after, kRecoveredAtOnce);
            if (!done) return tl::unexpected(std::move(done.error()));
            recovery.open_calls += done->seen;
            recovery.unknown += done->unknown;
            recovery.freed += done->freed;
            recovery.left_to_claims += done->left_to_claims;
            after = done->last;
            more = done->seen == kRecoveredAtOnce;
            if (auto stored = tables->store_end(); !stored) return stored;
            return database.execute("COMMIT");
        };
        if (auto done = step(); !done) {
            if (database.in_transaction()) (void)database.execute("ROLLBACK");
            return done;
        }
    }
    tables->notifications() = {};
    recorded = tables->chain().head().size();
    if (mark) {
        if (auto marked = mark->write({recorded, tables->chain().head().hash}); !marked) return marked;
        tables->set_mark(&*mark);
    }
    checkpoints->found(recorded);
    recovery.took = std::chrono::steady_clock::now() - began;
    return {};
}

void SqliteLedger::Engine::find_witnesses() {
    std::vector<std::unique_ptr<Witness>> witnesses;
    if (!options.anchor_file.empty())
        witnesses.push_back(std::make_unique<AnchorFile>(*options.files, options.anchor_file));
    if (!options.anchor_command.empty()) {
        launcher = std::make_unique<os::RealProcessLauncher>();
        witnesses.push_back(
            std::make_unique<WitnessCommand>(*launcher, options.anchor_command, options.anchor_timeout));
    }
    if (witnesses.empty()) return;
    anchors = std::make_unique<Anchors>(std::move(witnesses));
    checkpoints->set_on_checkpoint(
        [this](const std::string& note, std::uint64_t size) { anchors->submit(note, size); });
}

SqliteLedger::Engine::~Engine() {
    close();
}

void SqliteLedger::Engine::close() {
    stop_check_ = true;
    {
        const std::lock_guard guard(check_mutex_);
        if (interrupter_) interrupter_->look();
    }
    if (background_check_.joinable()) background_check_.join();
    lookups.reset();  // when all that was asked has been answered
    if (writer) {
        // Signed and marked as closed; if that cannot be written, the next start finds out.
        (void)write([this](Transactions& at) -> Result<bool> {
            CALLGATE_FAILPOINT_RETURN("ledger.before_close");
            if (keeps_off) return false;
            auto note = checkpoints->sign(at.tables());
            if (!note) return tl::unexpected(std::move(note.error()));
            if (auto stored = at.tables().store_clocks(); !stored)
                return tl::unexpected(std::move(stored.error()));
            // A file that was not looked through to its end, or is damaged, is looked at again.
            const bool sound = health == Health::sound;
            if (auto put = put_meta("clean", sound ? 1 : 0); !put)
                return tl::unexpected(std::move(put.error()));
            return true;
        });
        writer->stop();
        // After a failed sync nothing may be written any more, by closing neither.
        if (writer->trouble())
            sqlite3_db_config(database.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
        writer.reset();
    } else if (database.raw() != nullptr) {
        sqlite3_db_config(database.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    }
    anchors.reset();  // the last checkpoint is brought to them
    readers_.clear();
    transactions.reset();
    tables.reset();
    database = Database();
    if (mark) (void)mark->sync();  // what it says was durable before it said so
}

Result<Database> SqliteLedger::Engine::open_reader() const {
    auto opened = Database::open(path(), Access::read_only, options.vfs);
    if (!opened) return opened;
    sqlite3_busy_timeout(opened->raw(), kBusyMilliseconds);
    if (auto set = opened->execute("PRAGMA query_only = 1; PRAGMA cache_size = -4096;"); !set)
        return tl::unexpected(std::move(set.error()));
    return opened;
}

Result<std::unique_ptr<Reader>> SqliteLedger::Engine::make_reader() const {
    auto connection = open_reader();
    if (!connection) return tl::unexpected(std::move(connection.error()));
    auto reader = std::make_unique<Reader>(std::move(*connection), *key);
    if (auto ready = reader->calls.prepare(Access::read_only); !ready)
        return tl::unexpected(std::move(ready.error()));
    if (auto ready = reader->approvals.prepare(Access::read_only); !ready)
        return tl::unexpected(std::move(ready.error()));
    return reader;
}

Result<SqliteLedger::Engine::Loan> SqliteLedger::Engine::read() {
    std::unique_ptr<Reader> reader;
    {
        std::unique_lock guard(readers_mutex_);
        reader_back_.wait(guard, [this] { return readers_out_ < kReadersKept; });
        ++readers_out_;
        if (!readers_.empty()) {
            reader = std::move(readers_.back());
            readers_.pop_back();
        }
    }
    Loan loan(*this, std::move(reader));
    if (!loan.has_reader()) {
        auto made = make_reader();
        if (!made) return tl::unexpected(std::move(made.error()));
        loan.take(std::move(*made));
    }
    return loan;
}

SqliteLedger::Engine::Loan::~Loan() {
    if (engine_ == nullptr) return;
    const std::lock_guard guard(engine_->readers_mutex_);
    --engine_->readers_out_;
    if (reader_) engine_->readers_.push_back(std::move(reader_));
    engine_->reader_back_.notify_one();
}

Result<void> SqliteLedger::Engine::flush() {
    // The job has its own hold of what it answers: who waits may have gone.
    struct Job final : WriteJob {
        explicit Job(std::shared_ptr<std::promise<Result<void>>> told) : promise(std::move(told)) {}
        Result<void> apply(Transactions&) override { return {}; }
        void finish(const Error* error) override {
            promise->set_value(error == nullptr ? Result<void>() : tl::unexpected(*error));
        }
        std::shared_ptr<std::promise<Result<void>>> promise;
    };
    auto promise = std::make_shared<std::promise<Result<void>>>();
    auto future = promise->get_future();
    writer->submit(std::make_unique<Job>(std::move(promise)));
    if (future.wait_for(options.writer.hung_after) != std::future_status::ready)
        return refused("disk_hung", "The disk has not answered the ledger in time. Try again later.");
    return future.get();
}

bool SqliteLedger::Engine::is_alive(OwnerId owner) const {
    const std::lock_guard guard(owners_mutex_);
    return owners_.contains(owner);
}

// No owner of an earlier start ever had this number.
OwnerId SqliteLedger::Engine::add_owner() {
    const std::lock_guard guard(owners_mutex_);
    const OwnerId owner = (boots_ << 20) | ++last_owner_;
    owners_.insert(owner);
    return owner;
}

bool SqliteLedger::Engine::remove_owner(OwnerId owner) {
    const std::lock_guard guard(owners_mutex_);
    return owners_.erase(owner) != 0;
}

void SqliteLedger::Engine::wait_for(const base::Sha256Digest& of, std::shared_ptr<Waiter> waiter) {
    const std::lock_guard guard(waiters_mutex_);
    waiters_[of].push_back(std::move(waiter));
}

void SqliteLedger::Engine::stop_waiting(const base::Sha256Digest& of, const Waiter& waiter) {
    std::vector<std::shared_ptr<Waiter>> let_go;  // released outside the lock
    const std::lock_guard guard(waiters_mutex_);
    const auto found = waiters_.find(of);
    if (found == waiters_.end()) return;
    std::erase_if(found->second, [&](std::shared_ptr<Waiter>& held) {
        if (held.get() != &waiter) return false;
        let_go.push_back(std::move(held));
        return true;
    });
    if (found->second.empty()) waiters_.erase(found);
}

void SqliteLedger::Engine::tell(Tables::Notifications&& notifications) {
    recorded = tables->chain().head().size();
    if (notifications.approvals_changed) approvals_version.fetch_add(1);
    std::vector<std::shared_ptr<Waiter>> woken;
    if (!notifications.ended_keys.empty()) {
        const std::lock_guard guard(waiters_mutex_);
        for (const base::Sha256Digest& of : notifications.ended_keys) {
            const auto found = waiters_.find(of);
            if (found == waiters_.end()) continue;
            std::ranges::move(found->second, std::back_inserter(woken));
            waiters_.erase(found);
        }
    }
    for (const auto& waiter : woken) waiter->wake();
}

}  // namespace callgate::ledger
