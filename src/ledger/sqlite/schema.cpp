#include "ledger/sqlite/schema.h"

#include <string>

#include <fmt/format.h>

#include "base/failpoint.h"
#include "base/try.h"
#include "ledger/sqlite/refused.h"

namespace callgate::ledger {

namespace {

constexpr const char* kVersion1 = R"sql(
CREATE TABLE meta(
    name TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per key, or per call where there is none. key_hash is null where there is no key, or where the key
-- is free again.
CREATE TABLE calls(
    call_id BLOB PRIMARY KEY,
    key_hash BLOB,
    tenant TEXT NOT NULL,
    principal TEXT NOT NULL,
    tool TEXT NOT NULL,
    idem_key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    effect_class TEXT NOT NULL,
    state TEXT NOT NULL CHECK(state = 'claimed' OR state = 'dispatched' OR state = 'succeeded' OR
                              state = 'failed' OR state = 'reconciling' OR state = 'unknown' OR
                              state = 'cancelled' OR state = 'not_applied'),
    epoch INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    maybe_applied INTEGER NOT NULL,
    tool_def_hash BLOB NOT NULL,
    policy_rev INTEGER NOT NULL,
    approval_id TEXT NOT NULL,
    action TEXT NOT NULL,
    arguments BLOB,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    expires_at INTEGER,
    result_ref INTEGER,
    result_sha256 BLOB
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX calls_by_key ON calls(key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX calls_open ON calls(call_id) WHERE state = 'claimed' OR state = 'dispatched' OR
    state = 'reconciling' OR state = 'unknown';
CREATE INDEX calls_expiry ON calls(expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE attempts(
    call_id BLOB NOT NULL,
    n INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    end_class TEXT,
    PRIMARY KEY(call_id, n)
) STRICT, WITHOUT ROWID;

-- Outcomes for replays, sealed.
CREATE TABLE results(
    id INTEGER PRIMARY KEY,
    outcome BLOB NOT NULL
) STRICT;

-- Keys whose outcome is gone: they are refused, never run again.
CREATE TABLE tombstones(
    key_hash BLOB PRIMARY KEY,
    fingerprint BLOB NOT NULL,
    state TEXT NOT NULL,
    result_sha256 BLOB,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_until ON tombstones(until);

-- What an approval is about is sealed in `body`; the columns are what it is found and judged by.
CREATE TABLE approvals(
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    requester TEXT NOT NULL,
    tool TEXT NOT NULL,
    digest TEXT NOT NULL,
    request_hash BLOB NOT NULL,
    state TEXT NOT NULL CHECK(state = 'pending' OR state = 'approved' OR state = 'denied' OR
                              state = 'expired' OR state = 'consumed' OR state = 'revoked'),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    consumed_by TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX approvals_by_request ON approvals(request_hash, n);
CREATE INDEX approvals_by_state ON approvals(state, n);
CREATE INDEX approvals_by_expiry ON approvals(expires_at);

CREATE TABLE votes(
    approval_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    approver TEXT NOT NULL,
    approve INTEGER NOT NULL,
    assurance TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY(approval_id, n)
) STRICT, WITHOUT ROWID;

-- Which calls asked for an approval, or joined one that was open.
CREATE TABLE approval_calls(
    call_id TEXT PRIMARY KEY,
    approval_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX approval_calls_by_approval ON approval_calls(approval_id);

CREATE TABLE audit(
    seq INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    event BLOB NOT NULL,
    call_id BLOB NOT NULL,
    trace TEXT
) STRICT;
CREATE INDEX audit_by_call ON audit(call_id);
CREATE INDEX audit_by_trace ON audit(trace) WHERE trace IS NOT NULL;

-- What may be erased without breaking the chain, sealed; the event has a salted hash of it.
CREATE TABLE audit_payloads(
    seq INTEGER NOT NULL,
    field TEXT NOT NULL,
    salt BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY(seq, field)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_nodes(
    level INTEGER NOT NULL,
    place INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY(level, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints(
    size INTEGER PRIMARY KEY,
    note TEXT NOT NULL
) STRICT;
)sql";

// The call that took another over and goes on with it.
constexpr const char* kVersion2 = "ALTER TABLE calls ADD COLUMN runs_as BLOB;";

// When a call began, by the clock that keys live by.
constexpr const char* kVersion3 = "ALTER TABLE calls ADD COLUMN lived_at INTEGER;";

// Which events are archived, where, and how the log goes on after them (segment_table.h).
constexpr const char* kVersion4 = R"sql(
CREATE TABLE audit_segments(
    last INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,
    hash BLOB NOT NULL,
    tail BLOB NOT NULL,
    path BLOB NOT NULL,
    note TEXT NOT NULL,
    key TEXT NOT NULL,
    file TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    archived_at INTEGER NOT NULL
) STRICT;
)sql";

// What one principal or tenant has waiting for a decision is counted whenever another one is asked for.
constexpr const char* kVersion5 =
    "CREATE INDEX IF NOT EXISTS approvals_open ON approvals(tenant, requester, expires_at) "
    "WHERE state IN ('pending', 'approved');";

// An approval whose place another took: a state more, which its CHECK must know. And what makes approvals and
// votes evidence (vote_mac.h): earlier ones have none, so they cannot be used any more.
constexpr const char* kVersion6 = R"sql(
CREATE TABLE approvals_6(
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    requester TEXT NOT NULL,
    tool TEXT NOT NULL,
    digest TEXT NOT NULL,
    request_hash BLOB NOT NULL,
    state TEXT NOT NULL CHECK(state = 'pending' OR state = 'approved' OR state = 'denied' OR
                              state = 'expired' OR state = 'consumed' OR state = 'revoked' OR
                              state = 'superseded'),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    consumed_by TEXT NOT NULL,
    body BLOB NOT NULL,
    superseded_by TEXT NOT NULL DEFAULT '',
    seq INTEGER,
    mac BLOB
) STRICT;
INSERT INTO approvals_6(n, id, tenant, requester, tool, digest, request_hash, state, created_at, expires_at,
    consumed_by, body) SELECT n, id, tenant, requester, tool, digest, request_hash, state, created_at,
    expires_at, consumed_by, body FROM approvals;
DROP TABLE approvals;
ALTER TABLE approvals_6 RENAME TO approvals;
CREATE INDEX approvals_by_request ON approvals(request_hash, n);
CREATE INDEX approvals_by_state ON approvals(state, n);
CREATE INDEX approvals_by_expiry ON approvals(expires_at);
CREATE INDEX approvals_open ON approvals(tenant, requester, expires_at)
    WHERE state IN ('pending', 'approved');
ALTER TABLE votes ADD COLUMN event_seq INTEGER;
ALTER TABLE votes ADD COLUMN event_hash BLOB;
ALTER TABLE votes ADD COLUMN mac BLOB;
)sql";

// Who cast a vote by number, the signature it came with, and the operators' keys.
constexpr const char* kVersion7 = R"sql(
ALTER TABLE votes ADD COLUMN uid INTEGER;
ALTER TABLE votes ADD COLUMN key TEXT;
ALTER TABLE votes ADD COLUMN signature TEXT;
CREATE TABLE operators(
    uid INTEGER PRIMARY KEY,
    vkey TEXT NOT NULL,
    since INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    mac BLOB NOT NULL
) STRICT;
)sql";

// What operators accepted as restored, and until when keys that are not known are held after it. And calls
// that such a ledger had under way, or that are known only from an export: what became of them in the time
// that was lost is for a person to say.
constexpr const char* kVersion8 = R"sql(
CREATE TABLE restores(
    n INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    events INTEGER NOT NULL,
    gap_until INTEGER NOT NULL
) STRICT;
ALTER TABLE calls ADD COLUMN restored INTEGER;
CREATE INDEX calls_restored ON calls(fingerprint) WHERE restored IS NOT NULL;
)sql";

constexpr Migration kMigrations[] = {{1, kVersion1}, {2, kVersion2}, {3, kVersion3}, {4, kVersion4},
                                     {5, kVersion5}, {6, kVersion6}, {7, kVersion7}, {8, kVersion8}};

bool is_sql_error(const Error& error) {
    const auto* reason = error.details.if_contains("reason");
    return reason != nullptr && *reason == "sqlite";
}

// What a version adds is there already, or what it changes is not.
tl::unexpected<Error> does_not_fit(const Migration& step) {
    return refused("tampered",
                   fmt::format("The ledger's file says that it is of version {}, and its tables are not: the "
                               "version, or the tables, were changed by another program. Restore the newest "
                               "copy; nothing was changed.",
                               step.version - 1));
}

using AlsoDone = std::function<Result<void>(int version)>;

Result<void> apply(Database& database, const Migration& step, const AlsoDone& also) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_migration");
    const std::string numbers =
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, step.version);
    Result<void> done = database.execute("BEGIN IMMEDIATE");
    if (done) done = database.execute(step.sql);
    if (!done && database.in_transaction() && is_sql_error(done.error())) done = does_not_fit(step);
    if (done) done = database.execute(numbers.c_str());
    if (done && also) done = also(step.version);
    if (done) {
        done = []() -> Result<void> {
            CALLGATE_FAILPOINT_RETURN("ledger.in_migration");
            return {};
        }();
    }
    if (done) done = database.execute("COMMIT");
    if (!done && database.in_transaction()) (void)database.execute("ROLLBACK");
    if (done) CALLGATE_FAILPOINT_RETURN("ledger.after_migration");
    return done;
}

}  // namespace

std::span<const Migration> ledger_migrations() {
    return kMigrations;
}

Result<void> check_identity(Database& database, std::span<const Migration> migrations) {
    CALLGATE_TRY_ASSIGN(const auto version, database.integer_of("PRAGMA user_version"));
    CALLGATE_TRY_ASSIGN(const auto application, database.integer_of("PRAGMA application_id"));
    CALLGATE_TRY_ASSIGN(const auto tables, database.integer_of("SELECT count(*) FROM sqlite_schema"));
    const bool empty = tables == 0 && version == 0 && application == 0;
    if (!empty && application != kApplicationId) {
        return refused("foreign_database",
                       "The file is a database of another program, not a ledger. Name another directory for "
                       "the ledger; this file was not touched.");
    }
    if (!empty && version < 1) {
        return refused("tampered", fmt::format("The ledger's version was changed in the file: it says {}. "
                                               "Restore the newest copy; nothing was changed.",
                                               version));
    }
    const int newest = migrations.empty() ? 0 : migrations.back().version;
    if (version > newest) {
        return refused(
            "newer_schema",
            fmt::format(
                "The ledger is of version {}, and this program knows versions up to {}. Use the newer "
                "program that wrote it; the file was not touched.",
                version, newest));
    }
    return {};
}

Result<void> migrate(Database& database, std::span<const Migration> migrations, const AlsoDone& also) {
    CALLGATE_TRY(check_identity(database, migrations));
    CALLGATE_TRY_ASSIGN(const auto version, database.integer_of("PRAGMA user_version"));
    for (const Migration& step : migrations) {
        if (step.version <= version) continue;
        CALLGATE_TRY(apply(database, step, also));
    }
    return {};
}

}  // namespace callgate::ledger
