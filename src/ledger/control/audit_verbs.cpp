#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/try.h"
#include "base/utf8.h"
#include "ledger/audit/event_proof.h"
#include "ledger/audit/event_view.h"
#include "ledger/audit/export.h"
#include "ledger/audit/proof.h"
#include "ledger/audit/read_event.h"
#include "ledger/control/verbs.h"

namespace callgate::ledger {
namespace {

constexpr std::uint64_t kLastNumber = kMaxAuditInteger;
constexpr std::uint64_t kBatch = 1'000;
// A list by type looks at so many events at most; then it says where to go on.
constexpr std::uint64_t kMostLookedAt = 200'000;
constexpr std::size_t kPiece = 256u << 10;

tl::unexpected<Error> no_such_event(std::uint64_t sequence) {
    return fail(ErrorCode::denied, fmt::format("There is no event with the number {}.", sequence),
                {{"reason", "not_found"}, {"sequence", sequence}});
}

// Says where to find an event that is not here any more.
std::optional<Error> if_archived(AuditReader& reader, std::uint64_t sequence) {
    const auto head = reader.archived();
    if (!head || !*head) return std::nullopt;
    const auto note = parse_checkpoint((*head)->note);
    if (!note || sequence > note->checkpoint.size) return std::nullopt;
    return Error(
        ErrorCode::denied,
        fmt::format("Event {} is archived. `callgate audit segments` says in which file it is.", sequence),
        {{"reason", "archived"}, {"sequence", sequence}, {"archived", note->checkpoint.size}});
}

// An event that cannot be read is listed all the same, with the reason.
Object event_json(const AuditRow& row, std::span<const StoredPayload> payloads) {
    auto event = read_event(row.bytes, payloads);
    if (!event)
        return {{"sequence", row.sequence}, {"type", "unreadable"}, {"detail", event.error().message}};
    event->sequence = row.sequence;
    return event->to_json();
}

// The events [from, to), each with those payloads that were not erased.
Result<void> each_event(AuditReader& reader, std::uint64_t from, std::uint64_t to,
                        const std::function<void(const AuditRow&, std::span<const StoredPayload>)>& visit) {
    CALLGATE_TRY_ASSIGN(const auto rows, reader.rows(from, to));
    CALLGATE_TRY_ASSIGN(auto kept, reader.payloads(from, to));
    auto next = kept.begin();
    for (const AuditRow& row : rows) {
        std::vector<StoredPayload> payloads;
        for (; next != kept.end() && next->sequence <= row.sequence; ++next) {
            if (next->sequence == row.sequence) payloads.push_back(std::move(next->payload));
        }
        visit(row, payloads);
    }
    return {};
}

Result<Value> events_of_call(VerbRequest& request, const std::string& id, std::size_t limit) {
    CALLGATE_TRY_ASSIGN(const auto call, base::parse_uuid(id));
    AuditSelection which;
    which.call = call.bytes;
    which.limit = limit;
    CALLGATE_TRY_ASSIGN(const auto events, request.operations.events(which));
    Array list;
    for (const AuditEvent& event : events) list.push_back(event.to_json());
    return Value{{"events", std::move(list)}, {"next", nullptr}};
}

// Forward from a number, or the last ones; oldest first either way.
class EventList {
public:
    EventList(AuditReader& reader, std::string type, std::size_t limit)
        : reader_(reader), type_(std::move(type)), limit_(limit) {}

    Result<void> forward(std::uint64_t from, std::uint64_t end) {
        const std::uint64_t stop = std::min(end, from + kMostLookedAt);
        while (from < stop && list_.size() < limit_) {
            const std::uint64_t to = std::min(from + kBatch, stop);
            CALLGATE_TRY(each_event(reader_, from, to, [&](const AuditRow& row, auto payloads) {
                if (list_.size() >= limit_) return;
                add(list_, row, payloads);
                next_ = row.sequence + 1;
            }));
            if (list_.size() < limit_) next_ = to;
            from = to;
        }
        if (next_ >= end) next_ = 0;
        return {};
    }

