#include "ledger/call_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "json/size.h"
#include "ledger/digest.h"
#include "ledger/ledger.h"

namespace callgate::ledger {

namespace {

/// What one operation clears away at most, so that none has to pay for all.
constexpr int kBuriedAtOnce = 32;

}  // namespace

std::size_t CallRows::CallIdHash::operator()(const CallId& id) const noexcept {
    // The last eight bytes of a version 7 id are random or count up from something random.
    std::uint64_t bits = 0;
    std::memcpy(&bits, id.data() + 8, sizeof bits);
    return static_cast<std::size_t>(bits * 0x9E3779B97F4A7C15ull >> 7);
}

bool CallRows::is_due(const Entry& entry, base::MonotonicTime now) const noexcept {
    return entry.finished && entry.expires <= now;
}

CallRows::Entry* CallRows::by_call(const CallId& call_id, base::MonotonicTime now) {
    const auto found = rows_.find(call_id);
    if (found == rows_.end()) return nullptr;
    if (!is_due(found->second, now)) return &found->second;
    bury(found->second, now);
    return nullptr;
}

CallRows::Entry* CallRows::by_key(const KeyScope& key, base::MonotonicTime now) {
    bury_due(now);
    if (key.key.empty()) return nullptr;
    const auto found = keys_.find(key);
    if (found == keys_.end()) return nullptr;
    if (!is_due(**found, now)) return *found;
    bury(**found, now);
    return nullptr;
}

bool CallRows::is_spent(const KeyScope& key, base::MonotonicTime now) const {
    if (key.key.empty() || tombstones_.empty()) return false;
    const auto found = tombstones_.find(hash_of(key));
    return found != tombstones_.end() && now < found->second;
}

std::size_t bytes_of(const CallRow& row) {
    std::size_t bytes = sizeof(CallRows::Entry) + row.key.tenant.size() + row.key.principal.size() +
                        row.key.tool.size() + row.key.key.size() + row.action.size();
    if (row.arguments) bytes += json::held_bytes(*row.arguments);
    if (!row.outcome) return bytes;
    const StoredOutcome& outcome = *row.outcome;
    bytes += sizeof(StoredOutcome) + outcome.result.raw.size() + json::held_bytes(outcome.result.value);
    if (outcome.result.structured) bytes += json::held_bytes(*outcome.result.structured);
    for (const Block& block : outcome.result.blocks) {
        bytes += sizeof(Block) + block.text.size() + block.data.size() + block.uri.size() +
                 block.name.size() + block.mime_type.size() + json::held_bytes(block.json);
    }
    if (outcome.error) {
        bytes += outcome.error->message.size();
        for (const auto& member : outcome.error->details)
            bytes += member.key().size() + json::held_bytes(member.value());
    }
    return bytes;
}

bool CallRows::make_room(std::size_t bytes, base::MonotonicTime now) {
    const auto fits = [&] {
        return rows_.size() < limits_.max_rows && bytes_ <= limits_.max_bytes &&
               bytes <= limits_.max_bytes - bytes_;
    };
    while (!fits() && !finished_.empty()) bury(*finished_.front(), now);
    return fits();
}

void CallRows::weigh(Entry& entry) {
    bytes_ -= entry.bytes;
    entry.bytes = bytes_of(entry.row);
    bytes_ += entry.bytes;
}

void CallRows::shrink(base::MonotonicTime now) {
    while (bytes_ > limits_.max_bytes && !finished_.empty()) bury(*finished_.front(), now);
}

CallRows::Entry& CallRows::insert(CallRow row) {
    const CallId id = row.call_id;
    Entry& entry = rows_[id];
    entry.row = std::move(row);
    if (!entry.row.key.key.empty()) {
        if (const auto before = keys_.find(entry.row.key); before != keys_.end()) keys_.erase(before);
        keys_.insert(&entry);
    }
    weigh(entry);
    return entry;
}

void CallRows::finish(Entry& entry, base::WallTime wall, base::MonotonicTime now) {
    if (entry.finished) return;
    entry.finished = true;
    entry.expires = now + std::chrono::duration_cast<base::MonotonicTime::duration>(limits_.key_ttl);
    entry.row.expires_at = wall + std::chrono::duration_cast<base::WallTime::duration>(limits_.key_ttl);
    entry.place = finished_.insert(finished_.end(), &entry);
}

void CallRows::remove(Entry& entry) {
    bytes_ -= entry.bytes;
    if (entry.finished) finished_.erase(entry.place);
    if (const auto found = keys_.find(entry.row.key); found != keys_.end() && *found == &entry)
        keys_.erase(found);
    rows_.erase(CallId(entry.row.call_id));  // a copy: the key must outlive what it erases
}

std::vector<CallRows::Entry*> CallRows::all() {
    std::vector<Entry*> entries;
    entries.reserve(rows_.size());
    for (auto& [id, entry] : rows_) entries.push_back(&entry);
    std::ranges::sort(entries, {}, [](const Entry* entry) { return entry->row.call_id; });
    return entries;
}

void CallRows::bury(Entry& entry, base::MonotonicTime now) {
    const auto standing = keys_.find(entry.row.key);
    // Counted from when the row would have expired, however early it had to go.
    const auto until =
        entry.expires + std::chrono::duration_cast<base::MonotonicTime::duration>(limits_.tombstone_ttl);
    if (standing != keys_.end() && *standing == &entry && now < until) {
        const base::Sha256Digest key = hash_of(entry.row.key);
        tombstones_.insert_or_assign(key, until);
        tombstone_order_.push_back({key, until});
    }
    remove(entry);
    while (tombstones_.size() > limits_.max_tombstones) {
        const Tombstone& oldest = tombstone_order_.front();
        const auto found = tombstones_.find(oldest.key);
        if (found != tombstones_.end() && found->second == oldest.until) tombstones_.erase(found);
        tombstone_order_.pop_front();
    }
}

void CallRows::bury_due(base::MonotonicTime now) {
    for (int i = 0; i < kBuriedAtOnce && !finished_.empty() && is_due(*finished_.front(), now); ++i) {
        bury(*finished_.front(), now);
    }
    for (int i = 0; i < kBuriedAtOnce && !tombstone_order_.empty() && tombstone_order_.front().until <= now;
         ++i) {
        const Tombstone& oldest = tombstone_order_.front();
        const auto found = tombstones_.find(oldest.key);
        if (found != tombstones_.end() && found->second == oldest.until) tombstones_.erase(found);
        tombstone_order_.pop_front();
    }
}

}  // namespace callgate::ledger
