#include "ledger/audit/event.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/utf8.h"
#include "ledger/audit/canonical_text.h"

namespace callgate::ledger {
namespace {

constexpr std::string_view kCommitTag = "callgate-commit-v1";
constexpr std::size_t kUsualBytes = 640;

constexpr std::array kTexts{EventText{"action", &AuditFacts::action},
                            EventText{"approval", &AuditFacts::approval_id},
                            EventText{"connector", &AuditFacts::connector_id},
                            EventText{"error", &AuditFacts::error_code},
                            EventText{"outcome", &AuditFacts::outcome},
                            EventText{"principal", &AuditFacts::principal},
                            EventText{"request", &AuditFacts::request_hash},
                            EventText{"run", &AuditFacts::run_id},
                            EventText{"stage", &AuditFacts::stage},
                            EventText{"step", &AuditFacts::step_id},
                            EventText{"task", &AuditFacts::task_id},
                            EventText{"tenant", &AuditFacts::tenant},
                            EventText{"tool", &AuditFacts::tool},
                            EventText{"trace", &AuditFacts::trace_id},
                            EventText{"type", &AuditFacts::type}};

std::uint64_t integer(std::int64_t number) {
    return number < 0 ? 0 : std::min(static_cast<std::uint64_t>(number), kMaxAuditInteger);
}

void append_number(std::string& out, std::uint64_t value) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append(digits.data(), end);
}

}  // namespace

/// Writes the members in the order of its calls, which must be that of their names.
class DraftWriter {
public:
    DraftWriter() {
        out_.reserve(kUsualBytes);
        out_.push_back('{');
    }

    void text(std::string_view name, std::string_view value) {
        if (value.empty() || value.size() > kMaxAuditText) return;
        if (base::is_valid_utf8(value)) {
            key(name, {});
            append_canonical(out_, value);
        } else {
            key(name, "_hex");
            out_.push_back('"');
            append_hex(out_, value);
            out_.push_back('"');
        }
    }

    void number(std::string_view name, std::uint64_t value) {
        key(name, {});
        append_number(out_, value);
    }

    /// Numbers of the event's place, left open.
    void mono(std::string_view name) { gap(name, draft_.mono_); }
    void sequence(std::string_view name) { gap(name, draft_.sequence_); }
    void time(std::string_view name) { gap(name, draft_.time_); }

    void id(std::string_view name, const CallId& id) {
        if (id == CallId{}) return;
        key(name, {});
        out_.push_back('"');
        const std::string_view bytes(reinterpret_cast<const char*>(id.data()), id.size());
        append_hex(out_, bytes.substr(0, 4));
        for (const std::size_t at : {4u, 6u, 8u}) {
            out_.push_back('-');
            append_hex(out_, bytes.substr(at, 2));
        }
        out_.push_back('-');
        append_hex(out_, bytes.substr(10));
        out_.push_back('"');
    }

    void commits(std::string_view name, std::span<const Commit> commits) {
        if (commits.empty()) return;
        key(name, {});
        char before = '{';
        for (const Commit& commit : commits) {
            out_.push_back(before);
            before = ',';
            out_.push_back('"');
            out_.append(commit.field);
            out_.append("\":\"");
            append_hex(out_, {reinterpret_cast<const char*>(commit.digest.data()), commit.digest.size()});
            out_.push_back('"');
        }
        out_.push_back('}');
    }

    EventDraft end() {
        out_.push_back('}');
        return std::move(draft_);
    }

private:
    void gap(std::string_view name, std::size_t& at) {
        key(name, {});
        at = out_.size();
    }
    void key(std::string_view name, std::string_view suffix) {
        if (out_.size() > 1) out_.push_back(',');
        out_.push_back('"');
        out_.append(name);
        out_.append(suffix);
        out_.append("\":");
    }

    EventDraft draft_;
    std::string& out_ = draft_.text_;
};

base::Sha256Digest commit_to(base::Sha256& hasher, const Salt& salt, std::string_view payload) {
    const std::string_view salted(reinterpret_cast<const char*>(salt.data()), salt.size());
    return hasher.update(kCommitTag).update(salted).update(payload).finish();
}

std::string EventDraft::at(const EventPlace& place) const {
    constexpr std::size_t kDigits = 3 * 16;  // of integers below 2^53
    const std::string_view text = text_;
    const auto since_epoch =
        std::chrono::floor<std::chrono::microseconds>(place.at.time_since_epoch()).count();
    std::string out;
    out.reserve(text.size() + kDigits);
    out.append(text.substr(0, mono_));
    append_number(out, integer(place.mono.count()));
    out.append(text.substr(mono_, sequence_ - mono_));
    append_number(out, place.sequence);
    out.append(text.substr(sequence_, time_ - sequence_));
    append_number(out, integer(since_epoch));
    out.append(text.substr(time_));
    return out;
}

EventDraft draft_event(std::string_view chain, std::string_view boot, const AuditFacts& facts,
                       const KeyNames& keys, std::span<const Commit> commits) {
    DraftWriter to;
    to.text("action", facts.action);
    to.text("approval", facts.approval_id);
    if (facts.attempt != 0) to.number("attempt", facts.attempt);
    to.text("autonomy", to_string(facts.autonomy));
    to.text("boot", boot);
    to.id("call", facts.call_id);
    to.text("chain", chain);
    to.commits("commits", commits);
    to.text("connector", facts.connector_id);
    to.text("error", facts.error_code);
    if (facts.has_key) to.number("has_key", 1);
    to.text("key", keys.key);
    if (facts.latency.count() > 0) to.number("latency_ns", integer(facts.latency.count()));
    to.mono("mono");
    to.text("old_key", keys.old_key);
    to.text("outcome", facts.outcome);
    to.id("parent", facts.parent_call_id);
    to.text("principal", facts.principal);
    to.text("request", facts.request_hash);
    to.text("risk", to_string(facts.risk));
    to.text("run", facts.run_id);
    to.sequence("seq");
    to.text("stage", facts.stage);
    to.text("step", facts.step_id);
    to.text("task", facts.task_id);
    to.text("tenant", facts.tenant);
    to.time("time");
    to.text("tool", facts.tool);
    to.text("trace", facts.trace_id);
    to.text("type", facts.type);
    to.number("v", kAuditVersion);
    return to.end();
}

bool is_payload_field(std::string_view name) noexcept {
    constexpr std::size_t kMax = 32;
    const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
    return !name.empty() && name.size() <= kMax && letter(name.front()) &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::span<const EventText> event_texts() noexcept {
    return kTexts;
}

}  // namespace callgate::ledger
