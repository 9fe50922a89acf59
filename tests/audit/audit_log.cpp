#include "audit_log.h"

#include <algorithm>
#include <optional>

#include "ledger/audit/chain.h"
#include "ledger/audit/export.h"

namespace callgate::audit {
namespace {

using namespace ledger;

/// A pool of texts that are hard to get right.
constexpr std::string_view kTexts[] = {"mail/send",      "files/read", "a \"quoted\" name", "back\\slash",
                                       "caf\u00e9",      "\u5b57",     "tab\there",         "line\nbreak",
                                       "\xff\xfe bytes", "\x01\x1f",   "\U0001F600",        "\x7f"};
constexpr std::string_view kEnds[] = {"tool_call.succeeded", "tool_call.failed", "tool_call.unknown",
                                      "tool_call.gap", "tool_call.taken_over"};

/// Goes on with a log by means of the real chain.
class LogMaker {
public:
    LogMaker(AuditLog& log, base::Rng& rng) : log_(log), rng_(rng) {
        ChainHead head = empty_head(log.chain);
        base::Sha256 hasher;
        for (const LogEvent& event : log.events) {
            head.hash = event.hash;
            head.tree.push_leaf(hasher, leaf_hash(hasher, event.hash));
        }
        // A key that no checkpoint has been signed with yet, unless it is the first.
        EventView view;
        for (std::size_t i = std::max<std::size_t>(log.signed_size(), 1); i < log.size(); ++i)
            if (!scan_event(log.events[i].bytes, view) && view.has(Member::old_key)) handing_over_ = true;
        time_ = 1'790'000'000'000'000 + rng.below(1'000'000'000);
        restart(head);
    }

    void open() {
        const std::string vkey = log_.keys.back().verifying_key().vkey();
        AuditFacts facts = base_facts("audit.opened");
        add(facts, {}, {vkey, {}});
    }

    void add_events(std::uint64_t count) {
        for (const std::uint64_t end = log_.size() + count; log_.size() < end;) {
            add_one();
            if (rng_.below(25) == 0) checkpoint();
            if (rng_.below(60) == 0) {
                restart(ChainHead(chain_->head()));
                open();
            }
            if (rng_.below(90) == 0) rotate();
        }
    }

    void checkpoint() {
        if (log_.signed_size() == log_.size() && !log_.notes.empty()) return;
        const Checkpoint now{audit_origin(log_.chain), log_.size(), chain_->root()};
        const std::size_t first = log_.keys.size() - (std::exchange(handing_over_, false) ? 2 : 1);
        log_.notes.push_back({log_.size(), sign_checkpoint(now, std::span(log_.keys).subspan(first))});
    }

private:
    void restart(const ChainHead& head) {
        mono_ = 0;
        chain_.emplace(log_.chain, "boot-" + std::to_string(rng_.below(1'000'000)), head, rng_);
    }

    void rotate() {
        if (handing_over_) return;
        const std::string old_key = log_.keys.back().verifying_key().vkey();
        log_.keys.push_back(SigningKey::generate(audit_origin(log_.chain), rng_));
        handing_over_ = true;
        const std::string key = log_.keys.back().verifying_key().vkey();
        add(base_facts("audit.key_rotated"), {}, {key, old_key});
    }

    AuditFacts base_facts(std::string_view type) {
        // Clocks are set back now and then; that is no attack.
        time_ = rng_.below(40) == 0 ? time_ - rng_.below(5'000'000) : time_ + rng_.below(2'000'000);
        AuditFacts facts;
        facts.at = std::chrono::system_clock::time_point(std::chrono::microseconds(time_));
        facts.type = type;
        facts.outcome = "info";
        facts.stage = "audit";
        return facts;
    }

    void add_one() {
        AuditFacts facts = base_facts("tool_call.attempted");
        facts.stage = "claim";
        facts.risk = static_cast<Risk>(rng_.below(4));
        facts.autonomy = static_cast<Autonomy>(rng_.below(5));
        facts.has_key = rng_.below(2) == 0;
        facts.attempt = static_cast<std::uint32_t>(rng_.below(3));
        facts.latency = std::chrono::nanoseconds(rng_.below(1'000'000'000));
        facts.tool = kTexts[rng_.below(std::size(kTexts))];
        facts.principal = kTexts[rng_.below(std::size(kTexts))];
        facts.tenant = "acme";
        facts.action = "call";
        const std::string overlong(kMaxAuditText + 1 + rng_.below(9), 'x');
        if (rng_.below(200) == 0) facts.run_id = overlong;
        if (!open_.empty() && rng_.below(2) == 0) {
            const std::size_t which = rng_.below(open_.size());
            facts.call_id = open_[which];
            open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
            facts.type = kEnds[rng_.below(std::size(kEnds))];
            facts.stage = rng_.below(2) == 0 ? "settle" : "recovery";
            if (facts.type != kEnds[0]) facts.error_code = "tool.timeout";
        } else {
            rng_.fill(std::as_writable_bytes(std::span(facts.call_id)));
            open_.push_back(facts.call_id);
        }
        const std::string detail = "detail " + std::to_string(rng_.next_u64());
        const std::string arguments = R"({"to":")" + std::to_string(rng_.next_u64()) + "\"}";
        if (rng_.below(3) == 0) facts.detail = detail;
        std::vector<PayloadView> payloads;
        if (rng_.below(2) == 0) payloads.push_back({"arguments", arguments});
        if (rng_.below(9) == 0) payloads.push_back({"result", kTexts[rng_.below(std::size(kTexts))]});
        add(facts, payloads, {});
    }

    void add(const AuditFacts& facts, std::span<const PayloadView> payloads, const KeyNames& keys) {
        mono_ += 1 + rng_.below(1'000'000);
        DraftedEvent drafted = chain_->draft(facts, payloads, keys);
        ChainedEvent event = chain_->append(drafted.text, facts.at, std::chrono::microseconds(mono_));
        std::vector<StoredPayload>& kept = drafted.payloads;
        if (rng_.below(6) == 0 && !kept.empty())
            kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(rng_.below(kept.size())));
        log_.events.push_back({std::move(event.bytes), event.hash, std::move(kept)});
    }

