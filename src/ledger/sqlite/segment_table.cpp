#include "ledger/sqlite/segment_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/try.h"
#include "ledger/sqlite/columns.h"
#include "tool/iso_time.h"

namespace callgate::ledger {

namespace {

constexpr std::string_view kSelectSegments =
    "SELECT first, last, hash, tail, path, note, key, file, bytes, sha256, archived_at FROM audit_segments "
    "ORDER BY last";

std::string joined(const std::vector<Sha256Digest>& hashes) {
    std::string out;
    out.reserve(hashes.size() * sizeof(Sha256Digest));
    for (const Sha256Digest& hash : hashes) out += bytes_of(hash);
    return out;
}

bool taken_apart(std::string_view bytes, std::vector<Sha256Digest>& hashes) {
    constexpr std::size_t kSize = sizeof(Sha256Digest);
    if (bytes.size() % kSize != 0) return false;
    for (; !bytes.empty(); bytes.remove_prefix(kSize))
        copy_bytes(bytes.substr(0, kSize), hashes.emplace_back());
    return true;
}

Result<SegmentRow> read(const Statement& row) {
    SegmentRow out;
    out.first = static_cast<std::uint64_t>(row.integer(0));
    out.last = static_cast<std::uint64_t>(row.integer(1));
    out.head.note = row.text(5);
    out.head.key = row.text(6);
    out.file = row.text(7);
    out.bytes = static_cast<std::uint64_t>(row.integer(8));
    out.archived_at = time_of(row.integer(10));
    if (!copy_bytes(row.blob(2), out.head.hash) || !taken_apart(row.blob(3), out.tail) ||
        !taken_apart(row.blob(4), out.head.path) || !copy_bytes(row.blob(9), out.sha256))
        return damaged_record("a segment of the audit");
    return out;
}

Result<std::int64_t> changed_by(Database& database, std::string_view sql, std::int64_t a, std::int64_t b) {
    CALLGATE_TRY_ASSIGN(auto statement, database.prepare(sql));
    return statement.bind(1, a).bind(2, b).run();
}

}  // namespace

Object SegmentRow::to_json() const {
    return {{"first", first},
            {"last", last},
            {"file", file},
            {"bytes", bytes},
            {"sha256", base::to_hex(sha256)},
            {"archived_at", iso_utc(archived_at)},
            {"checkpoint", head.note}};
}

Result<std::vector<SegmentRow>> all_segments(Database& database) {
    CALLGATE_TRY_ASSIGN(auto query, database.prepare(kSelectSegments));
    std::vector<SegmentRow> all;
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, query.step());
        if (!found) return all;
        CALLGATE_TRY_ASSIGN(auto row, read(query));
        all.push_back(std::move(row));
    }
}

Result<std::optional<SegmentRow>> last_segment(Database& database) {
    CALLGATE_TRY_ASSIGN(auto query, database.prepare(fmt::format("{} DESC LIMIT 1", kSelectSegments)));
    CALLGATE_TRY_ASSIGN(auto found, query.step());
    if (!found) return std::nullopt;
    CALLGATE_TRY_ASSIGN(auto row, read(query));
    return std::optional(std::move(row));
}

Result<void> add_segment(Database& database, const SegmentRow& segment) {
    CALLGATE_TRY_ASSIGN(
        auto put, database.prepare("INSERT INTO audit_segments(first, last, hash, tail, path, note, key, "
                                   "file, bytes, sha256, archived_at) "
                                   "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"));
    const std::string tail = joined(segment.tail);
    const std::string path = joined(segment.head.path);
    CALLGATE_TRY(put.bind(1, static_cast<std::int64_t>(segment.first))
                     .bind(2, static_cast<std::int64_t>(segment.last))
                     .bind_blob(3, segment.head.hash)
                     .bind_blob(4, tail)
                     .bind_blob(5, path)
                     .bind(6, segment.head.note)
                     .bind(7, segment.head.key)
                     .bind(8, segment.file)
                     .bind(9, static_cast<std::int64_t>(segment.bytes))
                     .bind_blob(10, segment.sha256)
                     .bind(11, micros(segment.archived_at))
                     .run());
    return {};
}

Result<std::int64_t> drop_archived(Database& database, std::size_t limit) {
    auto archived = database.integer_of("SELECT max(last) FROM audit_segments");
    if (!archived || *archived == 0) return archived;
    CALLGATE_TRY_ASSIGN(auto first, database.integer_of("SELECT min(seq) FROM audit"));
    std::int64_t gone = 0;
    if (first != 0 && first <= *archived) {
        const std::int64_t last = std::min(*archived, first + static_cast<std::int64_t>(limit) - 1);
        for (const std::string_view sql : {"DELETE FROM audit_payloads WHERE seq >= ?1 AND seq <= ?2",
                                           "DELETE FROM audit WHERE seq >= ?1 AND seq <= ?2"}) {
            CALLGATE_TRY_ASSIGN(auto done, changed_by(database, sql, first, last));
            gone += done;
        }
    }
    CALLGATE_TRY_ASSIGN(auto notes, changed_by(database,
                                               "DELETE FROM checkpoints WHERE size IN "
                                               "(SELECT size FROM checkpoints WHERE size < "
                                               "?1 ORDER BY size LIMIT ?2)",
                                               *archived, static_cast<std::int64_t>(limit)));
    return gone + notes;
}

Result<FreePages> free_pages(Database& database) {
    CALLGATE_TRY_ASSIGN(const auto free, database.integer_of("PRAGMA freelist_count"));
    CALLGATE_TRY_ASSIGN(const auto all, database.integer_of("PRAGMA page_count"));
    CALLGATE_TRY_ASSIGN(const auto mode, database.integer_of("PRAGMA auto_vacuum"));
    return FreePages{free, all, mode == 2};
}

Result<void> shrink(Database& database, std::size_t pages) {
    return database.execute(fmt::format("PRAGMA incremental_vacuum({})", pages).c_str());
}

}  // namespace callgate::ledger
