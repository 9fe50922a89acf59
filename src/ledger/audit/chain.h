// The audit chain: gives events their number, their bytes and their hash, each hash covering the one before.
//
//     h_0 = SHA-256("callgate-audit-v1" || chain id)
//     h_n = SHA-256(0x01 || h_{n-1} || bytes of event n)
//
// The chain only computes. Whoever stores commits an event, its payloads and the tree's nodes in the same
// transaction as the change they tell of; if that fails, the chain goes back to the head it had before.
//
// Threads: belongs to one thread at a time, the ledger's writer; only draft() may be called from others.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <callgate/observer.h>

#include "base/rng.h"
#include "base/sha256.h"
#include "ledger/audit/event.h"
#include "ledger/audit/tree.h"

namespace callgate::ledger {

/// A text that belongs to an event and may be erased: arguments, detail, result. Bytes of any kind.
struct PayloadView {
    std::string_view field;
    std::string_view bytes;
};

struct StoredPayload {
    std::string field;
    Salt salt{};
    std::string bytes;
    bool sealed = false;  ///< `bytes` are as the ledger's file has them: only its key opens them

    bool operator==(const StoredPayload&) const = default;
};

/// All of an event but its place.
struct DraftedEvent {
    EventDraft text;
    std::vector<StoredPayload> payloads;
};

struct ChainedEvent {
    std::uint64_t sequence = 0;
    std::string bytes;
    Sha256Digest hash{};
};

/// The end of a chain, all that is needed to go on with it. A value: a copy is what one can go back to.
struct ChainHead {
    Sha256Digest hash{};  ///< h_n, where n is the tree's size
    Frontier tree;

    std::uint64_t size() const noexcept { return tree.size(); }
    bool operator==(const ChainHead&) const = default;
};

/// 1 to 64 of A-Z a-z 0-9 . _ -
bool is_chain_id(std::string_view id) noexcept;
/// h_0 and an empty tree.
ChainHead empty_head(std::string_view chain_id);
Sha256Digest next_hash(base::Sha256& hasher, const Sha256Digest& last, std::string_view event_bytes);

class AuditChain {
public:
    /// `head` is empty_head() or restore_head()'s (reader.h). `rng` must outlive this. Throws
    /// std::invalid_argument for a chain id that is none, or a boot id that is longer than 64 characters or
    /// not of the same characters.
    AuditChain(std::string chain_id, std::string boot_id, const ChainHead& head, base::Rng& rng);

    /// An event with its payloads, each hashed with a salt of its own. facts.detail becomes the payload
    /// "detail"; of the others, each field comes once and is none of event_texts(), else
    /// std::invalid_argument. Empty payloads are left out. May be called from any thread.
    DraftedEvent draft(const AuditFacts& facts, std::span<const PayloadView> payloads = {},
                       const KeyNames& keys = {}) const {
        return draft(facts, payloads, keys, rng_);
    }
    /// With salts from another Rng than rng().
    DraftedEvent draft(const AuditFacts& facts, std::span<const PayloadView> payloads, const KeyNames& keys,
                       base::Rng& salts) const;

    /// The next event. What it returns must be stored in the same transaction; if that fails, rewind().
    [[gnu::hot]] ChainedEvent append(const EventDraft& text, std::chrono::system_clock::time_point at,
                                     std::chrono::microseconds mono);

    /// The nodes to store, completed since the last call: in the same transaction, too.
    std::vector<TreeNode> take_nodes() { return std::exchange(nodes_, {}); }

    const ChainHead& head() const noexcept { return head_; }
    Sha256Digest root() { return head_.tree.root(hasher_); }
    const std::string& id() const noexcept { return chain_id_; }
    base::Rng& rng() const noexcept { return rng_; }

    /// Forget what came after `to`, a former head().
    void rewind(const ChainHead& to);

private:
    std::string chain_id_;
    std::string boot_id_;
    ChainHead head_;
    base::Rng& rng_;
    base::Sha256 hasher_;
    std::vector<TreeNode> nodes_;
};

}  // namespace callgate::ledger