    AuditLog& log_;
    base::Rng& rng_;
    std::optional<AuditChain> chain_;
    std::uint64_t time_ = 0;
    std::uint64_t mono_ = 0;
    std::vector<CallId> open_;
    bool handing_over_ = false;
};

}  // namespace

std::string AuditLog::text() const {
    std::string out = header_line(chain);
    auto note = notes.begin();
    const auto put_notes = [&](std::uint64_t after) {
        for (; note != notes.end() && note->after <= after; ++note) out += checkpoint_line(note->text);
    };
    for (std::size_t i = 0; i < events.size(); ++i) {
        put_notes(i);
        out += event_line(events[i].bytes, events[i].hash, events[i].payloads);
    }
    put_notes(kMaxAuditInteger);
    return out;
}

void AuditLog::rehash(std::size_t first) {
    base::Sha256 hasher;
    Sha256Digest last = first == 0 ? empty_head(chain).hash : events[first - 1].hash;
    for (std::size_t i = first; i < events.size(); ++i)
        last = events[i].hash = next_hash(hasher, last, events[i].bytes);
}

void AuditLog::resign(std::uint64_t first) {
    base::Sha256 hasher;
    Frontier tree;
    std::optional<std::size_t> in_force;
    bool handing_over = false;
    auto note = notes.begin();
    EventView view;
    for (std::size_t i = 0; i <= events.size(); ++i) {
        for (; note != notes.end() && note->after == i; ++note) {
            const std::size_t signer = in_force.value_or(0);
            const std::size_t from = std::exchange(handing_over, false) && signer > 0 ? signer - 1 : signer;
            if (i >= first)
                note->text = sign_checkpoint({audit_origin(chain), i, tree.root(hasher)},
                                             std::span(keys).subspan(from, signer - from + 1));
        }
        if (i == events.size()) break;
        tree.push_leaf(hasher, leaf_hash(hasher, events[i].hash));
        if (scan_event(events[i].bytes, view) || !view.has(Member::key)) continue;
        handing_over = handing_over || view.has(Member::old_key);
        for (std::size_t k = 0; k < keys.size(); ++k)
            if (keys[k].verifying_key().vkey() == view.text(Member::key)) in_force = k;
    }
}

void AuditLog::renumber() {
    for (std::size_t i = 0; i < events.size(); ++i)
        set_member(events[i].bytes, Member::seq, std::to_string(i + 1));
}

bool set_member(std::string& bytes, Member member, std::string_view value) {
    EventView view;
    if (scan_event(bytes, view) || !view.has(member)) return false;
    const std::string_view raw = view.raw(member);
    const auto at = static_cast<std::size_t>(raw.data() - bytes.data());
    if (std::string_view(bytes).substr(0, at).ends_with("_hex\":\"")) return false;
    const std::size_t quote = bytes[at - 1] == '"' ? 1 : 0;
    bytes.replace(at - quote, raw.size() + 2 * quote, value);
    return true;
}

AuditLog make_log(base::Rng& rng, bool may_have_tail) {
    AuditLog log;
    log.chain = "node-" + std::to_string(rng.below(1'000'000));
    log.keys.push_back(SigningKey::generate(audit_origin(log.chain), rng));
    LogMaker maker(log, rng);
    maker.open();
    maker.add_events(5 + rng.below(15));
    maker.checkpoint();
    maker.add_events(10 + rng.below(80));
    maker.checkpoint();
    if (may_have_tail && rng.below(4) == 0) maker.add_events(1 + rng.below(9));
    for (const LogNote& note : log.notes) log.witnessed.push_back(note.text);
    return log;
}

AuditLog continue_log(const AuditLog& log, std::uint64_t kept, std::uint64_t more, base::Rng& rng) {
    AuditLog other = log;
    other.events.resize(kept);
    std::erase_if(other.notes, [&](const LogNote& note) { return note.after > kept; });
    // The keys that the kept part has named, in their order.
    std::size_t named = 1;
    EventView view;
    for (const LogEvent& event : other.events)
        if (!scan_event(event.bytes, view) && view.has(Member::old_key)) ++named;
    while (other.keys.size() > named) other.keys.pop_back();
    LogMaker maker(other, rng);
    if (kept == 0) maker.open();
    maker.add_events(more);
    maker.checkpoint();
    return other;
}

VerifyReport verify(const AuditLog& log, std::string_view text, bool with_witness) {
    VerifyOptions options;
    options.pinned.push_back(log.keys.front().verifying_key());
    if (with_witness) options.witnessed = log.witnessed;
    ExportVerifier verifier(options);
    verifier.feed(text);
    return verifier.finish();
}

}  // namespace callgate::audit
