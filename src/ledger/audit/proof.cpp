#include "ledger/audit/proof.h"

#include "base/try.h"

#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>

namespace callgate::ledger {
namespace {

constexpr std::uint64_t kTile = std::uint64_t{1} << kTileLevels;

bool odd(std::uint64_t number) {
    return (number & 1) != 0;
}

/// The largest power of two below `size`, which is at least 2: where a tree splits.
std::uint64_t split_of(std::uint64_t size) {
    return std::bit_floor(size - 1);
}

/// The hashes of any part of a stored tree, read tile by tile, each tile once.
class StoredTree {
public:
    StoredTree(AuditReader& reader, std::uint64_t size) : reader_(reader), size_(size) {}

    std::uint64_t size() const noexcept { return size_; }

    /// The root of the leaves [begin, end), which begin at a multiple of the power of two above their number.
    Result<Sha256Digest> range(std::uint64_t begin, std::uint64_t end) {
        const std::uint64_t count = end - begin;
        if (count == 0) return empty_root();
        if (std::has_single_bit(count)) {
            const int level = std::countr_zero(count);
            return complete(level, begin >> level);
        }
        const std::uint64_t split = split_of(count);
        CALLGATE_TRY_ASSIGN(const auto left, range(begin, begin + split));
        CALLGATE_TRY_ASSIGN(const auto right, range(begin + split, end));
        return node_hash(hasher_, left, right);
    }

private:
    /// The root of a complete subtree.
    Result<Sha256Digest> complete(int level, std::uint64_t index) {
        const int below = level % kTileLevels;
        CALLGATE_TRY_ASSIGN(const auto tile, this->tile(level - below, (index << below) / kTile));
        const auto first = static_cast<std::size_t>((index << below) % kTile);
        const std::size_t width = std::size_t{1} << below;
        std::vector<Sha256Digest> row(tile->begin() + static_cast<std::ptrdiff_t>(first),
                                      tile->begin() + static_cast<std::ptrdiff_t>(first + width));
        for (; row.size() > 1; row.resize(row.size() / 2))
            for (std::size_t i = 0; i < row.size() / 2; ++i)
                row[i] = node_hash(hasher_, row[2 * i], row[2 * i + 1]);
        return row[0];
    }

    /// Up to 256 neighbours of a stored level, or of the leaves.
    Result<const std::vector<Sha256Digest>*> tile(int level, std::uint64_t number) {
        const auto [at, fresh] = tiles_.try_emplace({level, number});
        if (!fresh) return &at->second;
        const std::uint64_t from = number * kTile;
        const std::uint64_t to = std::min(from + kTile, size_ >> level);
        auto hashes = level == 0 ? leaves(from, to) : nodes(level, from, to);
        if (!hashes) {
            tiles_.erase(at);
            return tl::unexpected(hashes.error());
        }
        at->second = std::move(*hashes);
        return &at->second;
    }

    Result<std::vector<Sha256Digest>> leaves(std::uint64_t from, std::uint64_t to) {
        CALLGATE_TRY_ASSIGN(auto hashes, reader_.hashes(from + 1, to + 1));
        if (hashes.size() != to - from)
            return fail(
                ErrorCode::audit_failure,
                fmt::format("Of the audit's events {} to {} some are missing; `callgate audit verify` "
                            "says which.",
                            from + 1, to),
                {{"reason", "row_missing"}});
        for (Sha256Digest& hash : hashes) hash = leaf_hash(hasher_, hash);
        return hashes;
    }

    Result<std::vector<Sha256Digest>> nodes(int level, std::uint64_t from, std::uint64_t to) {
        CALLGATE_TRY_ASSIGN(const auto stored, reader_.nodes(level, from, to));
        std::vector<Sha256Digest> out;
        for (const TreeNode& node : stored) {
            if (node.index != from + out.size()) break;
            out.push_back(node.hash);
        }
        if (out.size() != to - from)
            return fail(
                ErrorCode::audit_failure,
                fmt::format("The audit's tree lacks its node {} of level {}; `callgate audit verify` says "
                            "what else is missing.",
                            from + out.size(), level),
                {{"reason", "node_missing"}, {"level", level}, {"index", from + out.size()}});
        return out;
    }

