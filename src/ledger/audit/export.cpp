#include "ledger/audit/export.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/utf8.h"
#include "ledger/audit/checkpoint.h"

namespace callgate::ledger {
namespace {

constexpr std::uint64_t kBatch = 1'024;
constexpr std::string_view kHeader = "{\"callgate_audit\":1,\"chain\":";
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
    const bool text = base::is_valid_utf8(payload.bytes);
    if (!text) {
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
    if (!hex) {
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

/// The checkpoints, each told when the events it covers have been.
class Checkpoints {
public:
    explicit Checkpoints(std::vector<std::string> notes) : notes_(std::move(notes)) {}

    /// Those of logs that are no longer than `size`.
    bool tell(std::uint64_t size, AuditVisitor& visitor) {
        for (; next_ < notes_.size(); ++next_) {
            const auto note = parse_checkpoint(notes_[next_]);
            if (note && note->checkpoint.size > size) return true;
            if (!visitor.checkpoint(notes_[next_])) return false;
        }
        return true;
    }
    /// Passes over those of logs that are shorter than `size`.
    void skip(std::uint64_t size) {
        for (; next_ < notes_.size(); ++next_) {
            const auto note = parse_checkpoint(notes_[next_]);
            if (note && note->checkpoint.size >= size) return;
        }
    }

private:
    std::vector<std::string> notes_;
    std::size_t next_ = 0;
};

}  // namespace

std::string header_line(std::string_view chain_id) {
    std::string out(kHeader);
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

std::optional<std::string> read_header_line(std::string_view line) {
    CanonicalScan scan(line);
    std::string_view raw;
    std::size_t bytes = 0;
    if (!scan.take(kHeader) || !scan.string(raw, bytes) || !scan.take('}') || !scan.at_end())
        return std::nullopt;
    return is_chain_id(raw) ? std::optional<std::string>(raw) : std::nullopt;
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
    if (!read) return scan.told();
    event.hash = bytes_of<Sha256Digest>(digits);
    return std::nullopt;
}

Result<void> walk_audit(AuditReader& reader, std::uint64_t from, std::uint64_t to, AuditVisitor& visitor) {
    // In this order: in a log that grows meanwhile every checkpoint that was read covers events that are
    // there.
    auto notes = reader.checkpoints();
    if (!notes) return tl::unexpected(notes.error());
    const auto size = reader.size();
    if (!size) return tl::unexpected(size.error());
    Checkpoints checkpoints(std::move(*notes));
    const bool to_the_end = to > *size;
    from = std::max<std::uint64_t>(from, 1);
    to = std::min(to, *size + 1);
    if (from > 1) checkpoints.skip(from);
    std::uint64_t batch = kBatch;
    while (from < to) {
        const std::uint64_t end = std::min(to, from + batch);
        const auto rows = reader.rows(from, end);
        if (!rows) return tl::unexpected(rows.error());
        auto payloads = reader.payloads(from, end);
        if (!payloads) return tl::unexpected(payloads.error());
        from = end;
        // Where nothing is stored for long, be quick to find what is.
        batch = rows->empty() ? batch * 2 : kBatch;
        auto payload = payloads->begin();
        std::vector<StoredPayload> own;
        for (const AuditRow& row : *rows) {
            if (!checkpoints.tell(row.sequence - 1, visitor)) return {};
            while (payload != payloads->end() && payload->sequence < row.sequence) ++payload;
            own.clear();
            for (; payload != payloads->end() && payload->sequence == row.sequence; ++payload)
                own.push_back(std::move(payload->payload));
            std::sort(own.begin(), own.end(),
                      [](const StoredPayload& a, const StoredPayload& b) { return a.field < b.field; });
            if (!visitor.event(row, own)) return {};
        }
    }
    checkpoints.tell(to_the_end ? kMaxAuditInteger : to - 1, visitor);
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
    if (!lines.put(header_line(reader.chain_id()))) return lines.result;
    if (auto walked = walk_audit(reader, 1, kMaxAuditInteger, lines); !walked) return walked;
    return lines.result;
}

}  // namespace callgate::ledger
