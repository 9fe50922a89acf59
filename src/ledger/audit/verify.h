// Is the audit what was recorded? Every event, hash, payload, checkpoint and signature is checked, in one
// pass over the log; the first record that is wrong is named, with the reason.
//
// What is checked against what:
//   - events against their own form, their numbers (1, 2, …), the chain of hashes, and payloads against the
//     commitments in the events; erased payloads are counted, they are no fault;
//   - the tree's root and the signature of every checkpoint, by the key that the log says is in force, and
//     those keys against the pinned ones. Without pinned keys the log's own are believed, and the report says
//     so;
//   - the log against what a witness saw of it. Without a witness two things cannot be found: that whoever
//     holds the key wrote the whole log again, and that its end was cut off. The verdict is then
//     `unwitnessed`, never `intact`.
//
// Reported, but no fault: events after the last checkpoint (they are chained, but whoever can write the log
// could have made them), wall clocks that went back, calls that were begun and have no end.
//
// Threads: a verifier belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>

#include "ledger/audit/checkpoint.h"
#include "ledger/audit/export.h"
#include "ledger/audit/reader.h"

namespace callgate::ledger {

enum class AuditVerdict : std::uint8_t { intact, unwitnessed, broken };
std::string_view to_string(AuditVerdict verdict) noexcept;

enum class FaultKind : std::uint8_t {
    malformed,        ///< no event, or no line of an export
    chain,            ///< an event of another chain
    sequence,         ///< missing, doubled, moved
    hash,             ///< not what follows from the event and the one before
    payload,          ///< not what the event commits to
    key,              ///< keys change against the rules, or no pinned key stands behind the log
    checkpoint,       ///< unreadable, or of another log
    checkpoint_size,  ///< of another number of events than stand before it
    root,             ///< the events are not those that were signed
    signature,        ///< not by the keys that have to sign
    witness,          ///< a witness's note that cannot be read
    witness_size,     ///< a witness saw more events than there are
    witness_root,     ///< a witness saw other events
};
std::string_view to_string(FaultKind kind) noexcept;

struct AuditFault {
    FaultKind kind = FaultKind::malformed;
    std::uint64_t sequence = 0;  ///< the event it is about; of a checkpoint, its size
    std::string sentence;
};

struct VerifyOptions {
    std::vector<VerifyingKey> pinned;
    std::vector<std::string> witnessed;          ///< the notes that a witness has, got before the log is read
    std::uint64_t unreadable_witness_lines = 0;  ///< beside them; goes into the report
    std::string chain_id;                        ///< "": whatever the log says

    VerifyOptions() = default;
};

struct OpenCall {
    std::string call_id;
    std::uint64_t sequence = 0;  ///< of its last attempt
};

struct VerifyReport {
    static constexpr std::size_t kNamedOpenCalls = 10;

    std::optional<AuditFault> fault;  ///< the first
    std::string chain_id;
    std::uint64_t after = 0;   ///< events that were archived, and are not among those that were looked at
    std::uint64_t events = 0;  ///< the number of the last that was found good
    std::uint64_t checkpoints = 0;
    std::uint64_t signed_events = 0;     ///< covered by the last checkpoint
    std::uint64_t witnessed_events = 0;  ///< covered by the last note of the witness
    std::uint64_t witness_notes = 0;     ///< about this log
    std::uint64_t compared_notes = 0;    ///< of them; the others are of events that only segments can show
    std::uint64_t unreadable_witness_lines = 0;
    std::uint64_t payloads = 0;
    std::uint64_t sealed_payloads = 0;  ///< of them; not looked into
    std::uint64_t erased_payloads = 0;
    std::uint64_t clock_steps_back = 0;
    std::uint64_t boots = 0;
    std::uint64_t open_calls = 0;
    std::vector<OpenCall> first_open_calls;
    std::string key;      ///< the vkey in force at the end; "" if none
    bool pinned = false;  ///< the keys were checked against pinned ones

    AuditVerdict verdict() const noexcept;
    std::uint64_t unsigned_events() const noexcept { return events - signed_events; }
    /// For people, in a few sentences.
    std::string summary() const;
    Object to_json() const;
};

class AuditVerifier final : public AuditVisitor {
public:
    explicit AuditVerifier(VerifyOptions options);

    // In the order of the log. False once there is a fault: nothing more is looked at then.
    bool chain(std::string_view chain_id);  ///< first of all, where it is told apart from the events
    /// Then, where events were archived: from here on. After others it has to be where those end.
    bool go_on_after(const SignedHead& head);
    /// What comes next begins with the first event.
    bool begins_anew();
    bool event(const AuditRow& row, std::span<const StoredPayload> payloads) override;
    bool event(const EventView& view, std::string_view bytes, const Sha256Digest& hash,
               std::span<const StoredPayload> payloads);
    bool checkpoint(std::string_view note) override;
    /// The next record is none.
    bool malformed(std::string_view sentence);

    VerifyReport finish();

private:
    bool fault(FaultKind kind, std::uint64_t sequence, std::string sentence);
    bool check_payloads(const EventView& view, std::span<const StoredPayload> payloads);
    bool check_key_event(const EventView& view);
    bool check_witness();
    void take_notes(const EventView& view);
    bool check_signatures(const SignedCheckpoint& note);

    struct Seen {
        std::uint64_t size;
        Sha256Digest root;
    };

    VerifyOptions options_;
    VerifyReport report_;
    base::Sha256 hasher_;
    ChainHead head_;
    std::string origin_;
    std::optional<Sha256Digest> root_;  // of the head, once computed

    std::vector<Seen> witnessed_;  // by size
    std::size_t next_witnessed_ = 0;

    std::optional<VerifyingKey> in_force_;
    std::optional<VerifyingKey> handing_over_;  // has to sign the next checkpoint, too
    std::vector<VerifyingKey> trusted_;         // pinned, or handed over to by one that is
    std::optional<std::uint64_t> untrusted_;    // size of the first checkpoint after the last trusted one
    bool any_trusted_ = false;

    std::uint64_t last_time_ = 0;
    std::string last_boot_;
    std::map<CallId, std::uint64_t> open_;
};

/// The stored audit.
Result<VerifyReport> verify_audit(AuditReader& reader, VerifyOptions options);

/// An export, in pieces of any size.
class ExportVerifier {
public:
    /// A line may have `max_line` bytes.
    explicit ExportVerifier(VerifyOptions options, std::size_t max_line = 64u << 20);

    /// False once there is a fault.
    bool feed(std::string_view piece);
    /// What is fed from now on is another file, which goes on where the last one ended: segments, and then
    /// what is left in the ledger.
    bool next_file();
    VerifyReport finish();

private:
    bool line(std::string_view text);
    void end_file();

    AuditVerifier verifier_;
    std::size_t max_line_;
    std::string rest_;  // of a line that has not ended yet
    std::uint64_t lines_ = 0;
    ExportedEvent event_;
    bool going_ = true;
};

}  // namespace callgate::ledger
