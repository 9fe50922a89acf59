#include "bare_sql.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "ledger/sqlite/database.h"
#include "ledger/sqlite/schema.h"
#include "ledger/sqlite/statements.h"
#include "ledger/sqlite/writer.h"

namespace callgate::bench {

namespace {

using namespace ledger::sql;
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

constexpr std::int64_t kOwner = 1'048'577;
constexpr std::int64_t kNow = 1'794'752'467'000'000;
constexpr std::int64_t kDay = 86'400'000'000;

}  // namespace

struct BareSql::State {
    Database database;
    Statement begin, commit, claim, attempt, event, payload, look, result, settle, end;
    std::uint64_t calls = 0;
    std::int64_t events = 0;
    int log_pages = 0;
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
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
        "PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384;"));
    must(ledger::migrate(s.database));
    sqlite3_wal_hook(
        s.database.raw(),
        [](void* pages, sqlite3*, const char*, int count) {
            *static_cast<int*>(pages) = count;
            return SQLITE_OK;
        },
        &s.log_pages);
    s.begin = must(s.database.prepare("BEGIN IMMEDIATE"));
    s.commit = must(s.database.prepare("COMMIT"));
    s.claim = must(s.database.prepare(kInsertCall));
    s.attempt = must(s.database.prepare(kInsertAttempt));
    s.event = must(s.database.prepare(kInsertEvent));
    s.payload = must(s.database.prepare(kInsertPayload));
    s.look = must(s.database.prepare(select_calls("WHERE call_id = ?1")));
    s.result = must(s.database.prepare(kInsertResult));
    s.settle = must(s.database.prepare(kStoreCall));
    s.end = must(s.database.prepare(kEndAttempt));
}

BareSql::~BareSql() = default;

void BareSql::batch(std::size_t calls) {
    State& s = *state_;
    must(s.begin.run());
    for (std::size_t i = 0; i < calls; ++i) {
        const std::string id = s.id_of(s.calls + i);
        must(s.claim.bind_blob(1, id)
                 .bind_null(2)
                 .bind(3, "")
                 .bind(4, "local")
                 .bind(5, "add")
                 .bind(6, "")
                 .bind_blob(7, s.hash)
                 .bind(8, "unsafe")
                 .bind(9, "dispatched")
                 .bind(10, 1)
                 .bind(11, kOwner)
                 .bind(12, 1)
                 .bind_blob(13, s.hash)
                 .bind(14, 1)
                 .bind(15, "")
                 .bind(16, "call")
                 .bind_null(17)
                 .bind(18, kNow)
                 .run());
        must(s.attempt.bind_blob(1, id).bind(2, 1).bind(3, 1).bind(4, kOwner).bind(5, kNow).run());
        s.record(id, "arguments", s.arguments);
    }
    must(s.commit.run());
    must(s.begin.run());
    for (std::size_t i = 0; i < calls; ++i) {
        const std::string id = s.id_of(s.calls + i);
        if (must(s.look.bind_blob(1, id).step())) s.look.reset();
        must(s.result.bind_blob(1, s.outcome).run());
        must(s.settle.bind_blob(1, id)
                 .bind(2, "succeeded")
                 .bind(3, 1)
                 .bind(4, kOwner)
                 .bind(5, 0)
                 .bind(6, kNow)
                 .bind(7, kNow + kDay)
                 .bind(8, s.database.last_insert_id())
                 .bind_blob(9, s.hash)
                 .bind(10, 0)
                 .bind(11, 1)
                 .bind(12, 1)
                 .bind(13, "dispatched")
                 .run());
        must(s.end.bind_blob(1, id).bind(2, 1).bind(3, kNow).bind(4, "succeeded").run());
        s.record(id, "result", s.result_note);
    }
    must(s.commit.run());
    s.calls += calls;
    // The log goes into the file when it is as long as the busy ledger lets it become.
    if (s.log_pages < ledger::WriterOptions().checkpoint_pages_max) return;
    sqlite3_wal_checkpoint_v2(s.database.raw(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    s.log_pages = 0;
}

}  // namespace callgate::bench
