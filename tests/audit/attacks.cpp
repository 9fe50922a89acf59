#include "attacks.h"

#include <algorithm>
#include <array>

#include "ledger/audit/event.h"
#include "ledger/audit/export.h"

namespace callgate::audit {
namespace {

using namespace ledger;

/// An event's place, from 0.
std::size_t any_event(const AuditLog& log, base::Rng& rng) {
    return rng.below(log.size());
}

/// Not the one that names the first key: without it everything after it is a mess of its own.
std::size_t any_later_event(const AuditLog& log, base::Rng& rng) {
    return 1 + rng.below(log.size() - 1);
}

bool names_key(const LogEvent& event) {
    EventView view;
    return !scan_event(event.bytes, view) && view.has(Member::key);
}

bool changes_key(const LogEvent& event) {
    EventView view;
    return !scan_event(event.bytes, view) && view.has(Member::old_key);
}

/// Changes something that an event says.
bool edit(LogEvent& event, base::Rng& rng) {
    constexpr std::array kEdits{
        std::pair(Member::tool, std::string_view("\"harmless\"")),
        std::pair(Member::principal, std::string_view("\"somebody else\"")),
        std::pair(Member::type, std::string_view("\"tool_call.deduped\"")),
        std::pair(Member::risk, std::string_view("\"none\"")),
        std::pair(Member::time, std::string_view("1790000000000001")),
        std::pair(Member::latency_ns, std::string_view("1")),
        std::pair(Member::outcome, std::string_view("\"success\"")),
        std::pair(Member::call, std::string_view("\"00000000-0000-0000-0000-000000000001\"")),
    };
    const LogEvent before = event;
    const auto& [member, value] = kEdits[rng.below(kEdits.size())];
    return set_member(event.bytes, member, value) && event != before;
}

/// After events were taken out or put in, a checkpoint stays at its place or moves with the events.
void shift_notes(AuditLog& log, std::size_t from, std::int64_t by, base::Rng& rng) {
    if (rng.below(2) == 0) return;
    for (LogNote& note : log.notes)
        if (note.after > from)
            note.after = static_cast<std::uint64_t>(static_cast<std::int64_t>(note.after) + by);
}

/// Half of the attackers make numbers and hashes fit again.
void maybe_mend(AuditLog& log, base::Rng& rng) {
    if (rng.below(2) == 0) return;
    log.renumber();
    log.rehash();
}

/// Somewhere that leaves at least one checkpoint and cuts off something that the witness has seen.
std::uint64_t cut_between(const AuditLog& log, base::Rng& rng) {
    const std::uint64_t first = log.notes.front().after;
    return first + rng.below(log.signed_size() - first);
}

Attacked bit_flip(const AuditLog& log, base::Rng& rng) {
    std::string text = log.text();
    const std::size_t at = rng.below(text.size());
    text[at] = static_cast<char>(text[at] ^ 1 << rng.below(8));
    return {std::move(text)};
}

Attacked field_edit(const AuditLog& log, base::Rng& rng) {
    AuditLog changed = log;
    std::size_t at = any_event(log, rng);
    while (!edit(changed.events[at], rng)) at = any_event(log, rng);
    // Some sign with keys of their own, and some of those put them into the log, too.
    const std::uint64_t boldness = rng.below(4);
    if (boldness > 1) {
        for (SigningKey& key : changed.keys) {
            const std::string vkey = key.verifying_key().vkey();
            key = SigningKey::generate(audit_origin(log.chain), rng);
            const std::string own = key.verifying_key().vkey();
            if (boldness == 3)
                for (LogEvent& event : changed.events)
                    for (std::size_t found; (found = event.bytes.find(vkey)) != std::string::npos;)
                        event.bytes.replace(found, vkey.size(), own);
        }
    }
    changed.rehash();
    if (boldness > 1) changed.resign();
    return {changed.text()};
}

Attacked delete_middle(const AuditLog& log, base::Rng& rng) {
    AuditLog changed = log;
    const std::size_t at = any_event(log, rng);
    const std::size_t count = 1 + rng.below(std::min<std::size_t>(3, log.size() - at));
    const auto first = changed.events.begin() + static_cast<std::ptrdiff_t>(at);
    changed.events.erase(first, first + static_cast<std::ptrdiff_t>(count));
    shift_notes(changed, at, -static_cast<std::int64_t>(std::min<std::size_t>(count, 1)), rng);
    maybe_mend(changed, rng);
    return {changed.text()};
}

Attacked reorder(const AuditLog& log, base::Rng& rng) {
    AuditLog changed = log;
    const std::size_t one = any_event(log, rng);
    const std::size_t two = (one + 1 + rng.below(log.size() - 1)) % log.size();
    std::swap(changed.events[one], changed.events[two]);
    maybe_mend(changed, rng);
    return {changed.text()};
}

Attacked insert(const AuditLog& log, base::Rng& rng) {
    AuditLog changed = log;
    LogEvent forged = log.events[any_later_event(log, rng)];
    while (!edit(forged, rng)) forged = log.events[any_later_event(log, rng)];
    const std::size_t at = any_event(log, rng);
    changed.events.insert(changed.events.begin() + static_cast<std::ptrdiff_t>(at), forged);
    shift_notes(changed, at, 1, rng);
    maybe_mend(changed, rng);
    return {changed.text()};
}

Attacked duplicate(const AuditLog& log, base::Rng& rng) {
    AuditLog changed = log;
    // Not behind the last checkpoint: what is put there is not signed, and the report says so.
    const std::size_t from = any_event(log, rng);
    const std::size_t at = rng.below(2) == 0 && from + 1 < log.size() ? from + 1 : any_event(log, rng);
    changed.events.insert(changed.events.begin() + static_cast<std::ptrdiff_t>(at), log.events[from]);
    shift_notes(changed, at, 1, rng);
    maybe_mend(changed, rng);
    return {changed.text()};
}

Attacked truncate_tail(const AuditLog& log, base::Rng& rng) {
    AuditLog changed = log;
    const std::uint64_t kept = cut_between(log, rng);
    changed.events.resize(kept);
    // Whoever forgets the checkpoints is found out by them.
    const bool careful = rng.below(4) != 0;
    if (careful) std::erase_if(changed.notes, [&](const LogNote& note) { return note.after > kept; });
    return {changed.text(), careful};
}

Attacked full_rewrite(const AuditLog& log, base::Rng& rng) {
    // All keys are stolen: another past from the first event, or from somewhere in the middle, with every
    // hash and signature right.
    if (rng.below(2) == 0) return {continue_log(log, 0, 10 + rng.below(80), rng).text(), true};
    AuditLog changed = log;
    std::size_t at = any_later_event(log, rng);
    while (names_key(changed.events[at]) || !edit(changed.events[at], rng)) {
        changed.events[at] = log.events[at];
        at = any_later_event(log, rng);
    }
    changed.rehash(at);
    changed.resign();
    return {changed.text(), true};
}

Attacked fork(const AuditLog& log, base::Rng& rng) {
    const std::uint64_t kept = cut_between(log, rng);
    return {continue_log(log, kept, 1 + rng.below(60), rng).text(), true};
}

Attacked checkpoint_rollback(const AuditLog& log, base::Rng& rng) {
    AuditLog changed = log;
    // An older checkpoint becomes the last one. What it does not cover can be changed by anybody.
    const std::size_t kept = 1 + rng.below(log.notes.size() - 1);
    changed.notes.resize(kept);
    const std::uint64_t covered = changed.notes.back().after;
    // Two changes of the key without a checkpoint between them show that one is missing.
    const auto keys = std::count_if(log.events.begin() + static_cast<std::ptrdiff_t>(covered),
                                    log.events.end(), changes_key);
    if (keys > 1 || rng.below(2) == 0) {
        changed.events.resize(covered);
        return {changed.text(), true};
    }
    std::size_t at = covered + rng.below(log.size() - covered);
    for (int tries = 0; names_key(changed.events[at]) || !edit(changed.events[at], rng); ++tries) {
        changed.events[at] = log.events[at];
        at = covered + rng.below(log.size() - covered);
        if (tries == 100) {  // only events that name keys are left
            changed.events.resize(covered);
            return {changed.text(), true};
        }
    }
    changed.rehash(at);
    return {changed.text(), true};
}

Attacked payload_swap(const AuditLog& log, base::Rng& rng) {
    AuditLog changed = log;
    std::vector<std::size_t> with;
    for (std::size_t i = 0; i < log.size(); ++i)
        if (!log.events[i].payloads.empty()) with.push_back(i);
    if (with.empty()) return full_rewrite(log, rng);
    LogEvent& event = changed.events[with[rng.below(with.size())]];
    StoredPayload& payload = event.payloads[rng.below(event.payloads.size())];
    switch (rng.below(4)) {
        case 0:  // another text
            payload.bytes += "!";
            return {changed.text()};
        case 1: {  // that of another event, salt and all
            const LogEvent& other = log.events[with[rng.below(with.size())]];
            const StoredPayload& taken = other.payloads[rng.below(other.payloads.size())];
            if (taken.bytes == payload.bytes && taken.salt == payload.salt)
                payload.salt[0] ^= 1;
            else {
                payload.salt = taken.salt;
                payload.bytes = taken.bytes;
            }
            return {changed.text()};
        }
        case 2:  // under another name
            payload.field = "zzz";
            std::sort(event.payloads.begin(), event.payloads.end(),
                      [](const auto& a, const auto& b) { return a.field < b.field; });
            return {changed.text()};
        default: break;
    }
    // With the stolen keys: the event commits to the other text.
    base::Sha256 hasher;
    const std::string old_commit = base::to_hex(commit_to(hasher, payload.salt, payload.bytes));
    payload.bytes = "what they would have liked to say";
    const std::string commit = base::to_hex(commit_to(hasher, payload.salt, payload.bytes));
    event.bytes.replace(event.bytes.find(old_commit), old_commit.size(), commit);
    changed.rehash();
    changed.resign();
    return {changed.text(), true};
}

Attacked clock_rewrite(const AuditLog& log, base::Rng& rng) {
    AuditLog changed = log;
    // All of it from some event on happened at another time.
    const std::uint64_t shift = 1 + rng.below(86'400'000'000);
    const std::size_t from = any_event(log, rng);
    EventView view;
    for (std::size_t i = from; i < log.size(); ++i) {
        if (scan_event(log.events[i].bytes, view)) continue;
        set_member(changed.events[i].bytes, Member::time, std::to_string(view.number(Member::time) - shift));
    }
    changed.rehash();
    const bool stolen = rng.below(2) == 0;
    if (stolen) changed.resign();
    return {changed.text(), stolen};
}

constexpr std::array kAttacks{
    Attack{"bit_flip", bit_flip},
    Attack{"field_edit_rehashed", field_edit},
    Attack{"delete_middle", delete_middle},
    Attack{"reorder", reorder},
    Attack{"insert", insert},
    Attack{"duplicate", duplicate},
    Attack{"tail_truncation", truncate_tail},
    Attack{"full_rewrite_stolen_key", full_rewrite},
    Attack{"fork_split_view", fork},
    Attack{"checkpoint_rollback", checkpoint_rollback},
    Attack{"payload_swap", payload_swap},
    Attack{"clock_rewrite", clock_rewrite},
};

}  // namespace

std::span<const Attack> attacks() {
    return kAttacks;
}

}  // namespace callgate::audit
