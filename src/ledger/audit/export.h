// The audit as a file: JSON lines that anybody can read and verify without us.
//
// Each line is canonical JSON. The first names the format and the chain; then come the events in their order,
// each with its hash and those of its payloads that were not erased, and every checkpoint right after the
// last event it covers:
//
//     {"callgate_audit":1,"chain":"node-1"}
//     {"event":{…},"hash":"…","payloads":{"detail":{"salt":"…","text":"…"}}}
//     {"checkpoint":"callgate/audit/node-1\n1\n…\n\n— …\n"}
//
// A payload that is not UTF-8 has "hex" in place of "text"; in a segment it stays sealed. What goes on after
// archived events says so in its first line ("after": a signed head). docs/formats/audit.md is the whole
// format.
//
// Threads: all functions may be called from any thread; a reader belongs to one at a time.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>

#include "ledger/audit/canonical_text.h"
#include "ledger/audit/event_view.h"
#include "ledger/audit/reader.h"

namespace callgate::ledger {

// The lines, each with its line feed.
std::string header_line(std::string_view chain_id, const std::optional<SignedHead>& after = std::nullopt);
std::string event_line(std::string_view bytes, const Sha256Digest& hash,
                       std::span<const StoredPayload> payloads);
std::string checkpoint_line(std::string_view note);

/// One event as it stands in an export. `bytes` and `view` point into the line.
struct ExportedEvent {
    std::string_view bytes;
    EventView view;
    Sha256Digest hash{};
    std::vector<StoredPayload> payloads;
};

// Lines without their line feed. Nothing, where they are not exactly what the functions above write.
struct ExportHeader {
    std::string chain_id;
    std::optional<SignedHead> after;
};
std::optional<ExportHeader> read_header_line(std::string_view line);
std::optional<std::string> read_checkpoint_line(std::string_view line);
std::optional<ScanFault> read_event_line(std::string_view line, ExportedEvent& event);
bool is_checkpoint_line(std::string_view line) noexcept;

/// Everything that is stored, in the order of an export.
class AuditVisitor {
public:
    virtual ~AuditVisitor() = default;
    // False: that is enough.
    virtual bool event(const AuditRow& row, std::span<const StoredPayload> payloads) = 0;
    virtual bool checkpoint(std::string_view note) = 0;
};
/// The events [from, to) and the checkpoints among them. Only errors of the reader are errors.
Result<void> walk_audit(AuditReader& reader, std::uint64_t from, std::uint64_t to, AuditVisitor& visitor);

using TextSink = std::function<Result<void>(std::string_view)>;

Result<void> export_jsonl(AuditReader& reader, const TextSink& write);
/// The event as a line of the Common Event Format, for log collectors. Bytes that are no event become a line
/// that says so.
std::string cef_line(const AuditRow& row, std::span<const StoredPayload> payloads);

}  // namespace callgate::ledger
