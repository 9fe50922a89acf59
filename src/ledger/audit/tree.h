// The Merkle tree beside the chain (RFC 6962): short proofs that an event is in the log, and that one log is
// the beginning of another.
//
// Leaf number i (from 0) is the chain's hash of event i + 1, so a leaf commits to the event and to all before
// it. A tree is held as its frontier: the roots of the complete subtrees that its size consists of. Complete
// subtrees of 2^8, 2^16, 2^24 … leaves are stored as they fill up ("tiles" of 256), the rest is
// computed again from those below.
//
// Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/sha256.h"

namespace callgate::ledger {

using base::Sha256Digest;

inline constexpr int kTileLevels = 8;     ///< a stored node covers this many levels more than those below
inline constexpr int kMaxTreeLevel = 53;  ///< sizes stay below 2^53

/// The root of a complete subtree: the leaves [index << level, (index + 1) << level).
struct TreeNode {
    int level = 0;
    std::uint64_t index = 0;
    Sha256Digest hash{};

    bool operator==(const TreeNode&) const = default;
};

Sha256Digest leaf_hash(base::Sha256& hasher, const Sha256Digest& event_hash);
Sha256Digest node_hash(base::Sha256& hasher, const Sha256Digest& left, const Sha256Digest& right);
/// SHA-256 of nothing, the root of a log without events.
Sha256Digest empty_root();

inline std::string_view view_of(const Sha256Digest& digest) noexcept {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

class Frontier {
public:
    std::uint64_t size() const noexcept { return size_; }

    /// One more leaf. Calls `completed(node)` for every subtree that it completes, not for the leaf.
    template <class Completed>
    void push_leaf(base::Sha256& hasher, const Sha256Digest& leaf, Completed completed) {
        push(hasher, 0, leaf, completed);
    }
    void push_leaf(base::Sha256& hasher, const Sha256Digest& leaf) {
        push(hasher, 0, leaf, [](const TreeNode&) {});
    }
    /// A complete subtree of 2^level leaves at once; the size must be a multiple of that.
    void push_node(base::Sha256& hasher, int level, const Sha256Digest& hash) {
        push(hasher, level, hash, [](const TreeNode&) {});
    }

    Sha256Digest root(base::Sha256& hasher) const;

    bool operator==(const Frontier& other) const noexcept;

private:
    template <class Completed>
    void push(base::Sha256& hasher, int level, Sha256Digest hash, Completed completed) {
        const std::uint64_t begin = size_;
        size_ += std::uint64_t{1} << level;
        while ((begin >> level & 1) != 0) {
            hash = node_hash(hasher, peaks_[static_cast<std::size_t>(level)], hash);
            ++level;
            completed(TreeNode{level, begin >> level, hash});
        }
        peaks_[static_cast<std::size_t>(level)] = hash;
    }

    std::uint64_t size_ = 0;
    // The root of the subtree of 2^i leaves, where bit i of the size is set; else left over.
    std::array<Sha256Digest, kMaxTreeLevel> peaks_{};
};

}  // namespace callgate::ledger