    Result<void> last(std::uint64_t end) {
        const std::uint64_t stop = end > kMostLookedAt ? end - kMostLookedAt : 1;
        while (end > stop && list_.size() < limit_) {
            const std::uint64_t batch = type_.empty() ? std::min<std::uint64_t>(limit_, kBatch) : kBatch;
            const std::uint64_t from = std::max(stop, end > batch ? end - batch : 1);
            Array earlier;
            CALLGATE_TRY(each_event(reader_, from, end, [&](const AuditRow& row, auto payloads) {
                add(earlier, row, payloads);
            }));
            for (Value& one : list_) earlier.push_back(std::move(one));
            list_ = std::move(earlier);
            end = from;
        }
        if (list_.size() > limit_)
            list_.erase(list_.begin(), list_.end() - static_cast<std::ptrdiff_t>(limit_));
        return {};
    }

    Value take(std::uint64_t size) {
        Value next;
        if (next_ != 0) next = next_;
        return {{"events", std::move(list_)}, {"next", std::move(next)}, {"size", size}};
    }

private:
    void add(Array& list, const AuditRow& row, std::span<const StoredPayload> payloads) const {
        Object event = event_json(row, payloads);
        if (type_.empty() || event.at("type") == Value(type_)) list.push_back(std::move(event));
    }

    AuditReader& reader_;
    const std::string type_;
    const std::size_t limit_;
    Array list_;
    std::uint64_t next_ = 0;
};

Result<Value> events(VerbRequest& request) {
    const auto from = request.members.number_if("from", 1, kLastNumber);
    const std::string call = request.members.text_or("call", {});
    const std::string type = request.members.text_or("type", {});
    const std::size_t limit = request.members.number_or("limit", kUsualPage, 1, kLargestPage);
    CALLGATE_TRY(request.members.done());
    if (!call.empty()) return events_of_call(request, call, limit);
    CALLGATE_TRY_ASSIGN(const auto reader, request.operations.read_audit());
    CALLGATE_TRY_ASSIGN(const auto size, reader->size());
    EventList list(*reader, type, limit);
    CALLGATE_TRY(from ? list.forward(*from, size + 1) : list.last(size + 1));
    return list.take(size);
}

Result<Value> show_event(VerbRequest& request) {
    const std::uint64_t sequence = request.members.number("sequence", 1, kLastNumber);
    CALLGATE_TRY(request.members.done());
    CALLGATE_TRY_ASSIGN(const auto reader, request.operations.read_audit());
    std::optional<Object> shown;
    CALLGATE_TRY(each_event(
        *reader, sequence, sequence + 1, [&](const AuditRow& row, std::span<const StoredPayload> payloads) {
            Array kept;
            for (const StoredPayload& one : payloads)
                kept.push_back({{"field", one.field}, {"bytes", one.bytes.size()}});
            Array erased;
            EventView view;
            if (!scan_event(row.bytes, view)) {
                for (const auto& commit : view.commits()) {
                    if (std::ranges::find(payloads, commit.field, &StoredPayload::field) == payloads.end())
                        erased.emplace_back(commit.field);
                }
            }
            shown = Object{{"event", event_json(row, payloads)},
                           {"chain", reader->chain_id()},
                           {"hash", base::to_hex(row.hash)},
                           {"bytes", base::is_valid_utf8(row.bytes) ? Value(row.bytes) : Value()},
                           {"payloads", std::move(kept)},
                           {"erased", std::move(erased)}};
        }));
    if (!shown) {
        if (auto archived = if_archived(*reader, sequence)) return tl::unexpected(std::move(*archived));
        return no_such_event(sequence);
    }
    return Value(std::move(*shown));
}

// Text on its way to the user, in pieces of whole characters.
class PieceWriter {
public:
    explicit PieceWriter(const Meanwhile& meanwhile) : meanwhile_(meanwhile) {}

