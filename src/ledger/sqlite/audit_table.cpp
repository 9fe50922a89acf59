#include "ledger/sqlite/audit_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/failpoint.h"
#include "base/ids.h"
#include "base/try.h"
#include "ledger/audit/read_event.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/log_check.h"
#include "ledger/sqlite/statements.h"

namespace callgate::ledger {

namespace {

std::int64_t as_integer(std::uint64_t number) {
    return static_cast<std::int64_t>(
        std::min<std::uint64_t>(number, std::numeric_limits<std::int64_t>::max()));
}

Result<void> ran(Statement& statement) {
    CALLGATE_TRY(statement.run());
    return {};
}

/// What each row gives, in a row.
template <class Row, class Read>
Result<std::vector<Row>> collect(Statement& query, Read read) {
    std::vector<Row> all;
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, query.step());
        if (!found) return all;
        Result<Row> row = read(query);
        if (!row) {
            query.reset();
            return tl::unexpected(std::move(row.error()));
        }
        all.push_back(std::move(*row));
    }
}

}  // namespace

Result<void> AuditTable::prepare() {
    Preparing all(*database_);
    all.add(event_, sql::kInsertEvent);
    all.add(payload_, sql::kInsertPayload);
    all.add(node_, "INSERT INTO audit_nodes(level, place, hash) VALUES(?1, ?2, ?3)");
    all.add(mark_, "INSERT OR REPLACE INTO meta(name, value) VALUES('log_begin', ?1)");
    all.add(checkpoint_, "INSERT OR REPLACE INTO checkpoints(size, note) VALUES(?1, ?2)");
    all.add(erase_, "DELETE FROM audit_payloads WHERE seq IN (SELECT seq FROM audit WHERE call_id = ?1)");
    return all.done();
}

Result<void> AuditTable::append(const ChainedEvent& event, const PreparedEvent& prepared) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_audit_append");
    event_.bind(1, as_integer(event.sequence))
        .bind_blob(2, event.hash)
        .bind_blob(3, event.bytes)
        .bind_blob(4, prepared.call_id);
    prepared.trace_id.empty() ? event_.bind_null(5) : event_.bind(5, prepared.trace_id);
    CALLGATE_TRY(ran(event_));
    for (const StoredPayload& payload : prepared.payloads) {
        payload_.bind(1, as_integer(event.sequence))
            .bind(2, payload.field)
            .bind_blob(3, payload.salt)
            .bind_blob(4, payload.bytes);
        CALLGATE_TRY(ran(payload_));
    }
    CALLGATE_FAILPOINT_RETURN("ledger.after_audit_append");
    return {};
}

Result<void> AuditTable::append(std::span<const TreeNode> nodes) {
    for (const TreeNode& node : nodes) {
        node_.bind(1, node.level).bind(2, as_integer(node.index)).bind_blob(3, node.hash);
        CALLGATE_TRY(ran(node_));
    }
    return {};
}

Result<void> AuditTable::set_mark(const ChainHead& head) {
    const std::string mark = LogMark{head.size(), head.hash}.text();
    return ran(mark_.bind(1, mark));
}

Result<void> AuditTable::add_checkpoint(std::uint64_t size, std::string_view note) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_checkpoint");
    CALLGATE_TRY(ran(checkpoint_.bind(1, as_integer(size)).bind(2, note)));
    CALLGATE_FAILPOINT_RETURN("ledger.after_checkpoint");
    return {};
}

Result<std::int64_t> AuditTable::erase(const CallId& call_id) {
    return erase_.bind_blob(1, call_id).run();
}

Result<std::unique_ptr<SqliteAuditReader>> SqliteAuditReader::make(Database database,
                                                                   const base::SealKey& key) {
    std::unique_ptr<SqliteAuditReader> reader(new SqliteAuditReader(std::move(database), key));
    CALLGATE_TRY_ASSIGN(auto chain,
                        reader->database_.text_of("SELECT value FROM meta WHERE name = 'chain_id'"));
    reader->chain_id_ = std::move(chain);
    CALLGATE_TRY_ASSIGN(reader->segment_, last_segment(reader->database_));
    Preparing all(reader->database_);
    all.add(reader->size_, "SELECT max(seq) FROM audit");
    all.add(reader->rows_, "SELECT seq, event, hash FROM audit WHERE seq >= ?1 AND seq < ?2 ORDER BY seq");
    all.add(reader->hashes_, "SELECT hash FROM audit WHERE seq >= ?1 AND seq < ?2 ORDER BY seq");
    all.add(reader->nodes_,
            "SELECT place, hash FROM audit_nodes WHERE level = ?1 AND place >= ?2 AND place "
            "< ?3 ORDER BY place");
    all.add(reader->payloads_,
            "SELECT seq, field, salt, body, call_id FROM audit_payloads JOIN audit USING(seq) WHERE seq >= "
            "?1 AND seq < ?2 ORDER BY seq, field");
    all.add(reader->checkpoints_,
            "SELECT note, size FROM checkpoints WHERE size > ?1 ORDER BY size LIMIT ?2");
    all.add(reader->latest_, "SELECT note FROM checkpoints ORDER BY size DESC LIMIT 1");
    CALLGATE_TRY(all.done());
    return reader;
}

Result<std::uint64_t> SqliteAuditReader::size() {
    CALLGATE_TRY_ASSIGN(auto found, size_.step());
    const auto size = found ? static_cast<std::uint64_t>(size_.integer(0)) : 0;
    size_.reset();
    return std::max(size, archived_events());
}

