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
#include "ledger/digest.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/engine.h"
#include "ledger/sqlite/operator_table.h"
#include "ledger/sqlite/replay_check.h"
#include "ledger/sqlite/schema.h"
#include "ledger/sqlite/sqlite_ledger.h"

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
    auto query = database.prepare(fmt::format("SELECT state, count(*) FROM {} GROUP BY state", table));
    if (!query) return tl::unexpected(std::move(query.error()));
    Object counts;
    for (;;) {
        auto row = query->step();
        if (!row) return tl::unexpected(std::move(row.error()));
        if (!*row) return counts;
        counts[query->text(0)] = query->integer(1);
    }
}

tl::unexpected<Error> called_off(std::string_view what) {
    return fail(ErrorCode::cancelled, fmt::format("The {} was called off.", what),
                {{"reason", "called_off"}});
}

// One part of a check after the other, which whoever waits for it can call off in the middle of a long query.
class Step {
public:
    static constexpr std::uint64_t kParts = 8;  // SQLite's own, our rules, each record, and the replay

    Step(Database& connection, const WorkProgress& progress)
        : connection_(connection),
          progress_(progress),
          overseer_(connection.raw(), [this] { return goes_on(); }) {
        const auto stop = [](void* self) { return static_cast<Step*>(self)->goes_on() ? 0 : 1; };
        sqlite3_progress_handler(connection.raw(), kInstructions, stop, this);
    }

    ~Step() { sqlite3_progress_handler(connection_.raw(), 0, nullptr, nullptr); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    void next() { ++done_; }
    bool stopped() const { return stopped_; }

private:
    static constexpr int kInstructions = 20'000;

    // Two threads ask, and whoever waits is told by one at a time.
    bool goes_on() {
        const std::lock_guard lock(mutex_);
        if (!stopped_ && progress_ && !progress_(done_, kParts)) stopped_ = true;
        return !stopped_;
    }

    Database& connection_;
    const WorkProgress& progress_;
    std::atomic<std::uint64_t> done_{0};
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    Overseer overseer_;  // goes first
};

/// Every call, outcome and approval can be read, and is found under its own key.
Result<void> look_at_records(Reader& reader, Array& problems, const Step& step) {
    constexpr std::size_t kAtOnce = 1'000;
    for (CallId after{}; !step.stopped();) {
        // One snapshot for the calls and what belongs to them: they go on meanwhile.
        if (auto begun = reader.database.execute("BEGIN"); !begun) return begun;
        auto calls = reader.calls.all_calls(after, kAtOnce);
        if (!calls) return tl::unexpected(std::move(calls.error()));
        for (StoredCall& call : *calls) {
            after = call.row.call_id;
            const std::string id = base::Uuid{after}.to_string();
            if (auto loaded = reader.calls.load_outcome(call); !loaded)
                problems.emplace_back(fmt::format("the outcome of call {} cannot be read", id));
            if (!call.holds_key) continue;
            const auto found = reader.calls.by_key(hash_of(call.row.key));
            if (!found || !*found || (*found)->row.call_id != after)
                problems.emplace_back(fmt::format("call {} is not found under its key", id));
        }
        if (auto ended = reader.database.execute("COMMIT"); !ended) return ended;
        if (calls->size() < kAtOnce) break;
    }
    ApprovalQuery query;
    query.limit = kAtOnce;
    while (!step.stopped()) {
        auto approvals = reader.approvals.page(query, kAsWritten);
        if (!approvals) return tl::unexpected(std::move(approvals.error()));
        if (approvals->size() < kAtOnce) break;
        query.before = approvals->back().id;
    }
    return {};
}

}  // namespace

Result<std::vector<CallRow>> SqliteLedger::page_of_calls(const CallQuery& query) {
    std::optional<CallId> before;
    if (!query.before.empty()) {
        const auto id = base::parse_uuid(query.before);
        if (!id) return tl::unexpected(id.error());
        before = id->bytes;
    }
    auto reader = engine_->read();
    if (!reader) return tl::unexpected(std::move(reader.error()));
    return (*reader)->calls.page(query, before);
}