    bool write(std::string_view text) {
        bytes_ += text.size();
        waiting_ += text;
        while (waiting_.size() >= kPiece) {
            // Bytes that are no characters are cut anywhere.
            std::size_t piece = base::truncate_to_bytes(waiting_, kPiece).size();
            if (piece == 0) piece = kPiece;
            if (!meanwhile_.text(std::string_view(waiting_).substr(0, piece))) return false;
            waiting_.erase(0, piece);
        }
        return true;
    }
    bool finish() { return waiting_.empty() || meanwhile_.text(waiting_); }
    std::uint64_t bytes() const noexcept { return bytes_; }

private:
    const Meanwhile& meanwhile_;
    std::string waiting_;
    std::uint64_t bytes_ = 0;
};

class ExportVisitor final : public AuditVisitor {
public:
    ExportVisitor(VerbRequest& request, bool cef, std::uint64_t from, std::uint64_t to)
        : meanwhile_(request.meanwhile), writer_(request.meanwhile), cef_(cef), from_(from), to_(to) {}

    bool header(std::string_view chain, const std::optional<SignedHead>& after) {
        return cef_ || writer_.write(header_line(chain, after));
    }
    bool event(const AuditRow& row, std::span<const StoredPayload> payloads) override {
        ++events_;
        if (row.sequence % kBatch == 0 && !meanwhile_.progress(row.sequence - from_, to_ - from_))
            return stop();
        return writer_.write(cef_ ? cef_line(row, payloads) : event_line(row.bytes, row.hash, payloads)) ||
               stop();
    }
    bool checkpoint(std::string_view note) override {
        return cef_ || writer_.write(checkpoint_line(note)) || stop();
    }
    Result<Value> finish() {
        if (stopped_ || !writer_.finish())
            return fail(ErrorCode::cancelled, "The export was called off.", {{"reason", "called_off"}});
        return Value{{"events", events_}, {"bytes", writer_.bytes()}};
    }

private:
    bool stop() {
        stopped_ = true;
        return false;
    }

