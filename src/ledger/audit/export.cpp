#include "ledger/audit/export.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/try.h"
#include "base/utf8.h"
#include "ledger/audit/checkpoint.h"

namespace callgate::ledger {
namespace {

constexpr std::uint64_t kBatch = 1'024;
constexpr std::size_t kNotesAtOnce = 1'024;
constexpr std::size_t kLongestPath = 64;
constexpr std::string_view kHeader = "\"callgate_audit\":1,\"chain\":";
constexpr std::string_view kAfter = "\"after\":{\"checkpoint\":";
constexpr std::string_view kEvent = "{\"event\":";
constexpr std::string_view kHash = ",\"hash\":\"";
constexpr std::string_view kPayloads = ",\"payloads\":";
constexpr std::string_view kCheckpoint = "{\"checkpoint\":";

std::string_view view_of(const Salt& salt) {
    return {reinterpret_cast<const char*>(salt.data()), salt.size()};
}

template <class Bytes>
Bytes bytes_of(std::string_view hex) {
    Bytes out{};
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] =
            static_cast<std::uint8_t>(base::hex_value(hex[2 * i]) * 16 + base::hex_value(hex[2 * i + 1]));
    return out;
}

void append_payload(std::string& out, const StoredPayload& payload) {
    out += '"';
    out += payload.field;
    out += "\":{";
    const bool text = !payload.sealed && base::is_valid_utf8(payload.bytes);
    if (!text && !payload.sealed) {
        out += "\"hex\":\"";
        append_hex(out, payload.bytes);
        out += "\",";
    }
    out += "\"salt\":\"";
    append_hex(out, view_of(payload.salt));
    out += '"';
    if (text) {
        out += ",\"text\":";
        append_canonical(out, payload.bytes);
    } else if (payload.sealed) {
        out += ",\"sealed\":\"";
        out += base::base64_encode(payload.bytes);
        out += '"';
    }
    out += '}';
}

bool read_payload(CanonicalScan& scan, StoredPayload& payload) {
    std::string_view raw;
    std::size_t bytes = 0;
    if (!scan.string(raw, bytes)) return false;
    if (!is_payload_field(raw)) return scan.fault("this is no payload's field");
    if (raw <= payload.field) return scan.fault("the payloads' fields are out of order");
    payload.field = raw;
    if (!scan.take(":{")) return scan.fault("an object was expected");
    const bool hex = scan.take("\"hex\":");
    if (hex) {
        if (!scan.hex_string(raw)) return false;
        payload.bytes = base::hex_decode(raw).value_or(std::string());
        if (!scan.take(',')) return scan.fault("a salt was expected");
    }
    if (!scan.take("\"salt\":\"")) return scan.fault("a salt was expected");
    if (!scan.hex_digits(2 * payload.salt.size(), raw)) return false;
    payload.salt = bytes_of<Salt>(raw);
    if (!scan.take('"')) return scan.fault("a salt is 32 digits");
    payload.sealed = !hex && scan.take(",\"sealed\":");
    if (payload.sealed) {
        if (!scan.string(raw, bytes)) return false;
        auto sealed = base::base64_decode(raw);
        if (!sealed || sealed->empty() || base::base64_encode(*sealed) != raw)
            return scan.fault("a sealed payload is base64");
        payload.bytes = std::move(*sealed);
    } else if (!hex) {
        if (!scan.take(",\"text\":")) return scan.fault("a text was expected");
        if (!scan.string(raw, bytes)) return false;
        if (bytes == 0) return scan.fault("an empty payload is left out");
        payload.bytes = unescaped(raw);
    }
    return scan.take('}') || scan.fault("a } was expected");
}

bool read_payloads(CanonicalScan& scan, std::vector<StoredPayload>& payloads) {
    if (!scan.take('{')) return scan.fault("an object was expected");
    StoredPayload payload;
    do {
        if (payloads.size() == kMaxAuditPayloads) return scan.fault("an event has too many payloads");
        if (!read_payload(scan, payload)) return false;
        payloads.push_back(payload);
    } while (scan.take(','));
    return scan.take('}') || scan.fault("a comma or } was expected");
}

/// The checkpoints, each visited after the events it covers; a page of them at a time.
class Checkpoints {
public:
    explicit Checkpoints(AuditReader& reader) : reader_(reader) {}