    AuditReader& reader_;
    std::uint64_t size_;
    base::Sha256 hasher_;
    std::map<std::pair<int, std::uint64_t>, std::vector<Sha256Digest>> tiles_;
};

Result<StoredTree> open_tree(AuditReader& reader, std::uint64_t first, std::uint64_t last,
                             std::uint64_t least) {
    CALLGATE_TRY_ASSIGN(const auto size, reader.size());
    if (first < least || first > last || last > size)
        return fail(ErrorCode::invalid_arguments,
                    fmt::format("The log has {} events; {} of {} cannot be proven.", size, first, last),
                    {{"reason", "no_such_event"}, {"size", size}});
    return StoredTree(reader, size);
}

}  // namespace

Result<Sha256Digest> root_at(AuditReader& reader, std::uint64_t size) {
    CALLGATE_TRY_ASSIGN(auto tree, open_tree(reader, size, size, 0));
    return tree.range(0, size);
}

Result<ProofPath> inclusion_proof(AuditReader& reader, std::uint64_t sequence, std::uint64_t size) {
    CALLGATE_TRY_ASSIGN(auto tree, open_tree(reader, sequence, size, 1));
    // From the root down: at every split the other side's root belongs to the proof.
    ProofPath path;
    const std::uint64_t leaf = sequence - 1;
    std::uint64_t begin = 0;
    std::uint64_t end = size;
    while (end - begin > 1) {
        const std::uint64_t middle = begin + split_of(end - begin);
        const bool left = leaf < middle;
        CALLGATE_TRY_ASSIGN(const auto other, left ? tree.range(middle, end) : tree.range(begin, middle));
        path.push_back(other);
        (left ? end : begin) = middle;
    }
    return ProofPath(path.rbegin(), path.rend());
}

Result<ProofPath> consistency_proof(AuditReader& reader, std::uint64_t from, std::uint64_t to) {
    CALLGATE_TRY_ASSIGN(auto tree, open_tree(reader, from, to, 0));
    ProofPath path;
    if (from == 0 || from == to) return path;
    std::uint64_t begin = 0;
    std::uint64_t end = to;
    const auto add = [&](std::uint64_t first, std::uint64_t last) -> Result<void> {
        CALLGATE_TRY_ASSIGN(const auto hash, tree.range(first, last));
        path.push_back(hash);
        return {};
    };
    while (from != end) {
        const std::uint64_t middle = begin + split_of(end - begin);
        const bool left = from <= middle;
        CALLGATE_TRY(left ? add(middle, end) : add(begin, middle));
        (left ? end : begin) = middle;
    }
    // The old tree itself needs no proof where it is a complete subtree of the new one.
    if (begin != 0) CALLGATE_TRY(add(begin, end));
    return ProofPath(path.rbegin(), path.rend());
}

// RFC 9162, section 2.1.3.2.
bool verify_inclusion(const Sha256Digest& event_hash, std::uint64_t sequence, std::uint64_t size,
                      std::span<const Sha256Digest> path, const Sha256Digest& root) {
    if (sequence == 0 || sequence > size) return false;
    base::Sha256 hasher;
    std::uint64_t node = sequence - 1;
    std::uint64_t last = size - 1;
    Sha256Digest hash = leaf_hash(hasher, event_hash);
    for (const Sha256Digest& step : path) {
        if (last == 0) return false;
        if (odd(node) || node == last) {
            hash = node_hash(hasher, step, hash);
            while (!odd(node) && node != 0) {
                node >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(hasher, hash, step);
        }
        node >>= 1;
        last >>= 1;
    }
    return last == 0 && hash == root;
}

// RFC 9162, section 2.1.4.2.
bool verify_consistency(std::uint64_t from, const Sha256Digest& from_root, std::uint64_t to,
                        const Sha256Digest& to_root, std::span<const Sha256Digest> path) {
    if (from > to) return false;
    if (from == to) return path.empty() && from_root == to_root;
    if (from == 0) return path.empty() && from_root == empty_root();
    std::uint64_t node = from - 1;
    std::uint64_t last = to - 1;
    while (odd(node)) {
        node >>= 1;
        last >>= 1;
    }
    base::Sha256 hasher;
    Sha256Digest old_hash = from_root;
    Sha256Digest new_hash = from_root;
    if (!std::has_single_bit(from)) {
        if (path.empty()) return false;
        old_hash = new_hash = path.front();
        path = path.subspan(1);
    }
    for (const Sha256Digest& step : path) {
        if (last == 0) return false;
        if (odd(node) || node == last) {
            old_hash = node_hash(hasher, step, old_hash);
            new_hash = node_hash(hasher, step, new_hash);
            while (!odd(node) && node != 0) {
                node >>= 1;
                last >>= 1;
            }
        } else {
            new_hash = node_hash(hasher, new_hash, step);
        }
        node >>= 1;
        last >>= 1;
    }
    return last == 0 && old_hash == from_root && new_hash == to_root;
}

}  // namespace callgate::ledger
