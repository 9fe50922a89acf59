#include "ledger/audit/verify.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/ids.h"
#include "base/try.h"

namespace callgate::ledger {
namespace {

constexpr std::string_view kOpened = "audit.opened";
constexpr std::string_view kRotated = "audit.key_rotated";

bool same_digest(std::string_view hex, const Sha256Digest& digest) {
    for (std::size_t i = 0; i < digest.size(); ++i)
        if (base::hex_value(hex[2 * i]) * 16 + base::hex_value(hex[2 * i + 1]) != digest[i]) return false;
    return true;
}

/// Whether an event ends the call that was begun: settled, found out, or named as a gap.
bool ends_call(const EventView& view) {
    const std::string_view type = view.raw(Member::type);
    return (type.starts_with("tool_call.") && type != "tool_call.taken_over") ||
           view.raw(Member::stage) == "settle" || type == "audit.gap";
}

}  // namespace

AuditVerifier::AuditVerifier(VerifyOptions options) : options_(std::move(options)) {
    report_.pinned = !options_.pinned.empty();
    report_.unreadable_witness_lines = options_.unreadable_witness_lines;
    trusted_ = options_.pinned;
    if (!options_.chain_id.empty()) chain(options_.chain_id);
}

bool AuditVerifier::fault(FaultKind kind, std::uint64_t sequence, std::string sentence) {
    if (!report_.fault) report_.fault = {kind, sequence, std::move(sentence)};
    return false;
}

bool AuditVerifier::malformed(std::string_view sentence) {
    return fault(FaultKind::malformed, head_.size() + 1, std::string(sentence));
}

bool AuditVerifier::chain(std::string_view chain_id) {
    if (report_.fault) return false;
    if (!report_.chain_id.empty()) {
        if (report_.chain_id == chain_id) return true;
        return fault(FaultKind::chain, head_.size() + 1,
                     fmt::format("Event {} is of the chain {}, not of {}: it was put in from another log.",
                                 head_.size() + 1, chain_id, report_.chain_id));
    }
    report_.chain_id = chain_id;
    origin_ = audit_origin(chain_id);
    head_ = empty_head(chain_id);
    for (const std::string& text : options_.witnessed) {
        const auto note = parse_checkpoint(text);
        if (!note)
            return fault(FaultKind::witness, 0,
                         "A note of the witness cannot be read: " + note.error().message);
        if (note->checkpoint.origin == origin_)
            witnessed_.push_back({note->checkpoint.size, note->checkpoint.root});
    }
    report_.witness_notes = witnessed_.size();
    std::sort(witnessed_.begin(), witnessed_.end(),
              [](const Seen& a, const Seen& b) { return a.size < b.size; });
    return true;
}

bool AuditVerifier::begins_anew() {
    if (report_.fault) return false;
    if (head_.size() == 0) return true;
    return fault(FaultKind::sequence, head_.size() + 1,
                 fmt::format("This begins the log anew, but {} events stand before it.", head_.size()));
}

bool AuditVerifier::go_on_after(const SignedHead& head) {
    if (report_.fault) return false;
    const auto note = parse_checkpoint(head.note);
    if (!note || note->checkpoint.size == 0)
        return fault(FaultKind::checkpoint, head_.size(), "The head to go on after cannot be read.");
    const std::uint64_t size = note->checkpoint.size;
    if (note->checkpoint.origin != origin_)
        return fault(FaultKind::checkpoint, size,
                     fmt::format("The head to go on after is of another log, {}.", note->checkpoint.origin));
    if (head_.size() != 0) {
        if (size == head_.size() && head.hash == head_.hash &&
            note->checkpoint.root == head_.tree.root(hasher_))
            return true;
        return fault(
            FaultKind::sequence, head_.size() + 1,
            fmt::format("This goes on after event {}, but {} stand before it: a segment is missing, or "
                        "they are out of order.",
                        size, head_.size()));
    }
    const auto key = VerifyingKey::parse(head.key);
    if (!key || key->name() != origin_)
        return fault(FaultKind::key, size, "The head to go on after names a key that is none of this log.");
    const auto made = head_of(head, note->checkpoint);
    if (!made)
        return fault(
            FaultKind::root, size,
            fmt::format("The head to go on after is not that of the {} events that were signed.", size));
    if (!note->signed_by(*key))
        return fault(FaultKind::signature, size,
                     fmt::format("The head to go on after is not signed by the key {}.", key->vkey()));
    head_ = *made;
    root_ = note->checkpoint.root;
    in_force_ = *key;
    if (std::find(trusted_.begin(), trusted_.end(), *key) != trusted_.end())
        any_trusted_ = true;
    else
        untrusted_ = size;
    report_.after = report_.events = report_.signed_events = size;
    // What a witness saw of the archived ones, only they can show.
    while (next_witnessed_ < witnessed_.size() && witnessed_[next_witnessed_].size < size) ++next_witnessed_;
    return true;
}

bool AuditVerifier::event(const AuditRow& row, std::span<const StoredPayload> payloads) {
    if (report_.fault) return false;
    EventView view;
    if (const auto wrong = scan_event(row.bytes, view))
        return malformed(fmt::format("Record {} is no audit event: {}, at byte {}.", head_.size() + 1,
                                     wrong->what, wrong->at));
    if (row.sequence != view.sequence())
        return fault(FaultKind::sequence, head_.size() + 1,
                     fmt::format("The record stored as number {} says that it is event {}.", row.sequence,
                                 view.sequence()));
    return event(view, row.bytes, row.hash, payloads);
}

bool AuditVerifier::event(const EventView& view, std::string_view bytes, const Sha256Digest& hash,
                          std::span<const StoredPayload> payloads) {
    if (report_.fault) return false;
    // Only now, after the log's own checkpoints of this size: they say more about what is wrong.
    if (next_witnessed_ < witnessed_.size() && !check_witness()) return false;
    if (view.raw(Member::chain) != report_.chain_id && !chain(view.text(Member::chain))) return false;
    const std::uint64_t number = head_.size() + 1;
    if (view.sequence() != number)
        return fault(
            FaultKind::sequence, number,
            fmt::format("Event {} was expected, but event {} stands there: events were taken out, put "
                        "in or moved.",
                        number, view.sequence()));
    const Sha256Digest computed = next_hash(hasher_, head_.hash, bytes);
    if (computed != hash)
        return fault(FaultKind::hash, number,
                     fmt::format("The hash of event {} is not that of its bytes and the event before: one of "
                                 "them was changed.",
                                 number));
    if (!check_payloads(view, payloads) || !check_key_event(view)) return false;
    take_notes(view);
    head_.hash = computed;
    head_.tree.push_leaf(hasher_, leaf_hash(hasher_, computed));
    root_.reset();
    report_.events = number;
    return true;
}

bool AuditVerifier::check_payloads(const EventView& view, std::span<const StoredPayload> payloads) {
    const auto commits = view.commits();
    for (const StoredPayload& payload : payloads) {
        const auto commit = std::find_if(commits.begin(), commits.end(),
                                         [&](const auto& c) { return c.field == payload.field; });
        if (commit == commits.end())
            return fault(FaultKind::payload, view.sequence(),
                         fmt::format("Event {} has a payload \"{}\" that it never had.", view.sequence(),
                                     payload.field));
        report_.sealed_payloads += payload.sealed ? 1 : 0;
        if (!payload.sealed && !same_digest(commit->hex, commit_to(hasher_, payload.salt, payload.bytes)))
            return fault(
                FaultKind::payload, view.sequence(),
                fmt::format("The payload \"{}\" of event {} is not the one that was recorded with it.",
                            payload.field, view.sequence()));
    }
    report_.payloads += payloads.size();
    report_.erased_payloads += commits.size() - payloads.size();
    return true;
}

bool AuditVerifier::check_key_event(const EventView& view) {
    const bool opened = view.raw(Member::type) == kOpened;
    const bool rotated = view.raw(Member::type) == kRotated;
    if (!opened && !rotated && !view.has(Member::key) && !view.has(Member::old_key)) return true;
    const auto wrong = [&](std::string_view why) {
        return fault(
            FaultKind::key, view.sequence(),
            fmt::format("Event {} changes the signing key against the rules: {}.", view.sequence(), why));
    };
    if (!opened && !rotated) return wrong("only audit.opened and audit.key_rotated name keys");
    const std::string now = in_force_ ? in_force_->vkey() : std::string();
    if (opened) {
        // Every run of the ledger begins with the key in force; the first one of all makes it so.
        if (view.has(Member::old_key)) return wrong("audit.opened has no old key");
        if (view.text(Member::key) == now) return true;
        if (in_force_) return wrong("it opens the log with another key than the one in force");
    } else {
        if (view.text(Member::old_key) != now) return wrong("the old key it names is not the one in force");
        if (handing_over_) return wrong("the key before was never handed over to by a checkpoint");
    }
    const auto key = VerifyingKey::parse(view.text(Member::key));
    if (!key || key->name() != origin_) return wrong("the new key is not a key of this log");
    handing_over_ = std::move(in_force_);
    in_force_ = *key;
    return true;
}

void AuditVerifier::take_notes(const EventView& view) {
    if (const std::string_view boot = view.raw(Member::boot); boot != last_boot_) {
        ++report_.boots;
        last_boot_ = boot;
    }
    const std::uint64_t time = view.number(Member::time);
    // Events of callers that run at the same time come a little out of order: that is no clock's fault.
    constexpr std::uint64_t kOutOfOrder = 60'000'000;
    const bool back = time + kOutOfOrder < last_time_;
    if (back) ++report_.clock_steps_back;
    last_time_ = back ? time : std::max(last_time_, time);
    if (!view.has(Member::call)) return;
    if (view.raw(Member::type) == "tool_call.attempted")
        open_[view.id(Member::call)] = view.sequence();
    else if (ends_call(view) && !open_.empty())
        open_.erase(view.id(Member::call));
}

bool AuditVerifier::check_witness() {
    for (; next_witnessed_ < witnessed_.size() && witnessed_[next_witnessed_].size == head_.size();
         ++next_witnessed_) {
        if (!root_) root_ = head_.tree.root(hasher_);
        if (witnessed_[next_witnessed_].root != *root_)
            return fault(
                FaultKind::witness_root, head_.size(),
                fmt::format("The witness saw other events up to event {} than this log has: the log was "
                            "rewritten, or there are two of it.",
                            head_.size()));
        report_.witnessed_events = head_.size();
        ++report_.compared_notes;
    }
    return true;
}

bool AuditVerifier::checkpoint(std::string_view text) {
    if (report_.fault) return false;
    const std::uint64_t number = report_.checkpoints + 1;
    const auto note = parse_checkpoint(text);
    if (!note)
        return fault(FaultKind::checkpoint, head_.size(),
                     fmt::format("Checkpoint {} cannot be read: {}", number, note.error().message));
    if (note->checkpoint.origin != origin_)
        return fault(FaultKind::checkpoint, head_.size(),
                     fmt::format("Checkpoint {} is of another log, {}.", number, note->checkpoint.origin));
    if (note->checkpoint.size != head_.size())
        return fault(
            FaultKind::checkpoint_size, head_.size(),
            fmt::format("Checkpoint {} is of a log with {} events, but {} stand before it: events are "
                        "missing, or checkpoints were moved.",
                        number, note->checkpoint.size, head_.size()));
    if (!root_) root_ = head_.tree.root(hasher_);
    if (note->checkpoint.root != *root_)
        return fault(
            FaultKind::root, head_.size(),
            fmt::format("Checkpoint {} was signed for other events than those that stand here: among "
                        "events {} to {} something was changed, and the hashes made anew.",
                        number, report_.signed_events + 1, head_.size()));
    if (!check_signatures(*note)) return false;
    report_.checkpoints = number;
    report_.signed_events = head_.size();
    return true;
}

bool AuditVerifier::check_signatures(const SignedCheckpoint& note) {
    const std::uint64_t number = report_.checkpoints + 1;
    if (!in_force_)
        return fault(FaultKind::signature, head_.size(),
                     fmt::format("Checkpoint {} is signed, but no event before it names a key.", number));
    for (const auto& key : {in_force_, handing_over_})
        if (key && !note.signed_by(*key))
            return fault(FaultKind::signature, head_.size(),
                         fmt::format("Checkpoint {} is not signed by the key {}, which had to sign it.",
                                     number, key->vkey()));
    const auto trusts = [&](const std::optional<VerifyingKey>& key) {
        return key && std::find(trusted_.begin(), trusted_.end(), *key) != trusted_.end();
    };
    if (trusts(in_force_) || trusts(handing_over_)) {
        if (!trusts(in_force_)) trusted_.push_back(*in_force_);
        any_trusted_ = true;
        untrusted_.reset();
    } else if (!untrusted_) {
        untrusted_ = head_.size();
    }
    handing_over_.reset();
    return true;
}

VerifyReport AuditVerifier::finish() {
    if (!report_.fault && check_witness() && next_witnessed_ < witnessed_.size())
        fault(FaultKind::witness_size, head_.size(),
              fmt::format("The witness saw {} events, but the log has only {}: its end was cut off.",
                          witnessed_.back().size, head_.size()));
    if (!report_.fault && report_.pinned && head_.size() > 0 && (!any_trusted_ || untrusted_)) {
        std::string sentence = untrusted_
                                   ? fmt::format(
                                         "The checkpoint of {} events is signed by a key that no pinned key "
                                         "handed over to.",
                                         *untrusted_)
                                   : "There is no checkpoint that a pinned key has signed.";
        // Who changed the key before it was archived, changed it there.
        if (report_.after > 0 && !any_trusted_)
            sentence += fmt::format(
                " If the key was changed within the first {} events, which are archived, their segments show "
                "it: give them too, oldest first (--segment FILE).",
                report_.after);
        fault(FaultKind::key, untrusted_.value_or(head_.size()), std::move(sentence));
    }
    report_.open_calls = open_.size();
    std::vector<std::pair<std::uint64_t, CallId>> open;
    for (const auto& [id, sequence] : open_) open.emplace_back(sequence, id);
    std::sort(open.begin(), open.end());
    for (std::size_t i = 0; i < std::min(open.size(), VerifyReport::kNamedOpenCalls); ++i)
        report_.first_open_calls.push_back({base::Uuid{open[i].second}.to_string(), open[i].first});
    if (in_force_) report_.key = in_force_->vkey();
    return std::move(report_);
}

Result<VerifyReport> verify_audit(AuditReader& reader, VerifyOptions options) {
    if (options.chain_id.empty()) options.chain_id = reader.chain_id();
    AuditVerifier verifier(std::move(options));
    CALLGATE_TRY_ASSIGN(const auto head, reader.archived());
    if (head && !verifier.go_on_after(*head)) return verifier.finish();
    CALLGATE_TRY(walk_audit(reader, 1, kMaxAuditInteger, verifier));
    return verifier.finish();
}

ExportVerifier::ExportVerifier(VerifyOptions options, std::size_t max_line)
    : verifier_(std::move(options)), max_line_(max_line) {}

bool ExportVerifier::feed(std::string_view piece) {
    while (going_ && !piece.empty()) {
        const std::size_t end = piece.find('\n');
        if (rest_.size() + std::min(end, piece.size()) > max_line_)
            return going_ = verifier_.malformed(
                       fmt::format("Line {} has more than {} bytes.", lines_ + 1, max_line_));
        if (end == std::string_view::npos) {
            rest_ += piece;
            return true;
        }
        if (rest_.empty()) {
            going_ = line(piece.substr(0, end));
        } else {
            rest_ += piece.substr(0, end);
            going_ = line(rest_);
            rest_.clear();
        }
        piece.remove_prefix(end + 1);
    }
    return going_;
}

bool ExportVerifier::line(std::string_view text) {
    ++lines_;
    if (lines_ == 1) {
        const auto header = read_header_line(text);
        if (!header) return verifier_.malformed("Line 1 does not say that this is an audit export.");
        if (!verifier_.chain(header->chain_id)) return false;
        return header->after ? verifier_.go_on_after(*header->after) : verifier_.begins_anew();
    }
    if (is_checkpoint_line(text)) {
        const auto note = read_checkpoint_line(text);
        if (!note)
            return verifier_.malformed(fmt::format("Line {} is no canonical checkpoint line.", lines_));
        return verifier_.checkpoint(*note);
    }
    if (const auto wrong = read_event_line(text, event_))
        return verifier_.malformed(
            fmt::format("Line {} is no audit event: {}, at byte {}.", lines_, wrong->what, wrong->at));
    return verifier_.event(event_.view, event_.bytes, event_.hash, event_.payloads);
}

bool ExportVerifier::next_file() {
    end_file();
    lines_ = 0;
    rest_.clear();
    return going_;
}

VerifyReport ExportVerifier::finish() {
    end_file();
    return verifier_.finish();
}

void ExportVerifier::end_file() {
    if (going_ && !rest_.empty())
        going_ = verifier_.malformed(
            fmt::format("The last line, {}, does not end: the export was cut off.", lines_ + 1));
    else if (going_ && lines_ == 0)
        going_ = verifier_.malformed("The export is empty.");
}

}  // namespace callgate::ledger