Result<std::vector<AttemptRow>> SqliteLedger::attempts(const CallId& call_id) {
    auto reader = engine_->read();
    if (!reader) return tl::unexpected(std::move(reader.error()));
    return (*reader)->calls.attempts(call_id);
}

Result<std::vector<Approval>> SqliteLedger::page_of_approvals(const ApprovalQuery& query) {
    auto reader = engine_->read();
    if (!reader) return tl::unexpected(std::move(reader.error()));
    return (*reader)->approvals.page(query, engine_->time->latest());
}

base::WallTime SqliteLedger::approval_time() {
    return engine_->time->latest();
}

std::uint64_t SqliteLedger::approvals_version() {
    return engine_->approvals_version.load();
}

Result<Object> SqliteLedger::stats() {
    auto reader = engine_->read();
    if (!reader) return tl::unexpected(std::move(reader.error()));
    Database& database = (*reader)->database;
    auto calls = counts_by_state(database, "calls");
    if (!calls) return calls;
    auto approvals = counts_by_state(database, "approvals");
    if (!approvals) return approvals;
    auto tombstones = database.integer_of("SELECT count(*) FROM tombstones");
    auto pages = database.integer_of("PRAGMA page_count");
    auto page_size = database.integer_of("PRAGMA page_size");
    auto version = database.integer_of("PRAGMA user_version");
    auto signed_size = database.integer_of("SELECT max(size) FROM checkpoints");
    auto audit_key = database.text_of("SELECT value FROM meta WHERE name = 'audit_key'");
    if (!audit_key) return tl::unexpected(std::move(audit_key.error()));
    for (const auto* number : {&tombstones, &pages, &page_size, &version, &signed_size}) {
        if (!*number) return tl::unexpected(number->error());
    }
    const Writer::Counts counts = engine_->writer->counts();
    const auto trouble = engine_->writer->trouble();
    const RecoveryReport& start = engine_->recovery;
    Object out{
        {"directory", engine_->options.directory},
        {"schema", *version},
        {"sqlite", sqlite3_libversion()},
        {"bytes", *pages * *page_size},
        {"wal_pages", counts.wal_pages},
        {"calls", std::move(*calls)},
        {"approvals", std::move(*approvals)},
        {"tombstones", *tombstones},
        {"audit",
         Object{{"events", engine_->recorded.load()}, {"signed", *signed_size}, {"key", *audit_key}}},
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
        Object& told = (out["anchors"] = Object{{"signed", anchored.offered},
                                                {"witnessed", anchored.size},
                                                {"failures", anchored.failures}})
                           .as_object();
        if (anchored.error) told["error"] = anchored.error->message;
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
    if (auto flushed = flush(); !flushed) return tl::unexpected(std::move(flushed.error()));
    auto connection = engine_->open_reader();
    if (!connection) return tl::unexpected(std::move(connection.error()));
    Reader reader(std::move(*connection), *engine_->key);
    std::optional<Step> step(std::in_place, reader.database, progress);
    Array problems;
    auto rows = reader.database.prepare("PRAGMA integrity_check(100)");
    if (!rows) return tl::unexpected(std::move(rows.error()));
    for (;;) {
        auto row = rows->step();
        if (step->stopped()) return called_off("check");
        if (!row) return tl::unexpected(std::move(row.error()));
        if (!*row) break;
        if (rows->text(0) != "ok") problems.emplace_back(rows->text(0));
    }
    const auto count = [&](std::string_view what, std::string_view sql) -> Result<void> {
        auto found = reader.database.integer_of(sql);
        if (!found) return tl::unexpected(std::move(found.error()));
        if (*found != 0) problems.emplace_back(fmt::format("{}: {}", what, *found));
        return {};
    };
    constexpr std::pair<std::string_view, std::string_view> kRules[] = {
        {"calls whose outcome is missing",
         "SELECT count(*) FROM calls WHERE result_ref IS NOT NULL AND result_ref NOT IN (SELECT id FROM "
         "results)"},
        {"outcomes that belong to no call",
         "SELECT count(*) FROM results WHERE id NOT IN (SELECT result_ref FROM calls WHERE result_ref IS NOT "
         "NULL)"},
        {"sent calls without an attempt",
         "SELECT count(*) FROM calls WHERE attempt > 0 AND NOT EXISTS (SELECT 1 FROM attempts WHERE "
         "attempts.call_id = calls.call_id AND n = calls.attempt)"},
        {"used approvals without a call",
         "SELECT count(*) FROM approvals WHERE state = 'consumed' AND consumed_by = ''"},
        {"gaps in the audit's numbers",
         "SELECT CASE WHEN count(*) = 0 THEN 0 ELSE max(seq) - count(*) - (SELECT coalesce(max(last), 0) "
         "FROM "
         "audit_segments) END FROM audit WHERE seq > (SELECT coalesce(max(last), 0) FROM audit_segments)"},
    };
    for (const auto& [what, sql] : kRules) {
        step->next();
        auto done = count(what, sql);
        if (step->stopped()) return called_off("check");
        if (!done) return tl::unexpected(std::move(done.error()));
    }
    step->next();
    auto ready = reader.calls.prepare(Access::read_only);
    if (ready) ready = reader.approvals.prepare(Access::read_only);
    if (ready) ready = look_at_records(reader, problems, *step);
    if (step->stopped()) return called_off("check");
    if (!ready) problems.emplace_back(ready.error().message);
    step->next();
    const KeptSince since{engine_->time->lived() - engine_->options.kept.key_ttl,
                          engine_->time->latest() - engine_->options.kept.approval_ttl};
    const auto began = std::chrono::steady_clock::now();
    auto replayed = replay_check(reader, *engine_->key, since,
                                 [&](std::uint64_t, std::uint64_t) { return !step->stopped(); });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (step->stopped()) return called_off("check");
    step.reset();  // nobody else tells any more
    if (!replayed) return tl::unexpected(std::move(replayed.error()));
    for (Value& problem : replayed->problems) problems.push_back(std::move(problem));
    if (progress) static_cast<void>(progress(Step::kParts, Step::kParts));
    const bool ok = problems.empty();
    const std::uint64_t looked_at = replayed->rows + replayed->events;
    return Object{{"ok", ok},
                  {"problems", std::move(problems)},
                  {"rows", replayed->rows},
                  {"events", replayed->events},
                  {"archived_up_to", replayed->archived},
                  {"rows_per_s", static_cast<std::uint64_t>(static_cast<double>(looked_at) /
                                                            std::max(took.count(), 1e-6))}};
}

Result<Object> SqliteLedger::collect() {
    constexpr std::size_t kAtOnce = 500;
    std::int64_t all = 0;
    for (;;) {
        const auto done = engine_->write([](Clerk& clerk) { return clerk.collect(kAtOnce); });
        if (!done) return tl::unexpected(done.error());
        all += *done;
        if (*done == 0) break;
    }
    const auto tidied = tidy_archived({});
    if (!tidied) return tl::unexpected(tidied.error());
    return Object{{"collected", all}, {"archived_rows", *tidied}};
}

Result<std::vector<AuditEvent>> SqliteLedger::events(const AuditSelection& which) {
    (void)flush();  // where nothing can be written, what was written can still be read
    auto connection = engine_->open_reader();
    if (!connection) return tl::unexpected(std::move(connection.error()));
    auto reader = SqliteAuditReader::make(std::move(*connection), *engine_->key);
    if (!reader) return tl::unexpected(std::move(reader.error()));
    return (*reader)->events(which);
}

Result<std::unique_ptr<AuditReader>> SqliteLedger::read_audit() {
    if (auto flushed = flush(); !flushed && !engine_->writer->trouble())
        return tl::unexpected(std::move(flushed.error()));
    auto connection = engine_->open_reader();
    if (!connection) return tl::unexpected(std::move(connection.error()));
    auto reader = SqliteAuditReader::make(std::move(*connection), *engine_->key);
    if (!reader) return tl::unexpected(std::move(reader.error()));
    (*reader)->hold(engine_->audit_readers);
    return std::unique_ptr<AuditReader>(std::move(*reader));
}

Result<std::string> SqliteLedger::checkpoint() {
    auto signed_now = engine_->write([this](Clerk& clerk) { return engine_->notary->sign(clerk.book()); });
    if (!signed_now) return signed_now;
    if (!signed_now->empty()) return signed_now;
    auto reader = read_audit();
    if (!reader) return tl::unexpected(std::move(reader.error()));
    auto latest = (*reader)->latest_checkpoint();
    if (!latest) return tl::unexpected(std::move(latest.error()));
    return latest->value_or(std::string());
}

Result<std::uint64_t> SqliteLedger::erase_payloads(const CallId& call_id, std::string_view by) {
    AuditFacts facts;
    facts.type = "audit.erased";
    facts.outcome = "info";
    facts.stage = "operator";
    facts.call_id = call_id;
    facts.principal = by;
    const AuditEvent event(facts);
    return engine_->write([&](Clerk& clerk) -> Result<std::uint64_t> {
        CALLGATE_FAILPOINT_RETURN("ledger.before_erase");
        auto gone = clerk.book().audit.erase(call_id);
        if (!gone) return tl::unexpected(std::move(gone.error()));
        auto number = clerk.book().record(event);
        if (!number) return tl::unexpected(std::move(number.error()));
        CALLGATE_FAILPOINT_RETURN("ledger.after_erase");
        return static_cast<std::uint64_t>(*gone);
    });
}

std::vector<uid_t> SqliteLedger::operator_uids() {
    return engine_->options.operator_uids;
}

Result<std::optional<std::string>> SqliteLedger::operator_key(uid_t uid) {
    auto reader = engine_->read();
    if (!reader) return tl::unexpected(std::move(reader.error()));
    return OperatorTable((*reader)->database, *engine_->key).find(uid);
}

Result<void> SqliteLedger::set_operator_key(uid_t uid, std::string_view vkey, AuditEvent& event) {
    auto done = engine_->write([&](Clerk& clerk) -> Result<bool> {
        auto number = clerk.book().record(event);
        if (!number) return tl::unexpected(std::move(number.error()));
        event.sequence = *number;
        auto pinned = OperatorTable(clerk.book().database(), *engine_->key)
                          .pin(uid, vkey, clerk.book().time().wall(), *number);
        if (!pinned) return tl::unexpected(std::move(pinned.error()));
        return true;
    });
    if (!done) return tl::unexpected(std::move(done.error()));
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
    auto rotated = engine_->write([&](Clerk& clerk) -> Result<bool> {
        CALLGATE_FAILPOINT_RETURN("ledger.before_rotation");
        if (!rotation) {
            auto prepared = engine_->notary->signer().prepare_rotation();
            if (!prepared) return tl::unexpected(std::move(prepared.error()));
            rotation = std::move(*prepared);
        }
        KeyNames keys;
        keys.key = rotation->key;
        keys.old_key = rotation->old_key;
        auto number = clerk.book().record(event, keys);
        if (!number) return tl::unexpected(std::move(number.error()));
        auto put = clerk.book().database().prepare(
            "INSERT OR REPLACE INTO meta(name, value) VALUES('audit_key', ?1)");
        if (!put) return tl::unexpected(std::move(put.error()));
        auto done = put->bind(1, rotation->key).run();
        if (!done) return tl::unexpected(std::move(done.error()));
        engine_->notary->rotates();
        CALLGATE_FAILPOINT_RETURN("ledger.after_rotation");
        return true;
    });
    if (!rotated) return tl::unexpected(std::move(rotated.error()));
    // Signed by both keys at once, so that the old one is soon of no use.
    auto note = checkpoint();
    if (!note) return tl::unexpected(std::move(note.error()));
    return Object{{"key", rotation->key}, {"old_key", rotation->old_key}, {"checkpoint", *note}};
}

}  // namespace callgate::ledger
