// The rows of the in-memory ledger: found by call id and by key, the finished ones in the order they ended,
// and the tombstones of keys whose outcome is gone.
//
// Bounded: past `max_rows` or `max_bytes` the oldest finished row becomes a tombstone, past `max_tombstones`
// the oldest tombstone goes (only then, or after its time, does a key count as new again). Running and
// unknown rows are never pushed out. What is due is judged by the monotonic clock: setting the machine's
// clock neither frees a key nor spends one.
//
// Threads: one at a time; MemoryLedger holds its lock.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/sha256.h"
#include "ledger/call_row.h"

namespace callgate::ledger {

class Waiter;

struct CallRowLimits {
    std::chrono::nanoseconds key_ttl;
    std::chrono::nanoseconds tombstone_ttl;
    std::size_t max_rows;
    std::size_t max_tombstones;
    std::size_t max_bytes;
};

/// About the memory that a row's arguments and outcome hold.
std::size_t bytes_of(const CallRow& row);

class CallRows {
public:
    struct Entry {
        CallRow row;
        std::vector<std::shared_ptr<Waiter>> waiters;
        bool finished = false;
        std::size_t bytes = 0;
        base::MonotonicTime expires{};
        std::list<Entry*>::iterator place{};
    };

    explicit CallRows(const CallRowLimits& limits) : limits_(limits) {}

    Entry* by_call(const CallId& call_id, base::MonotonicTime now);
    /// Null for the empty key.
    Entry* by_key(const KeyScope& key, base::MonotonicTime now);
    /// The key was used, and its outcome is gone.
    bool is_spent(const KeyScope& key, base::MonotonicTime now) const;

    /// For a row of this size. False: what is left is running or unknown.
    bool make_room(std::size_t bytes, base::MonotonicTime now);
    /// Its outcome has come, or gone.
    void weigh(Entry& entry);
    /// The oldest finished rows go until all fit; entries that were found before may be gone.
    void shrink(base::MonotonicTime now);
    /// The call id must be new. A row that stands under the same key is found by its call id only from now
    /// on.
    Entry& insert(CallRow row);
    /// It ended and is kept for replays until it expires.
    void finish(Entry& entry, base::WallTime wall, base::MonotonicTime now);
    void remove(Entry& entry);

    /// In the order of their call ids.
    std::vector<Entry*> all();

    std::size_t size() const noexcept { return rows_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t tombstones() const noexcept { return tombstones_.size(); }

private:
    struct CallIdHash {
        std::size_t operator()(const CallId& id) const noexcept;
    };
    struct ByKey {
        using is_transparent = void;
        bool operator()(const Entry* a, const Entry* b) const noexcept { return a->row.key < b->row.key; }
        bool operator()(const Entry* a, const KeyScope& b) const noexcept { return a->row.key < b; }
        bool operator()(const KeyScope& a, const Entry* b) const noexcept { return a < b->row.key; }
    };
    struct Tombstone {
        base::Sha256Digest key;
        base::MonotonicTime until;
    };

    bool is_due(const Entry& entry, base::MonotonicTime now) const noexcept;
    void bury(Entry& entry, base::MonotonicTime now);
    void bury_due(base::MonotonicTime now);

    CallRowLimits limits_;
    std::size_t bytes_ = 0;
    std::unordered_map<CallId, Entry, CallIdHash> rows_;
    std::set<Entry*, ByKey> keys_;  // ordered, so that no choice of keys makes it slow
    std::list<Entry*> finished_;    // oldest end first
    std::map<base::Sha256Digest, base::MonotonicTime> tombstones_;
    std::deque<Tombstone> tombstone_order_;
};

}  // namespace callgate::ledger
