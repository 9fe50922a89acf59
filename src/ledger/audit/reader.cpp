#include "ledger/audit/reader.h"

#include "base/try.h"

#include <algorithm>

#include <fmt/format.h>

namespace callgate::ledger {
namespace {

template <class Rows>
auto of_range(const Rows& rows, std::uint64_t from, std::uint64_t to) {
    const auto position = [&](std::uint64_t sequence) {
        return std::partition_point(rows.begin(), rows.end(),
                                    [&](const auto& row) { return row.sequence < sequence; });
    };
    return from < to ? Rows(position(from), position(to)) : Rows();
}

}  // namespace

Result<ChainHead> restore_head(AuditReader& reader) {
    CALLGATE_TRY_ASSIGN(const auto size, reader.size());
    ChainHead head = empty_head(reader.chain_id());
    base::Sha256 hasher;
    int level = 0;
    while (size >> level >> kTileLevels != 0) level += kTileLevels;
    // From the largest tiles down: each level goes on where the one above it had to stop.
    for (; level > 0; level -= kTileLevels) {
        const std::uint64_t from = head.size() >> level;
        const std::uint64_t to = size >> level;
        CALLGATE_TRY_ASSIGN(const auto nodes, reader.nodes(level, from, to));
        for (const TreeNode& node : nodes) {
            if (node.level != level || node.index != head.size() >> level) break;
            head.tree.push_node(hasher, level, node.hash);
        }
        if (head.size() >> level != to)
            return fail(ErrorCode::audit_failure,
                        fmt::format("The audit's tree lacks its node {} of level {}, so its end cannot be "
                                    "restored; `callgate audit verify` says what else is missing.",
                                    head.size() >> level, level),
                        {{"reason", "node_missing"}, {"level", level}, {"index", head.size() >> level}});
    }
    CALLGATE_TRY_ASSIGN(const auto hashes, reader.hashes(head.size() + 1, size + 1));
    std::uint64_t read = head.size();
    for (const Sha256Digest& hash : hashes) {
        head.tree.push_leaf(hasher, leaf_hash(hasher, hash));
        head.hash = hash;
        ++read;
    }
    if (read == size && size != 0 && hashes.empty()) {
        // The size is a whole number of tiles: the last hash is in none of those read.
        CALLGATE_TRY_ASSIGN(const auto last, reader.hashes(size, size + 1));
        if (last.size() == 1)
            head.hash = last.front();
        else
            --read;
    }
    if (read != size)
        return fail(ErrorCode::audit_failure,
                    fmt::format("The audit's end cannot be restored: of its {} events some of the last are "
                                "missing; `callgate audit verify` says which.",
                                size),
                    {{"reason", "row_missing"}, {"size", size}});
    return head;
}

void MemoryAudit::add(ChainedEvent event, const std::vector<StoredPayload>& payloads) {
    for (const StoredPayload& payload : payloads) payloads_.push_back({event.sequence, payload});
    rows_.push_back({event.sequence, std::move(event.bytes), event.hash});
}

void MemoryAudit::add(const std::vector<TreeNode>& nodes) {
    for (const TreeNode& node : nodes) nodes_[{node.level, node.index}] = node.hash;
}

Result<std::uint64_t> MemoryAudit::size() {
    return rows_.empty() ? 0 : rows_.back().sequence;
}

Result<std::vector<AuditRow>> MemoryAudit::rows(std::uint64_t from, std::uint64_t to) {
    return of_range(rows_, from, to);
}

Result<std::vector<Sha256Digest>> MemoryAudit::hashes(std::uint64_t from, std::uint64_t to) {
    std::vector<Sha256Digest> out;
    for (const AuditRow& row : of_range(rows_, from, to)) out.push_back(row.hash);
    return out;
}

Result<std::vector<TreeNode>> MemoryAudit::nodes(int level, std::uint64_t from, std::uint64_t to) {
    std::vector<TreeNode> out;
    for (auto at = nodes_.lower_bound({level, from});
         at != nodes_.end() && at->first.first == level && at->first.second < to; ++at)
        out.push_back({level, at->first.second, at->second});
    return out;
}

Result<std::vector<PayloadRow>> MemoryAudit::payloads(std::uint64_t from, std::uint64_t to) {
    return of_range(payloads_, from, to);
}

Result<std::vector<std::string>> MemoryAudit::checkpoints(std::uint64_t& place, std::size_t limit) {
    const std::uint64_t from = std::min<std::uint64_t>(place, checkpoints_.size());
    place = std::min<std::uint64_t>(from + limit, checkpoints_.size());
    return std::vector<std::string>(checkpoints_.begin() + static_cast<std::ptrdiff_t>(from),
                                    checkpoints_.begin() + static_cast<std::ptrdiff_t>(place));
}

Result<std::optional<std::string>> MemoryAudit::latest_checkpoint() {
    if (checkpoints_.empty()) return std::nullopt;
    return checkpoints_.back();
}

}  // namespace callgate::ledger
