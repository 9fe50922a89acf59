#include "bare_sql.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "ledger/sqlite/database.h"
#include "ledger/sqlite/schema.h"

namespace callgate::bench {

namespace {

using ledger::Access;
using ledger::Database;
using ledger::Statement;

template <class T>
T must(Result<T> result) {
    if (result) return std::move(*result);
    std::fprintf(stderr, "bare_sql: %s\n", result.error().message.c_str());
    std::exit(1);
}

void must(Result<void> result) {
    if (result) return;
    std::fprintf(stderr, "bare_sql: %s\n", result.error().message.c_str());
    std::exit(1);
}

// As long as what the ledger writes for the benchmark's call.
constexpr std::size_t kEventBytes = 428;
constexpr std::size_t kArgumentBytes = 13 + 41;
constexpr std::size_t kResultNoteBytes = 90 + 41;
constexpr std::size_t kOutcomeBytes = 110 + 41;

}  // namespace

struct BareSql::State {
    Database database;
    Statement claim, attempt, event, payload, look, result, settle, end;
    std::uint64_t calls = 0;
    std::int64_t events = 0;
    std::string event_bytes = std::string(kEventBytes, 'e');
    std::string arguments = std::string(kArgumentBytes, 'a');
    std::string result_note = std::string(kResultNoteBytes, 'r');
    std::string outcome = std::string(kOutcomeBytes, 'o');
    std::string hash = std::string(32, 'h');
    std::string salt = std::string(16, 's');

    std::string id_of(std::uint64_t call) const {
        std::string id(16, '\x01');
        for (std::size_t i = 0; i < 8; ++i) id[7 - i] = static_cast<char>(call >> (8 * i));
        return id;
    }

    void record(const std::string& id, std::string_view field, const std::string& body) {
        ++events;
        must(event.bind(1, events)
                 .bind_blob(2, hash)
                 .bind_blob(3, event_bytes)
                 .bind_blob(4, id)
                 .bind_null(5)
                 .run());
        must(payload.bind(1, events).bind(2, field).bind_blob(3, salt).bind_blob(4, body).run());
    }
};

BareSql::BareSql(const std::string& directory) : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.database = must(Database::open(directory + "/bare.db", Access::read_write));
    must(s.database.execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = "
        "0; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384;"));
    must(ledger::migrate(s.database));
    s.claim = must(s.database.prepare(
        "INSERT INTO calls(call_id, key_hash, tenant, principal, tool, idem_key, fingerprint, effect_class, "
        "state, epoch, owner, attempt, maybe_applied, tool_def_hash, policy_rev, approval_id, action, "
        "arguments, created_at) VALUES(?1, NULL, '', 'local', 'add', '', ?2, 'unsafe', 'dispatched', 1, "
        "1048577, 1, 0, ?2, 1, '', 'call', NULL, 1794752467000000) ON CONFLICT DO NOTHING"));
    s.attempt = must(s.database.prepare(
        "INSERT INTO attempts(call_id, n, epoch, owner, started_at) VALUES(?1, 1, 1, 1048577, "
        "1794752467000000)"));
    s.event = must(
        s.database.prepare("INSERT INTO audit(seq, hash, event, call_id, trace) VALUES(?1, ?2, ?3, ?4, ?5)"));
    s.payload =
        must(s.database.prepare("INSERT INTO audit_payloads(seq, field, salt, body) VALUES(?1, ?2, ?3, ?4)"));
    s.look = must(s.database.prepare("SELECT * FROM calls WHERE call_id = ?1"));
    s.result = must(s.database.prepare("INSERT INTO results(outcome) VALUES(?1)"));
    s.settle = must(s.database.prepare(
        "UPDATE calls SET state = 'succeeded', epoch = 1, owner = 1048577, maybe_applied = 0, ended_at = "
        "1794752467000000, expires_at = 1794838867000000, result_ref = ?2, result_sha256 = ?3, key_hash = "
        "CASE WHEN 0 THEN NULL ELSE key_hash END WHERE call_id = ?1 AND epoch = 1 AND attempt = 1 AND state "
        "= 'dispatched'"));
    s.end = must(s.database.prepare(
        "UPDATE attempts SET ended_at = 1794752467000000, end_class = 'succeeded' WHERE call_id = ?1 AND n = "
        "1 AND (end_class IS NULL OR end_class IN ('unknown', 'reconciling'))"));
}

BareSql::~BareSql() = default;

void BareSql::batch(std::size_t calls) {
    State& s = *state_;
    must(s.database.execute("BEGIN IMMEDIATE"));
    for (std::size_t i = 0; i < calls; ++i) {
        const std::string id = s.id_of(s.calls + i);
        must(s.claim.bind_blob(1, id).bind_blob(2, s.hash).run());
        must(s.attempt.bind_blob(1, id).run());
        s.record(id, "arguments", s.arguments);
    }
    must(s.database.execute("COMMIT"));
    must(s.database.execute("BEGIN IMMEDIATE"));
    for (std::size_t i = 0; i < calls; ++i) {
        const std::string id = s.id_of(s.calls + i);
        if (must(s.look.bind_blob(1, id).step())) s.look.reset();
        must(s.result.bind_blob(1, s.outcome).run());
        must(s.settle.bind_blob(1, id).bind(2, s.database.last_insert_id()).bind_blob(3, s.hash).run());
        must(s.end.bind_blob(1, id).run());
        s.record(id, "result", s.result_note);
    }
    must(s.database.execute("COMMIT"));
    s.calls += calls;
    // The log goes into the file as often as the ledger does it.
    if (s.calls % 1'024 < calls)
        sqlite3_wal_checkpoint_v2(s.database.raw(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

}  // namespace callgate::bench
