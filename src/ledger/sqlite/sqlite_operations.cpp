// What operators ask of the SQLite ledger.
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/failpoint.h"
#include "base/ids.h"
#include "base/try.h"
#include "ledger/digest.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/engine.h"
#include "ledger/sqlite/operator_table.h"
#include "ledger/sqlite/schema.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "ledger/sqlite/whole_check.h"

namespace callgate::ledger {

namespace {

std::string_view name_of(SqliteLedger::Engine::Health health) {
    using Health = SqliteLedger::Engine::Health;
    switch (health) {
        case Health::unchecked: return "unchecked";
        case Health::checking: return "checking";
        case Health::sound: return "sound";
        case Health::damaged: return "damaged";
    }
    return "unchecked";
}

Result<Object> counts_by_state(Database& database, std::string_view table) {
    CALLGATE_TRY_ASSIGN(
        auto query, database.prepare(fmt::format("SELECT state, count(*) FROM {} GROUP BY state", table)));
    Object counts;
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto row, query.step());
        if (!row) return counts;
        counts[query.text(0)] = query.integer(1);
    }
}

}  // namespace

Result<std::vector<CallRow>> SqliteLedger::page_of_calls(const CallQuery& query) {
    std::optional<CallId> before;
    if (!query.before.empty()) {
        CALLGATE_TRY_ASSIGN(const auto id, base::parse_uuid(query.before));
        before = id.bytes;
    }
    CALLGATE_TRY_ASSIGN(auto reader, engine_->read());
    return reader->calls.page(query, before);
}

Result<std::vector<AttemptRow>> SqliteLedger::attempts(const CallId& call_id) {
    CALLGATE_TRY_ASSIGN(auto reader, engine_->read());
    return reader->calls.attempts(call_id);
}

Result<std::vector<Approval>> SqliteLedger::page_of_approvals(const ApprovalQuery& query) {
    CALLGATE_TRY_ASSIGN(auto reader, engine_->read());
    return reader->approvals.page(query, engine_->time->latest());
}

base::WallTime SqliteLedger::approval_time() {
    return engine_->time->latest();
}

void SqliteLedger::watch_approvals(std::weak_ptr<ApprovalSink> sink) {
    engine_->approval_sinks.add(std::move(sink));
}

std::uint64_t SqliteLedger::approvals_version() {
    return engine_->approvals_version.load();
}

