// The audit kept for years: its beginning becomes a segment, a file that is verified before anything goes.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/failpoint.h"
#include "base/try.h"
#include "ledger/audit/anchor.h"
#include "ledger/audit/event_view.h"
#include "ledger/audit/export.h"
#include "ledger/audit/proof.h"
#include "ledger/audit/verify.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/engine.h"
#include "ledger/sqlite/segment_table.h"
#include "os/files.h"
#include "os/system_error.h"

namespace callgate::ledger {

namespace {

constexpr std::size_t kDroppedAtOnce = 2'000;
constexpr std::size_t kPagesAtOnce = 2'000;
constexpr std::size_t kPiece = 1u << 20;

tl::unexpected<Error> archive_called_off() {
    return fail(ErrorCode::cancelled, "The archiving was called off. What was archived before stays so.",
                {{"reason", "called_off"}});
}

tl::unexpected<Error> unwritable(Error why, const std::string& path) {
    const bool full = os::is_disk_full(os::error_number(why));
    why.code = ErrorCode::config_error;
    why.details["reason"] = full ? "disk_full" : "not_writable";
    why.details["path"] = path;
    return tl::unexpected(std::move(why));
}

/// Writes a segment, and hears of every event as it goes.
class SegmentWriter final : public AuditVisitor {
public:
    SegmentWriter(os::FileOps& files, os::Fd file, const WorkProgress& progress, std::uint64_t first,
                  std::uint64_t last)
        : files_(files), file_(std::move(file)), progress_(progress), first_(first), last_(last) {}

    bool put(std::string_view line) {
        block_ += line;
        return block_.size() < kPiece || write_block();
    }
    bool event(const AuditRow& row, std::span<const StoredPayload> payloads) override {
        if (row.sequence % 1'024 == 0 && progress_ && !progress_(row.sequence - first_, last_ - first_ + 1)) {
            stopped = true;
            return false;
        }
        return put(event_line(row.bytes, row.hash, payloads));
    }
    bool checkpoint(std::string_view note) override { return put(checkpoint_line(note)); }

    Result<void> finish() {
        if (!stopped && !error && write_block()) {
            if (auto synced = files_.fsync(file_); !synced) error = std::move(synced.error());
        }
        if (stopped) return archive_called_off();
        if (error) return tl::unexpected(*error);
        return {};
    }

    bool stopped = false;
    std::optional<Error> error;

private:
    bool write_block() {
        auto written = os::write_all(files_, file_, block_);
        block_.clear();
        if (!written) error = std::move(written.error());
        return !error;
    }