    const Meanwhile& meanwhile_;
    PieceWriter writer_;
    const bool cef_;
    const std::uint64_t from_;
    const std::uint64_t to_;
    std::uint64_t events_ = 0;
    bool stopped_ = false;
};

Result<Value> export_all(VerbRequest& request) {
    const std::string format = request.members.text_or("format", "jsonl");
    if (format != "jsonl" && format != "cef") request.members.refuse("format", "must be jsonl or cef");
    const std::uint64_t from = request.members.number_or("from", 1, 1, kLastNumber);
    const auto last = request.members.number_if("to", 1, kLastNumber);
    CALLGATE_TRY(request.members.done());
    // A log that is signed to its end can be held to a key. Where it cannot be signed it is still handed out.
    if (format == "jsonl") static_cast<void>(request.operations.checkpoint());
    CALLGATE_TRY_ASSIGN(const auto reader, request.operations.read_audit());
    CALLGATE_TRY_ASSIGN(const auto size, reader->size());
    const std::uint64_t end = std::max(from, std::min(last.value_or(size), size) + 1);
    CALLGATE_TRY_ASSIGN(const auto head, reader->archived());
    ExportVisitor visitor(request, format == "cef", from, end);
    if (visitor.header(reader->chain_id(), from == 1 ? head : std::nullopt)) {
        CALLGATE_TRY(walk_audit(*reader, from, end, visitor));
    }
    return visitor.finish();
}

Result<Value> prove(VerbRequest& request) {
    const std::uint64_t sequence = request.members.number("sequence", 1, kLastNumber);
    CALLGATE_TRY(request.members.done());
    // So that there is one, and that it covers the event.
    CALLGATE_TRY(request.operations.checkpoint());
    CALLGATE_TRY_ASSIGN(const auto reader, request.operations.read_audit());
    CALLGATE_TRY_ASSIGN(const auto size, reader->size());
    if (sequence > size) return no_such_event(sequence);
    if (auto refused = if_archived(*reader, sequence)) return tl::unexpected(std::move(*refused));
    return as_answer(prove_event(*reader, sequence));
}

// The checkpoint of exactly this size, if there is one.
Result<std::optional<std::string>> checkpoint_of(AuditReader& reader, std::uint64_t size) {
    constexpr std::size_t kAtOnce = 1'000;
    for (std::uint64_t place = 0;;) {
        CALLGATE_TRY_ASSIGN(auto notes, reader.checkpoints(place, kAtOnce));
        if (notes.empty()) return std::nullopt;
        for (std::string& note : notes) {
            const auto read = parse_checkpoint(note);
            if (read && read->checkpoint.size == size) return std::optional(std::move(note));
        }
    }
}

Result<Value> prove_growth(VerbRequest& request) {
    const std::uint64_t from = request.members.number("from", 1, kLastNumber);
    const std::uint64_t to = request.members.number("to", 1, kLastNumber);
    if (from > to) request.members.refuse("from", "must not be larger than 'to'");
    CALLGATE_TRY(request.members.done());
    CALLGATE_TRY_ASSIGN(const auto reader, request.operations.read_audit());
    Object proof{{"callgate_audit_growth", 1}};
    for (const auto& [name, size] : {std::pair<const char*, std::uint64_t>{"from", from}, {"to", to}}) {
        CALLGATE_TRY_ASSIGN(const auto note, checkpoint_of(*reader, size));
        if (!note)
            return fail(ErrorCode::denied,
                        fmt::format("There is no checkpoint of {} events. `callgate "
                                    "audit export` shows those "
                                    "there are.",
                                    size),
                        {{"reason", "no_checkpoint"}, {"size", size}});
        proof[name] = *note;
    }
    CALLGATE_TRY_ASSIGN(const auto path, consistency_proof(*reader, from, to));
    Array steps;
    for (const Sha256Digest& step : path) steps.emplace_back(base::to_hex(step));
    proof["path"] = std::move(steps);
    return Value(std::move(proof));
}

Result<Value> checkpoint(VerbRequest& request) {
    CALLGATE_TRY(request.members.done());
    CALLGATE_TRY_ASSIGN(const auto note, request.operations.checkpoint());
    return Value{{"checkpoint", note}};
}

Result<Value> rotate_key(VerbRequest& request) {
    CALLGATE_TRY(request.members.done());
    return as_answer(request.operations.rotate_audit_key(request.user.name));
}

Result<Value> archive(VerbRequest& request) {
    ArchiveRequest archive;
    archive.directory = request.members.text_or("directory", {}, kLongestPath);
    if (!archive.directory.empty() && !archive.directory.starts_with('/'))
        request.members.refuse("directory", "must begin with /");
    archive.keep_events = request.members.number_or("keep", 0, 0, kLastNumber);
    archive.at_least = request.members.number_or("at_least", 1, 1, kLastNumber);
    archive.max_events = request.members.number_or("max_events", archive.max_events, 1, kLastNumber);
    if (const auto age = request.members.number_if("older_than_s", 0, 3'153'600'000))
        archive.older_than = std::chrono::seconds(*age);
    CALLGATE_TRY(request.members.done());
    archive.by = request.user.name;
    return as_answer(request.operations.archive_audit(archive, request.meanwhile.progress));
}

Result<Value> segments(VerbRequest& request) {
    CALLGATE_TRY(request.members.done());
    return as_answer(request.operations.audit_segments());
}

Result<Value> erase(VerbRequest& request) {
    const std::string call = request.members.text("call");
    const std::uint64_t in_segment = request.members.number_or("in_segment", 0, 0, kLastNumber);
    CALLGATE_TRY(request.members.done());
    CALLGATE_TRY_ASSIGN(const auto id, base::parse_uuid(call));
    CALLGATE_TRY_ASSIGN(const auto erased,
                        request.operations.erase_payloads(id.bytes, request.user.name, in_segment));
    CALLGATE_TRY_ASSIGN(const auto archived, request.operations.audit_segments());
    return Value{{"erased", erased}, {"archived", archived.at("archived")}};
}

}  // namespace

std::span<const Verb> audit_verbs() noexcept {
    using enum Verb::Length;
    using enum Verb::For;
    static constexpr std::array kVerbs = {Verb{"audit.events", events},
                                          Verb{"audit.show", show_event},
                                          Verb{"audit.export", export_all, lengthy},
                                          Verb{"audit.prove", prove},
                                          Verb{"audit.prove_growth", prove_growth},
                                          Verb{"audit.checkpoint", checkpoint, writes},
                                          Verb{"audit.segments", segments},
                                          Verb{"audit.erase", erase, writes, owner},
                                          Verb{"audit.archive", archive, lengthy, process},
                                          Verb{"audit.rotate_key", rotate_key, writes, process}};
    return kVerbs;
}

}  // namespace callgate::ledger