    /// Those of logs that are no longer than `size`.
    bool tell(std::uint64_t size, AuditVisitor& visitor) {
        for (; more(); ++next_) {
            const auto note = parse_checkpoint(notes_[next_]);
            if (note && note->checkpoint.size > size) return true;
            if (!visitor.checkpoint(notes_[next_])) return false;
        }
        return true;
    }
    /// All that are left, except those that came while the log was read: they cover events that are there
    /// now.
    bool tell_rest(AuditVisitor& visitor) {
        for (; more(); ++next_) {
            const auto note = parse_checkpoint(notes_[next_]);
            if (note && note->checkpoint.size > checkpointed_) {
                const auto size = reader_.size();
                if (size && note->checkpoint.size <= *size) return true;
            }
            if (!visitor.checkpoint(notes_[next_])) return false;
        }
        return true;
    }
    /// Passes over those of logs that are shorter than `size`.
    void skip(std::uint64_t size) {
        for (; more(); ++next_) {
            const auto note = parse_checkpoint(notes_[next_]);
            if (note && note->checkpoint.size >= size) return;
        }
    }
    /// So many events were visited.
    void set_checkpointed(std::uint64_t size) { checkpointed_ = size; }
    const std::optional<Error>& error() const noexcept { return error_; }

private:
    bool more() {
        if (next_ < notes_.size()) return true;
        if (ended_) return false;
        auto page = reader_.checkpoints(place_, kNotesAtOnce);
        if (!page) error_ = std::move(page.error());
        notes_ = page ? std::move(*page) : std::vector<std::string>();
        next_ = 0;
        ended_ = notes_.empty();
        return !ended_;
    }

    AuditReader& reader_;
    std::vector<std::string> notes_;
    std::size_t next_ = 0;
    std::uint64_t place_ = 0;
    std::uint64_t checkpointed_ = 0;
    bool ended_ = false;
    std::optional<Error> error_;
};

}  // namespace

std::string header_line(std::string_view chain_id, const std::optional<SignedHead>& after) {
    std::string out = "{";
    if (after) {
        out += kAfter;
        append_canonical(out, after->note);
        out += ",\"hash\":\"";
        append_hex(out, view_of(after->hash));
        out += "\",\"key\":";
        append_canonical(out, after->key);
        out += ",\"path\":[";
        for (std::size_t i = 0; i < after->path.size(); ++i) {
            out += i == 0 ? "\"" : ",\"";
            append_hex(out, view_of(after->path[i]));
            out += '"';
        }
        out += "]},";
    }
    out += kHeader;
    append_canonical(out, chain_id);
    out += "}\n";
    return out;
}

std::string event_line(std::string_view bytes, const Sha256Digest& hash,
                       std::span<const StoredPayload> payloads) {
    std::string out(kEvent);
    out += bytes;
    out += kHash;
    append_hex(out, view_of(hash));
    out += '"';
    if (!payloads.empty()) {
        out += kPayloads;
        char before = '{';
        for (const StoredPayload& payload : payloads) {
            out += before;
            before = ',';
            append_payload(out, payload);
        }
        out += '}';
    }
    out += "}\n";
    return out;
}

std::string checkpoint_line(std::string_view note) {
    std::string out(kCheckpoint);
    append_canonical(out, note);
    out += "}\n";
    return out;
}

std::optional<ExportHeader> read_header_line(std::string_view line) {
    CanonicalScan scan(line);
    std::string_view raw;
    std::size_t bytes = 0;
    ExportHeader header;
    if (!scan.take('{')) return std::nullopt;
    if (scan.take(kAfter)) {
        SignedHead& head = header.after.emplace();
        if (!scan.string(raw, bytes)) return std::nullopt;
        head.note = unescaped(raw);
        if (!scan.take(",\"hash\":\"") || !scan.hex_digits(2 * head.hash.size(), raw)) return std::nullopt;
        head.hash = bytes_of<Sha256Digest>(raw);
        if (!scan.take("\",\"key\":") || !scan.string(raw, bytes)) return std::nullopt;
        head.key = unescaped(raw);
        if (!scan.take(",\"path\":[")) return std::nullopt;
        while (head.path.size() < kLongestPath && scan.take(head.path.empty() ? "\"" : ",\"")) {
            if (!scan.hex_digits(2 * head.hash.size(), raw) || !scan.take('"')) return std::nullopt;
            head.path.push_back(bytes_of<Sha256Digest>(raw));
        }
        if (!scan.take("]},")) return std::nullopt;
    }
    if (!scan.take(kHeader) || !scan.string(raw, bytes) || !scan.take('}') || !scan.at_end())
        return std::nullopt;
    if (!is_chain_id(raw)) return std::nullopt;
    header.chain_id = raw;
    return header;
}

