#include "ledger/audit/signed_head.h"

#include <bit>

namespace callgate::ledger {

std::optional<ChainHead> head_of(const SignedHead& head, const Checkpoint& checkpoint) {
    const std::uint64_t size = checkpoint.size;
    if (size == 0 || size > kMaxAuditInteger) return std::nullopt;
    const int lowest = std::countr_zero(size);
    const auto steps = static_cast<std::size_t>(lowest + std::popcount(size) - 1);
    if (head.path.size() != steps) return std::nullopt;

    // The last leaf's neighbours are all to its left: up to the smallest complete subtree of this size they
    // are parts of it, and then they are the other complete subtrees, from small to large.
    base::Sha256 hasher;
    Sha256Digest node = leaf_hash(hasher, head.hash);
    std::size_t step = 0;
    for (; step < static_cast<std::size_t>(lowest); ++step) node = node_hash(hasher, head.path[step], node);
    ChainHead made;
    made.hash = head.hash;
    for (int level = kMaxTreeLevel - 1; level > lowest; --level) {
        if ((size >> level & 1) == 0) continue;
        const auto larger = static_cast<std::size_t>(std::popcount(size >> (level + 1)));
        made.tree.push_node(hasher, level, head.path[head.path.size() - 1 - larger]);
    }
    made.tree.push_node(hasher, lowest, node);
    if (made.tree.root(hasher) != checkpoint.root) return std::nullopt;
    return made;
}

}  // namespace callgate::ledger