Result<Object> SqliteLedger::stats() {
    CALLGATE_TRY_ASSIGN(auto reader, engine_->read());
    Database& database = reader->database;
    CALLGATE_TRY_ASSIGN(auto calls, counts_by_state(database, "calls"));
    // Undecided ones whose time has come are expired, whatever is written.
    CALLGATE_TRY_ASSIGN(
        auto approvals,
        counts_by_state(
            database,
            fmt::format("(SELECT iif(state IN ('pending', 'approved') AND expires_at <= {}, 'expired', "
                        "state) AS state FROM approvals)",
                        micros(engine_->time->latest()))));
    CALLGATE_TRY_ASSIGN(const auto tombstones, database.integer_of("SELECT count(*) FROM tombstones"));
    CALLGATE_TRY_ASSIGN(const auto pages, database.integer_of("PRAGMA page_count"));
    CALLGATE_TRY_ASSIGN(const auto page_size, database.integer_of("PRAGMA page_size"));
    CALLGATE_TRY_ASSIGN(const auto version, database.integer_of("PRAGMA user_version"));
    CALLGATE_TRY_ASSIGN(const auto signed_size, database.integer_of("SELECT max(size) FROM checkpoints"));
    CALLGATE_TRY_ASSIGN(auto audit_key, database.text_of("SELECT value FROM meta WHERE name = 'audit_key'"));
    const Writer::Counts counts = engine_->writer->counts();
    const auto trouble = engine_->writer->trouble();
    const RecoveryReport& start = engine_->recovery;
    Object out{
        {"directory", engine_->options.directory},
        {"schema", version},
        {"sqlite", sqlite3_libversion()},
        {"bytes", pages * page_size},
        {"wal_pages", counts.wal_pages},
        {"calls", std::move(calls)},
        {"approvals", std::move(approvals)},
        {"tombstones", tombstones},
        {"audit", Object{{"events", engine_->recorded.load()}, {"signed", signed_size}, {"key", audit_key}}},
        {"check", Object{{"state", name_of(engine_->health.load())}}},
        {"writer", Object{{"commits", counts.commits},
                          {"jobs", counts.jobs},
                          {"waiting", counts.waiting},
                          {"batched_events", counts.batched_events},
                          {"largest_batch", counts.largest_batch},
                          {"refused", counts.refused},
                          {"waiting_bytes", counts.waiting_bytes},
                          {"hangs", counts.hangs},
                          {"wal_checkpoints", counts.wal_checkpoints}}},
        {"start", Object{{"unclean", start.unclean},
                         {"open_calls", start.open_calls},
                         {"unknown", start.unknown},
                         {"freed", start.freed},
                         {"left_to_claims", start.left_to_claims},
                         {"milliseconds",
                          std::chrono::duration_cast<std::chrono::milliseconds>(start.took).count()}}}};
    if (!start.replaces.empty()) out["start"].as_object()["replaces"] = start.replaces;
    if (engine_->anchors) {
        const Anchors::Standing anchored = engine_->anchors->standing();
        Object& shown = (out["anchors"] = Object{{"signed", anchored.offered},
                                                 {"witnessed", anchored.size},
                                                 {"failures", anchored.failures}})
                            .as_object();
        if (anchored.error) shown["error"] = anchored.error->message;
    }
    if (engine_->health.load() == Engine::Health::damaged)
        out["check"].as_object()["problem"] = engine_->health_detail;
    const auto hung = engine_->writer->hung_for();
    out["writer"].as_object()["hung_ms"] =
        hung ? std::chrono::duration_cast<std::chrono::milliseconds>(*hung).count() : 0;
    const Readers::Counts looked = engine_->lookups->counts();
    out["readers"] = Object{{"threads", looked.threads},
                            {"looked", looked.looked},
                            {"waiting", looked.waiting},
                            {"refused", looked.refused}};
    if (trouble) out["trouble"] = Object{{"message", trouble->message}, {"details", trouble->details}};
    return out;
}

Result<Object> SqliteLedger::check(const WorkProgress& progress) {
    CALLGATE_TRY(flush());
    CALLGATE_TRY_ASSIGN(auto connection, engine_->open_reader());
    Reader reader(std::move(connection), *engine_->key);
    const KeptSince since{engine_->time->lived() - engine_->options.kept.key_ttl,
                          engine_->time->latest() - engine_->options.kept.approval_ttl};
    return check_all(reader, *engine_->key, since, progress);
}

Result<Object> SqliteLedger::collect() {
    constexpr std::size_t kAtOnce = 500;
    std::int64_t all = 0;
    for (;;) {
        CALLGATE_TRY_ASSIGN(const auto done, engine_->write([](Transactions& transactions) {
            return transactions.collect(kAtOnce);
        }));
        all += done;
        if (done == 0) break;
    }
    CALLGATE_TRY_ASSIGN(const auto tidied, tidy_archived({}));
    return Object{{"collected", all}, {"archived_rows", tidied}};
}

Result<std::vector<AuditEvent>> SqliteLedger::events(const AuditSelection& which) {
    (void)flush();  // where nothing can be written, what was written can still be read
    CALLGATE_TRY_ASSIGN(auto connection, engine_->open_reader());
    CALLGATE_TRY_ASSIGN(auto reader, SqliteAuditReader::make(std::move(connection), *engine_->key));
    return reader->events(which);
}

Result<std::unique_ptr<AuditReader>> SqliteLedger::read_audit() {
    if (auto flushed = flush(); !flushed && !engine_->writer->trouble())
        return tl::unexpected(std::move(flushed.error()));
    CALLGATE_TRY_ASSIGN(auto connection, engine_->open_reader());
    CALLGATE_TRY_ASSIGN(auto reader, SqliteAuditReader::make(std::move(connection), *engine_->key));
    reader->hold(engine_->audit_readers);
    return std::unique_ptr<AuditReader>(std::move(reader));
}