bool is_checkpoint_line(std::string_view line) noexcept {
    return line.starts_with(kCheckpoint);
}

std::optional<std::string> read_checkpoint_line(std::string_view line) {
    CanonicalScan scan(line);
    std::string_view raw;
    std::size_t bytes = 0;
    if (!scan.take(kCheckpoint) || !scan.string(raw, bytes) || !scan.take('}') || !scan.at_end())
        return std::nullopt;
    return unescaped(raw);
}

std::optional<ScanFault> read_event_line(std::string_view line, ExportedEvent& event) {
    CanonicalScan scan(line);
    event.payloads.clear();
    if (!scan.take(kEvent)) return ScanFault{"this is no line of an audit export", 0};
    std::size_t end = 0;
    if (const auto fault = scan_event(scan.rest(), event.view, end))
        return ScanFault{fault->what, kEvent.size() + fault->at};
    event.bytes = scan.rest().substr(0, end);
    scan.skip(end);
    std::string_view digits;
    const bool read = (scan.take(kHash) || scan.fault("a hash was expected")) &&
                      scan.hex_digits(2 * event.hash.size(), digits) &&
                      (scan.take('"') || scan.fault("a hash is 64 digits")) &&
                      (!scan.take(kPayloads) || read_payloads(scan, event.payloads)) &&
                      (scan.take('}') || scan.fault("a } was expected")) &&
                      (scan.at_end() || scan.fault("nothing may follow"));
    if (!read) return scan.found();
    event.hash = bytes_of<Sha256Digest>(digits);
    return std::nullopt;
}

Result<void> walk_audit(AuditReader& reader, std::uint64_t from, std::uint64_t to, AuditVisitor& visitor) {
    CALLGATE_TRY_ASSIGN(const auto size, reader.size());
    CALLGATE_TRY_ASSIGN(const auto head, reader.archived());
    Checkpoints checkpoints(reader);
    const bool to_the_end = to > size;
    from = std::max<std::uint64_t>(from, 1);
    if (head) {
        const auto note = parse_checkpoint(head->note);
        if (note) from = std::max(from, note->checkpoint.size + 1);
    }
    to = std::min(to, size + 1);
    if (from > 1) checkpoints.skip(from);
    std::uint64_t batch = kBatch;
    while (from < to) {
        const std::uint64_t end = std::min(to, from + batch);
        CALLGATE_TRY_ASSIGN(const auto rows, reader.rows(from, end));
        CALLGATE_TRY_ASSIGN(auto payloads, reader.payloads(from, end));
        from = end;
        // Where nothing is stored for long, be quick to find what is.
        batch = rows.empty() ? batch * 2 : kBatch;
        auto payload = payloads.begin();
        std::vector<StoredPayload> own;
        for (const AuditRow& row : rows) {
            if (!checkpoints.tell(row.sequence - 1, visitor)) return {};
            while (payload != payloads.end() && payload->sequence < row.sequence) ++payload;
            own.clear();
            for (; payload != payloads.end() && payload->sequence == row.sequence; ++payload)
                own.push_back(std::move(payload->payload));
            std::sort(own.begin(), own.end(),
                      [](const StoredPayload& a, const StoredPayload& b) { return a.field < b.field; });
            if (!visitor.event(row, own)) return {};
        }
    }
    checkpoints.set_checkpointed(size);
    to_the_end ? checkpoints.tell_rest(visitor) : checkpoints.tell(to - 1, visitor);
    if (checkpoints.error()) return tl::unexpected(*checkpoints.error());
    return {};
}

Result<void> export_jsonl(AuditReader& reader, const TextSink& write) {
    class Lines final : public AuditVisitor {
    public:
        explicit Lines(const TextSink& write) : write_(write) {}
        bool event(const AuditRow& row, std::span<const StoredPayload> payloads) override {
            return put(event_line(row.bytes, row.hash, payloads));
        }
        bool checkpoint(std::string_view note) override { return put(checkpoint_line(note)); }
        bool put(const std::string& line) {
            result = write_(line);
            return result.has_value();
        }
        Result<void> result;

    private:
        const TextSink& write_;
    } lines(write);
    CALLGATE_TRY_ASSIGN(const auto head, reader.archived());
    if (!lines.put(header_line(reader.chain_id(), head))) return lines.result;
    CALLGATE_TRY(walk_audit(reader, 1, kMaxAuditInteger, lines));
    return lines.result;
}

}  // namespace callgate::ledger
