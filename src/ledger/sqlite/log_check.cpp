#include "ledger/sqlite/log_check.h"

#include <charconv>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/try.h"
#include "ledger/audit/chain.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/segment_table.h"

namespace callgate::ledger {

namespace {

tl::unexpected<Error> foreign_log() {
    return fail(ErrorCode::ledger_unavailable,
                "The log ledger.db-wal is not the one that belongs to ledger.db: it is of another ledger, or "
                "of another time of this one. Restore both together, or move the log away if the file is "
                "known to be whole without it. Nothing was changed.",
                {{"reason", "foreign_log"}});
}

Result<std::optional<LogMark>> read_mark(Database& database) {
    CALLGATE_TRY_ASSIGN(auto text, database.text_of("SELECT value FROM meta WHERE name = 'log_begin'"));
    return LogMark::read(text);
}

Result<std::optional<SegmentRow>> newest_segment(Database& database) {
    CALLGATE_TRY_ASSIGN(
        auto known, database.integer_of("SELECT count(*) FROM sqlite_schema WHERE name = 'audit_segments'"));
    if (known == 0) return std::optional<SegmentRow>();
    return last_segment(database);
}

Result<std::optional<base::Sha256Digest>> hash_of(Database& database, std::uint64_t event) {
    CALLGATE_TRY_ASSIGN(auto row, database.prepare("SELECT hash FROM audit WHERE seq = ?1"));
    CALLGATE_TRY_ASSIGN(auto found, row.bind(1, static_cast<std::int64_t>(event)).step());
    if (!found) return std::optional<base::Sha256Digest>();
    base::Sha256Digest hash{};
    if (!copy_bytes(row.blob(0), hash)) return damaged_record("an audit event");
    return hash;
}

// What the event before it left: in the table, in the head of what was archived, or the chain's beginning.
Result<std::optional<base::Sha256Digest>> hash_before(Database& database, std::uint64_t event,
                                                      std::string_view chain_id) {
    if (event == 1) return std::optional(empty_head(chain_id).hash);
    auto there = hash_of(database, event - 1);
    if (!there || *there) return there;
    CALLGATE_TRY_ASSIGN(auto archived, newest_segment(database));
    if (!archived || archived->last != event - 1) return std::optional<base::Sha256Digest>();
    return std::optional(archived->head.hash);
}

// Only what proves itself is taken from a file that a power cut may have left between two states.
Result<FileAlone> look(Database& database) {
    FileAlone alone;
    CALLGATE_TRY_ASSIGN(alone.chain_id, database.text_of("SELECT value FROM meta WHERE name = 'chain_id'"));
    CALLGATE_TRY_ASSIGN(alone.mark, read_mark(database));
    if (alone.mark && alone.mark->events != 0) {
        CALLGATE_TRY_ASSIGN(auto marked, hash_of(database, alone.mark->events));
        if (marked && *marked != alone.mark->hash) alone.mark.reset();
    }
    CALLGATE_TRY_ASSIGN(auto last,
                        database.prepare("SELECT seq, hash, event FROM audit ORDER BY seq DESC LIMIT 1"));
    CALLGATE_TRY_ASSIGN(auto found, last.step());
    if (!found) return alone;
    alone.events = static_cast<std::uint64_t>(last.integer(0));
    if (!copy_bytes(last.blob(1), alone.last)) return damaged_record("an audit event");
    CALLGATE_TRY_ASSIGN(auto before, hash_before(database, alone.events, alone.chain_id));
    base::Sha256 hasher;
    if (!before || next_hash(hasher, *before, last.blob(2)) != alone.last)
        return damaged_record("an audit event");
    return alone;
}

}  // namespace

std::string LogMark::text() const {
    return fmt::format("{} {}", events, base::hex_encode(bytes_of(hash)));
}

std::optional<LogMark> LogMark::read(std::string_view text) {
    LogMark mark;
    const char* const end = text.data() + text.size();
    const auto [space, wrong] = std::from_chars(text.data(), end, mark.events);
    if (wrong != std::errc() || space == end || *space != ' ') return std::nullopt;
    const auto hash = base::hex_decode({space + 1, end});
    if (!hash || !copy_bytes(*hash, mark.hash)) return std::nullopt;
    return mark;
}

std::optional<FileAlone> look_at_file_alone(const std::string& path, const char* vfs) {
    auto database = Database::open_alone(path, vfs);
    if (!database) return std::nullopt;
    auto alone = look(*database);
    if (!alone || alone->chain_id.empty()) return std::nullopt;
    return std::move(*alone);
}

Result<void> check_log(const FileAlone& alone, Database& with_log) {
    CALLGATE_TRY_ASSIGN(auto chain, with_log.text_of("SELECT value FROM meta WHERE name = 'chain_id'"));
    CALLGATE_TRY_ASSIGN(auto mark, read_mark(with_log));
    // A log that the file has had before is over: the file has the mark of a later one.
    if (alone.mark && (!mark || mark->events < alone.mark->events)) return foreign_log();
    // What the log has archived is not there any more: it goes on from the head that the segment left.
    CALLGATE_TRY_ASSIGN(auto newest, newest_segment(with_log));
    const std::optional<SegmentRow> archived = std::move(newest);
    const bool is_there = alone.events != 0 && !(archived && archived->last >= alone.events);
    // An event that both have is of both chains; without one, their names must do.
    if (!is_there && chain != alone.chain_id) return foreign_log();
    std::uint64_t known = alone.events;
    base::Sha256Digest last = known == 0 ? empty_head(alone.chain_id).hash : alone.last;
    if (archived && archived->last >= known) {
        known = archived->last;
        last = archived->head.hash;
    }
    CALLGATE_TRY_ASSIGN(auto events,
                        with_log.prepare("SELECT seq, hash, event FROM audit WHERE seq >= ?1 ORDER BY seq"));
    events.bind(1, static_cast<std::int64_t>(is_there ? known : known + 1));
    base::Sha256 hasher;
    for (std::uint64_t number = is_there ? known : known + 1;; ++number) {
        CALLGATE_TRY_ASSIGN(auto found, events.step());
        if (!found) {
            if (number <= known) return foreign_log();
            break;
        }
        base::Sha256Digest hash{};
        if (!copy_bytes(events.blob(1), hash)) return damaged_record("an audit event");
        if (static_cast<std::uint64_t>(events.integer(0)) != number) return foreign_log();
        if (number != known) last = next_hash(hasher, last, events.blob(2));
        if (hash != last) return foreign_log();
    }
    if (!mark || mark->events == 0) return {};
    if (archived && mark->events < archived->last) return {};
    if (archived && mark->events == archived->last)
        return mark->hash == archived->head.hash ? Result<void>() : foreign_log();
    CALLGATE_TRY_ASSIGN(auto marked, hash_of(with_log, mark->events));
    return marked && *marked == mark->hash ? Result<void>() : foreign_log();
}

Result<void> blame_log(Result<void> read) {
    const auto* reason = read ? nullptr : read.error().details.if_contains("reason");
    if (reason != nullptr && *reason == "damaged") return foreign_log();
    return read;
}

}  // namespace callgate::ledger
