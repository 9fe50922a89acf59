// What a start does before it serves anybody: the file is checked, the chain goes on, and what the last owner
// left is given up or left to the next claim.
#include "ledger/sqlite/engine.h"

#include <fmt/format.h>

#include "base/try.h"
#include "ledger/own_events.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/refused.h"
#include "ledger/sqlite/schema.h"

namespace callgate::ledger {

namespace {

constexpr std::size_t kRecoveredAtOnce = 1'000;

AuditEvent own_event(std::string_view type, std::string_view detail) {
    AuditFacts event;
    event.type = type;
    event.outcome = "info";
    event.stage = "ledger";
    event.detail = detail;
    return AuditEvent(event);
}

}  // namespace

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
    return refused("damaged", fmt::format("The ledger's file is damaged: {}. Keep it as it "
                                          "is, and restore a backup "
                                          "beside it.",
                                          *verdict));
}

// After an unclean stop the file is looked through: a small one at once, a large one while calls go on.
Result<void> SqliteLedger::Engine::check_file(bool unclean) {
    if (!unclean) {
        health = Health::sound;
        return {};
    }
    CALLGATE_TRY_ASSIGN(const auto info, options.files->stat(path()));
    if (info.size <= options.check_at_once_below) return quick_check(database);
    CALLGATE_TRY_ASSIGN(checked_, open_reader());
    const base::MutexLock guard(check_mutex_);
    interrupter_ = std::make_unique<CheckInterrupter>(checked_.raw(), [this] { return !stop_check_.load(); });
    background_check_ = std::thread([this] {
        (void)quick_check(checked_);
        const base::MutexLock ending(check_mutex_);
        interrupter_.reset();
        checked_ = Database();
    });
    return {};
}

Result<void> SqliteLedger::Engine::begin_chain() {
    CALLGATE_TRY_ASSIGN(auto connection, open_reader());
    CALLGATE_TRY_ASSIGN(auto reader, SqliteAuditReader::make(std::move(connection), *key));
    CALLGATE_TRY_ASSIGN(auto head, restore_head(*reader));
    CALLGATE_TRY_ASSIGN(auto in_force, database.text_of("SELECT value FROM meta WHERE name = 'audit_key'"));
    CALLGATE_TRY_ASSIGN(auto signer,
                        AuditSigner::open(*options.files, *options.rng, options.directory + "/audit.key",
                                          chain_id_, in_force));
    CALLGATE_TRY_ASSIGN(auto signed_size, database.integer_of("SELECT max(size) FROM checkpoints"));
    tables.emplace(database, *key, *time, AuditChain(chain_id_, random_id(*options.rng), head, *options.rng),
                   options.kept);
    CALLGATE_TRY(tables->prepare());
    CALLGATE_TRY(tables->tally.load(database, AuditPlace(head)));
    tables->tally.watch(database);
    tables->calls.count_in(tables->tally);
    transactions.emplace(*tables, [this](OwnerId owner) { return is_alive(owner); });
    checkpoints.emplace(std::move(signer), static_cast<std::uint64_t>(signed_size), *time);
    recorded = tables->chain().head().size();
    return {};
}

Result<void> SqliteLedger::Engine::load_gap() {
    CALLGATE_TRY_ASSIGN(auto until, database.integer_of("SELECT coalesce(max(gap_until), 0) FROM restores"));
    CALLGATE_TRY_ASSIGN(auto calls, database.integer_of("SELECT EXISTS (SELECT 1 FROM calls WHERE restored "
                                                        "IS NOT NULL AND idem_key = '')"));
    tables->set_gap({time_of(until), calls != 0});
    return {};
}

// So that nobody can pass it off as an older one again.
Result<void> SqliteLedger::Engine::record_upgrade() {
    CALLGATE_TRY_ASSIGN(auto from,
                        database.integer_of("SELECT value FROM meta WHERE name = 'upgraded_from'"));
    if (from == 0) return {};
    const std::string detail =
        fmt::format("From version {} to version {}; its rows were counted as they were.", from,
                    ledger_migrations().back().version);
    CALLGATE_TRY(tables->record(own_event(kUpgraded, detail)));
    return database.execute("DELETE FROM meta WHERE name = 'upgraded_from'");
}

// The first event of a log names its key; a later start only says that it is one.
Result<void> SqliteLedger::Engine::record_opening() {
    if (tables->chain().head().size() != 0) {
        if (time->jump_at_start()) {
            CALLGATE_TRY(tables->record(event_of_clock_jump(*time->jump_at_start())));
            CALLGATE_TRY(tables->store_clocks());
        }
        CALLGATE_TRY(record_upgrade());
        if (options.in_passing && !recovery.unclean) return {};
        CALLGATE_TRY(
            tables->record(own_event("ledger.opened", recovery.unclean ? "after an unclean stop" : "")));
        return {};
    }
    const std::string vkey = checkpoints->signer().key().vkey();
    KeyNames keys;
    keys.key = vkey;
    AuditFacts first = own_event("audit.opened", "");
    first.action = kTalliedFromTheFirst;
    CALLGATE_TRY(tables->record(first, keys));
    if (!recovery.replaces.empty()) {
        const std::string detail = fmt::format(
            "There was a ledger {} in this directory, and it is gone: "
            "keys that it knew are new "
            "to this one.",
            recovery.replaces);
        CALLGATE_TRY(tables->record(own_event("ledger.replaced", detail)));
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
        CALLGATE_TRY(database.execute("BEGIN IMMEDIATE"));
        const auto step = [&]() -> Result<void> {
            if (!opened) {
                CALLGATE_TRY(record_opening());
                opened = true;
            }
            CALLGATE_TRY_ASSIGN(auto done, transactions->take_over_orphans(after, kRecoveredAtOnce));
            recovery.open_calls += done.seen;
            recovery.unknown += done.unknown;
            recovery.freed += done.freed;
            recovery.left_to_claims += done.left_to_claims;
            after = done.last;
            more = done.seen == kRecoveredAtOnce;
            CALLGATE_TRY(tables->store_end());
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
        CALLGATE_TRY(mark->write({recorded, tables->chain().head().hash}));
        tables->set_mark(&*mark);
    }
    checkpoints->found(recorded);
    recovery.took = std::chrono::steady_clock::now() - began;
    return {};
}

}  // namespace callgate::ledger