Result<std::vector<AuditRow>> SqliteAuditReader::rows(std::uint64_t from, std::uint64_t to) {
    rows_.bind(1, as_integer(from)).bind(2, as_integer(to));
    return collect<AuditRow>(rows_, [](const Statement& row) -> Result<AuditRow> {
        AuditRow out;
        out.sequence = static_cast<std::uint64_t>(row.integer(0));
        out.bytes = row.blob(1);
        if (!copy_bytes(row.blob(2), out.hash)) return damaged_record("an audit event");
        return out;
    });
}

// Of the archived ones, those of the last tile and the last of all are still known: more is needed neither to
// go on with the tree nor to prove what comes after.
Result<std::vector<Sha256Digest>> SqliteAuditReader::hashes(std::uint64_t from, std::uint64_t to) {
    std::vector<Sha256Digest> all;
    const std::uint64_t archived = archived_events();
    if (from <= archived && from < to) {
        const std::uint64_t known = archived - segment_->tail.size();
        for (; from <= archived && from < to; ++from) {
            if (from > known)
                all.push_back(segment_->tail[static_cast<std::size_t>(from - known - 1)]);
            else if (from == archived)
                all.push_back(segment_->head.hash);
            else
                return all;
        }
    }
    hashes_.bind(1, as_integer(from)).bind(2, as_integer(to));
    auto stored = collect<Sha256Digest>(hashes_, [](const Statement& row) -> Result<Sha256Digest> {
        Sha256Digest out{};
        if (!copy_bytes(row.blob(0), out)) return damaged_record("an audit event");
        return out;
    });
    if (!stored || all.empty()) return stored;
    all.insert(all.end(), stored->begin(), stored->end());
    return all;
}

Result<std::vector<TreeNode>> SqliteAuditReader::nodes(int level, std::uint64_t from, std::uint64_t to) {
    nodes_.bind(1, level).bind(2, as_integer(from)).bind(3, as_integer(to));
    return collect<TreeNode>(nodes_, [level](const Statement& row) -> Result<TreeNode> {
        TreeNode out;
        out.level = level;
        out.index = static_cast<std::uint64_t>(row.integer(0));
        if (!copy_bytes(row.blob(1), out.hash)) return damaged_record("a node of the audit's tree");
        return out;
    });
}

Result<std::vector<PayloadRow>> SqliteAuditReader::payloads(std::uint64_t from, std::uint64_t to) {
    payloads_.bind(1, as_integer(from)).bind(2, as_integer(to));
    return collect<PayloadRow>(payloads_, [this](const Statement& row) -> Result<PayloadRow> {
        PayloadRow out;
        out.sequence = static_cast<std::uint64_t>(row.integer(0));
        out.payload.field = row.text(1);
        CallId call_id{};
        if (!copy_bytes(row.blob(4), call_id)) return damaged_record("an audit event");
        if (sealed_) {
            if (!copy_bytes(row.blob(2), out.payload.salt)) return damaged_record("an audit payload");
            out.payload.bytes = row.blob(3);
            out.payload.sealed = true;
            return out;
        }
        auto plain = unseal_payload(*key_, call_id, out.payload.field, row.blob(3));
        if (!plain || !copy_bytes(row.blob(2), out.payload.salt)) return damaged_record("an audit payload");
        out.payload.bytes = std::move(*plain);
        return out;
    });
}

Result<std::vector<std::string>> SqliteAuditReader::checkpoints(std::uint64_t& place, std::size_t limit) {
    checkpoints_.bind(1, as_integer(place)).bind(2, as_integer(limit));
    return collect<std::string>(checkpoints_, [&](const Statement& row) -> Result<std::string> {
        place = static_cast<std::uint64_t>(row.integer(1));
        return std::string(row.text(0));
    });
}

Result<std::optional<SignedHead>> SqliteAuditReader::archived() {
    return segment_ ? std::optional(segment_->head) : std::nullopt;
}

Result<std::optional<std::string>> SqliteAuditReader::latest_checkpoint() {
    CALLGATE_TRY_ASSIGN(auto all,
                        collect<std::string>(latest_, [](const Statement& row) -> Result<std::string> {
                            return std::string(row.text(0));
                        }));
    if (all.empty()) return std::nullopt;
    return std::optional(std::move(all.front()));
}

Result<std::vector<AuditEvent>> SqliteAuditReader::events(const AuditSelection& which) {
    std::string sql = "SELECT seq, event FROM audit WHERE seq >= ?1 AND seq < ?2";
    std::optional<CallId> call = which.call;
    if (!which.trace.empty()) {
        // An event without a trace of its own is found by its call.
        const auto id = base::parse_uuid(which.trace);
        sql += id ? " AND (trace = ?4 OR (call_id = ?5 AND trace IS NULL))" : " AND trace = ?4";
        if (id) call = id->bytes;
    } else if (call) {
        sql += " AND call_id = ?5";
    }
    sql += " ORDER BY seq LIMIT ?3";
    CALLGATE_TRY_ASSIGN(auto query, database_.prepare(sql));
    query.bind(1, as_integer(which.from)).bind(2, as_integer(which.to)).bind(3, as_integer(which.limit));
    if (!which.trace.empty()) query.bind(4, which.trace);
    if (call) query.bind_blob(5, *call);
    return collect<AuditEvent>(query, [this](const Statement& row) -> Result<AuditEvent> {
        const auto sequence = static_cast<std::uint64_t>(row.integer(0));
        CALLGATE_TRY_ASSIGN(auto kept, payloads(sequence, sequence + 1));
        std::vector<StoredPayload> of_event;
        for (PayloadRow& payload : kept) of_event.push_back(std::move(payload.payload));
        return read_event(row.blob(1), of_event);
    });
}

}  // namespace callgate::ledger