    os::FileOps& files_;
    os::Fd file_;
    const WorkProgress& progress_;
    const std::uint64_t first_, last_;
    std::string block_;
};

Result<void> each_piece(os::FileOps& files, const std::string& path,
                        const std::function<void(std::string_view)>& take) {
    CALLGATE_TRY_ASSIGN(auto file, files.open(path, os::OpenMode::read));
    std::string block(kPiece, '\0');
    for (;;) {
        CALLGATE_TRY_ASSIGN(const auto size, os::uninterrupted([&] { return files.read(file, block); }));
        if (size == 0) return {};
        take(std::string_view(block).substr(0, size));
    }
}

/// What was written, read again from the disk.
struct ReadBack {
    VerifyReport report;
    std::uint64_t bytes = 0;
    Sha256Digest sha256{};
};

Result<ReadBack> read_back(os::FileOps& files, const std::string& path, const std::string& chain_id) {
    VerifyOptions options;
    options.chain_id = chain_id;
    ExportVerifier verifier(std::move(options));
    base::Sha256 hasher;
    ReadBack out;
    CALLGATE_TRY(each_piece(files, path, [&](std::string_view piece) {
        hasher.update(piece);
        out.bytes += piece.size();
        verifier.feed(piece);
    }));
    out.report = verifier.finish();
    out.sha256 = hasher.finish();
    return out;
}

/// Its own name, or one with a number behind it: what another past of this ledger has archived is not
/// replaced. A file that is the same, byte for byte, is what an archiving that did not get further has left.
Result<std::string> free_name(os::FileOps& files, const SegmentRow& segment) {
    const std::string stem = segment.file.substr(0, segment.file.size() - std::string_view(".jsonl").size());
    for (int number = 1;; ++number) {
        std::string name = number == 1 ? segment.file : fmt::format("{}-{}.jsonl", stem, number);
        base::Sha256 hasher;
        auto read = each_piece(files, name, [&](std::string_view piece) { hasher.update(piece); });
        if (!read && os::error_number(read.error()) == ENOENT) return name;
        if (!read) return tl::unexpected(std::move(read.error()));
        if (hasher.finish() == segment.sha256) return name;
    }
}

/// The last event that is older than `before`, by what the events themselves say; times may be a little out
/// of order, which does no harm here.
Result<std::uint64_t> last_older(AuditReader& reader, std::uint64_t from, std::uint64_t to,
                                 base::WallTime before) {
    while (from < to) {
        const std::uint64_t middle = from + (to - from + 1) / 2;
        CALLGATE_TRY_ASSIGN(auto rows, reader.rows(middle, middle + 1));
        EventView view;
        const bool older = rows.size() == 1 && !scan_event(rows.front().bytes, view) &&
                           view.number(Member::time) < static_cast<std::uint64_t>(micros(before));
        older ? from = middle : to = middle - 1;
    }
    return from;
}

struct Boundary {
    std::uint64_t size = 0;
    std::string note;
};

/// The last checkpoint of at most `most` events, and of more than `least`.
Result<std::optional<Boundary>> boundary(Database& database, std::uint64_t least, std::uint64_t most) {
    CALLGATE_TRY_ASSIGN(auto query, database.prepare("SELECT size, note FROM checkpoints WHERE size > ?1 AND "
                                                     "size <= ?2 ORDER BY size DESC LIMIT 1"));
    CALLGATE_TRY_ASSIGN(
        auto found,
        query.bind(1, static_cast<std::int64_t>(least)).bind(2, static_cast<std::int64_t>(most)).step());
    if (!found) return std::nullopt;
    return Boundary{static_cast<std::uint64_t>(query.integer(0)), std::string(query.text(1))};
}

/// How many events the first checkpoint behind event `before` has; 0: there is none.
Result<std::uint64_t> next_checkpoint(Database& database, std::uint64_t before) {
    CALLGATE_TRY_ASSIGN(auto query, database.prepare("SELECT min(size) FROM checkpoints WHERE size > ?1"));
    CALLGATE_TRY_ASSIGN(auto found, query.bind(1, static_cast<std::int64_t>(before)).step());
    return found ? static_cast<std::uint64_t>(query.integer(0)) : 0;
}

tl::unexpected<Error> too_small_segments(std::uint64_t before, std::uint64_t next) {
    return fail(ErrorCode::config_error,
                fmt::format("Nothing more was archived: a segment ends with a checkpoint, and the first one "
                            "behind event {} is of event {}. Allow {} events in a segment.",
                            before, next, next - before),
                {{"reason", "no_checkpoint"}, {"max_events", next - before}});
}

constexpr std::chrono::seconds kAnchorWait{10};

}  // namespace

// What is archived can be compared neither with a mark nor with an anchor that is behind it: another past of
// this ledger would look the same. So the anchor has its head first; the mark is seen to by the writer.
Result<void> SqliteLedger::anchor_before_archiving(const SegmentRow& segment, const std::string& chain_id) {
    const std::string& path = engine_->options.anchor_file;
    if (path.empty() || !engine_->anchors) return {};
    const auto has_it = [&] {
        const auto last = last_anchored(*engine_->options.files, path, audit_origin(chain_id));
        return last && *last && (*last)->size >= segment.last;
    };
    if (has_it()) return {};
    if (engine_->anchors->standing().offered < segment.last)
        engine_->anchors->submit(segment.head.note, segment.last);
    if (engine_->anchors->wait_for(segment.last, kAnchorWait) && has_it()) return {};
    return fail(
        ErrorCode::config_error,
        fmt::format(
            "Nothing more was archived: the anchor file '{}' does not have the checkpoint of event {}, "
            "without which another past of this ledger could not be told from this one. See "
            "what `callgate ledger stats` says of the anchors, and archive again.",
            path, segment.last),
        {{"reason", "anchor_behind"}, {"path", path}, {"event", segment.last}});
}

Result<Object> SqliteLedger::archive_audit(const ArchiveRequest& request, const WorkProgress& progress) {
    const base::MutexLock one_at_a_time(engine_->archive_mutex);
    CALLGATE_TRY(checkpoint());
    const std::string directory =
        request.directory.empty() ? engine_->options.directory + "/segments" : request.directory;
    os::FileOps& files = *engine_->options.files;
    if (auto made = files.mkdir(directory); !made && os::error_number(made.error()) != EEXIST)
        return unwritable(std::move(made.error()), directory);
    Array segments;
    std::uint64_t archived = 0;
    // What there was when it began: or it would run after its own events, and they would count as kept.
    const std::uint64_t end = engine_->recorded.load();
    const std::uint64_t up_to = end - std::min(end, request.keep_events);
    for (std::uint64_t last = 0; last < up_to;) {
        if (progress && !progress(archived, up_to)) return archive_called_off();
        CALLGATE_TRY_ASSIGN(auto segment, archive_one(request, up_to, directory, progress));
        if (!segment) break;
        last = segment->last;
        archived += segment->last - segment->first + 1;
        segments.emplace_back(segment->to_json());
    }
    CALLGATE_TRY_ASSIGN(auto tidied, tidy_archived(progress));
    return Object{{"archived", archived}, {"segments", std::move(segments)}, {"removed", tidied}};
}

// One segment, or nothing where there is nothing more to archive.
Result<std::optional<SegmentRow>> SqliteLedger::archive_one(const ArchiveRequest& request,
                                                            std::uint64_t up_to, const std::string& directory,
                                                            const WorkProgress& progress) {
    CALLGATE_TRY_ASSIGN(auto connection, engine_->open_reader());
    CALLGATE_TRY_ASSIGN(auto made, SqliteAuditReader::make(std::move(connection), *engine_->key));
    SqliteAuditReader& reader = *made;
    reader.keep_sealed();
    const std::uint64_t before = reader.archived_events();
    std::uint64_t most = up_to;
    if (request.older_than && most > before) {
        CALLGATE_TRY_ASSIGN(auto older,
                            last_older(reader, before, most, engine_->time->wall() - *request.older_than));
        most = older;
    }
    const std::uint64_t allowed = std::max<std::uint64_t>(request.max_events, 1);
    const std::uint64_t in_one = before < most ? before + std::min(most - before, allowed) : most;
    CALLGATE_TRY_ASSIGN(auto end, boundary(reader.database(), before, in_one));
    if (!end) {
        CALLGATE_TRY_ASSIGN(const auto next, next_checkpoint(reader.database(), before));
        if (next == 0 || next > most || next - before < request.at_least) return std::nullopt;
        return too_small_segments(before, next);
    }
    if (end->size - before < request.at_least) return std::nullopt;

    SegmentRow segment;
    segment.first = before + 1;
    segment.last = end->size;
    segment.file = fmt::format("{}/audit-{}-{:012}-{:012}.jsonl", directory, reader.chain_id(), segment.first,
                               segment.last);
    segment.archived_at = engine_->time->wall();
    segment.head.note = end->note;
    CALLGATE_TRY_ASSIGN(const auto last_hash, reader.hashes(segment.last, segment.last + 1));
    if (last_hash.size() != 1) return damaged_record("an audit event");
    segment.head.hash = last_hash.front();
    CALLGATE_TRY_ASSIGN(segment.head.path, inclusion_proof(reader, segment.last, segment.last));
    CALLGATE_TRY_ASSIGN(segment.tail,
                        reader.hashes((segment.last >> kTileLevels << kTileLevels) + 1, segment.last + 1));

    CALLGATE_TRY(write_segment(reader, segment, progress));
    CALLGATE_TRY(anchor_before_archiving(segment, reader.chain_id()));
    AuditFacts facts;
    facts.type = "audit.archived";
    facts.outcome = "info";
    facts.stage = "operator";
    facts.principal = request.by;
    const std::string detail = fmt::format("Events {} to {} are in {} (SHA-256 {}).", segment.first,
                                           segment.last, segment.file, base::to_hex(segment.sha256));
    facts.detail = detail;
    const AuditEvent event(facts);
    const auto archive = [&](Transactions& transactions) -> Result<bool> {
        CALLGATE_FAILPOINT_RETURN("ledger.before_archive");
        CALLGATE_TRY(transactions.tables().sync_mark());
        CALLGATE_TRY(add_segment(transactions.tables().database(), segment));
        CALLGATE_TRY(transactions.tables().record(event));
        CALLGATE_FAILPOINT_RETURN("ledger.after_archive");
        return true;
    };
    CALLGATE_TRY(engine_->write(archive));
    return std::optional(std::move(segment));
}

// The file is what it must be once this returns: it was read again from the disk, every hash and signature
// holds, and it ends with the checkpoint. Only then does it have its name.
Result<void> SqliteLedger::write_segment(SqliteAuditReader& reader, SegmentRow& segment,
                                         const WorkProgress& progress) {
    os::FileOps& files = *engine_->options.files;
    const std::string part = segment.file + ".part";
    static_cast<void>(files.unlink(part));  // what a crash has left
    auto file = files.open(part, os::OpenMode::create_exclusive);
    if (!file) return unwritable(std::move(file.error()), part);
    const auto write = [&]() -> Result<void> {
        SegmentWriter writer(files, std::move(*file), progress, segment.first, segment.last);
        CALLGATE_TRY_ASSIGN(auto head, reader.archived());
        writer.put(header_line(reader.chain_id(), head));
        CALLGATE_TRY(walk_audit(reader, segment.first, segment.last + 1, writer));
        auto finished = writer.finish();
        if (!finished && !writer.stopped) return unwritable(std::move(finished.error()), part);
        if (!finished) return finished;
        auto back = read_back(files, part, reader.chain_id());
        if (!back) return unwritable(std::move(back.error()), part);
        if (back->report.fault || back->report.events != segment.last ||
            back->report.signed_events != segment.last) {
            return fail(ErrorCode::audit_failure,
                        fmt::format("The events {} to {} cannot be archived, for they are not what was "
                                    "recorded. {}",
                                    segment.first, segment.last, back->report.summary()),
                        {{"reason", "broken"}});
        }
        segment.bytes = back->bytes;
        segment.sha256 = back->sha256;
        segment.head.key = back->report.key;
        auto name = free_name(files, segment);
        if (!name) return unwritable(std::move(name.error()), segment.file);
        segment.file = std::move(*name);
        if (auto renamed = files.rename(part, segment.file); !renamed)
            return unwritable(std::move(renamed.error()), segment.file);
        auto folder = files.open(os::directory_of(segment.file), os::OpenMode::directory);
        if (!folder) return unwritable(std::move(folder.error()), segment.file);
        if (auto synced = files.fsync(*folder); !synced)
            return unwritable(std::move(synced.error()), segment.file);
        return {};
    };
    auto done = write();
    if (!done) static_cast<void>(files.unlink(part));
    return done;
}

// What is archived goes from the file, and the file gives back what it does not need, a little at a time:
// calls go on meanwhile. Who reads the audit since before it was archived must be done first.
Result<std::int64_t> SqliteLedger::tidy_archived(const WorkProgress& progress) {
    std::int64_t removed = 0;
    for (;;) {
        if (engine_->audit_readers.use_count() > 1) break;  // the next gc finds it
        CALLGATE_TRY_ASSIGN(const auto gone, engine_->write([](Transactions& transactions) {
            return drop_archived(transactions.tables().database(), kDroppedAtOnce);
        }));
        if (gone == 0) break;
        removed += gone;
        if (progress && !progress(0, 1)) return archive_called_off();
    }
    const auto give_back_pages = [](Transactions& transactions) -> Result<std::int64_t> {
        CALLGATE_TRY_ASSIGN(auto pages, free_pages(transactions.tables().database()));
        if (!pages.can_shrink || pages.free == 0) return 0;
        CALLGATE_TRY(shrink(transactions.tables().database(), kPagesAtOnce));
        return std::max<std::int64_t>(pages.free - static_cast<std::int64_t>(kPagesAtOnce), 0);
    };
    for (;;) {
        CALLGATE_TRY_ASSIGN(const auto left, engine_->write(give_back_pages));
        if (left == 0) return removed;
        if (progress && !progress(0, 1)) return archive_called_off();
    }
}

Result<Object> SqliteLedger::audit_segments() {
    CALLGATE_TRY_ASSIGN(auto reader, engine_->open_reader());
    CALLGATE_TRY_ASSIGN(auto all, all_segments(reader));
    Array segments;
    for (const SegmentRow& segment : all) segments.emplace_back(segment.to_json());
    return Object{{"archived", all.empty() ? 0 : all.back().last}, {"segments", std::move(segments)}};
}

}  // namespace callgate::ledger