Result<std::string> SqliteLedger::checkpoint() {
    CALLGATE_TRY_ASSIGN(auto signed_now, engine_->write([this](Transactions& transactions) {
        return engine_->checkpoints->sign(transactions.tables());
    }));
    if (!signed_now.empty()) return signed_now;
    CALLGATE_TRY_ASSIGN(auto reader, read_audit());
    CALLGATE_TRY_ASSIGN(auto latest, reader->latest_checkpoint());
    return latest.value_or(std::string());
}

Result<std::uint64_t> SqliteLedger::erase_payloads(const CallId& call_id, std::string_view by,
                                                   std::uint64_t in_segment) {
    AuditFacts facts;
    facts.type = "audit.erased";
    facts.outcome = "info";
    facts.stage = "operator";
    facts.call_id = call_id;
    facts.principal = by;
    const AuditEvent event(facts);
    return engine_->write([&](Transactions& transactions) -> Result<std::uint64_t> {
        CALLGATE_FAILPOINT_RETURN("ledger.before_erase");
        CALLGATE_TRY_ASSIGN(auto gone, transactions.tables().audit.erase(call_id));
        if (gone != 0 || in_segment != 0) CALLGATE_TRY(transactions.tables().record(event));
        CALLGATE_FAILPOINT_RETURN("ledger.after_erase");
        return static_cast<std::uint64_t>(gone);
    });
}

std::vector<uid_t> SqliteLedger::operator_uids() {
    return engine_->options.operator_uids;
}

Result<std::optional<std::string>> SqliteLedger::operator_key(uid_t uid) {
    CALLGATE_TRY_ASSIGN(auto reader, engine_->read());
    return OperatorTable(reader->database, *engine_->key).find(uid);
}

Result<void> SqliteLedger::set_operator_key(uid_t uid, std::string_view vkey, AuditEvent& event) {
    const auto pin = [&](Transactions& transactions) -> Result<bool> {
        CALLGATE_TRY_ASSIGN(auto number, transactions.tables().record(event));
        event.sequence = number;
        CALLGATE_TRY(OperatorTable(transactions.tables().database(), *engine_->key)
                         .pin(uid, vkey, transactions.tables().time().wall(), number));
        return true;
    };
    CALLGATE_TRY(engine_->write(pin));
    return {};
}

Result<Object> SqliteLedger::rotate_audit_key(std::string_view by) {
    AuditFacts facts;
    facts.type = "audit.key_rotated";
    facts.outcome = "info";
    facts.stage = "operator";
    facts.principal = by;
    const AuditEvent event(facts);
    std::optional<AuditSigner::Rotation> rotation;
    const auto rotate = [&](Transactions& transactions) -> Result<bool> {
        CALLGATE_FAILPOINT_RETURN("ledger.before_rotation");
        if (!rotation) {
            CALLGATE_TRY_ASSIGN(rotation, engine_->checkpoints->signer().prepare_rotation());
        }
        KeyNames keys;
        keys.key = rotation->key;
        keys.old_key = rotation->old_key;
        CALLGATE_TRY(transactions.tables().record(event, keys));
        CALLGATE_TRY_ASSIGN(auto put,
                            transactions.tables().database().prepare("INSERT OR REPLACE INTO meta(name, "
                                                                     "value) VALUES('audit_key', ?1)"));
        CALLGATE_TRY(put.bind(1, rotation->key).run());
        engine_->checkpoints->rotates();
        CALLGATE_FAILPOINT_RETURN("ledger.after_rotation");
        return true;
    };
    CALLGATE_TRY(engine_->write(rotate));
    // Signed by both keys at once, so that the old one is soon of no use.
    CALLGATE_TRY_ASSIGN(auto note, checkpoint());
    return Object{{"key", rotation->key}, {"old_key", rotation->old_key}, {"checkpoint", note}};
}

}  // namespace callgate::ledger
