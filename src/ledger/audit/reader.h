// The stored audit, as those read it who prove, verify, export, or go on with the chain. Every storage
// implements AuditReader; this file has one in memory.
//
// A reader tells what is stored, whatever that is: nobody has checked it. Events are numbered from 1.
//
// Threads: a reader belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>

#include "ledger/audit/chain.h"
#include "ledger/audit/signed_head.h"

namespace callgate::ledger {

struct AuditRow {
    std::uint64_t sequence = 0;
    std::string bytes;
    Sha256Digest hash{};

    bool operator==(const AuditRow&) const = default;
};

struct PayloadRow {
    std::uint64_t sequence = 0;
    StoredPayload payload;
};

class AuditReader {
public:
    virtual ~AuditReader() = default;

    virtual const std::string& chain_id() const = 0;
    /// The number of the last event; 0 where there is none.
    virtual Result<std::uint64_t> size() = 0;
    /// The stored events with numbers in [from, to), by number. Ask for few thousand at once.
    virtual Result<std::vector<AuditRow>> rows(std::uint64_t from, std::uint64_t to) = 0;
    /// Their hashes alone.
    virtual Result<std::vector<Sha256Digest>> hashes(std::uint64_t from, std::uint64_t to) = 0;
    /// The stored nodes of a level (8, 16, …) with indexes in [from, to), by index.
    virtual Result<std::vector<TreeNode>> nodes(int level, std::uint64_t from, std::uint64_t to) = 0;
    /// The payloads, not erased, of the events with numbers in [from, to), by number.
    virtual Result<std::vector<PayloadRow>> payloads(std::uint64_t from, std::uint64_t to) = 0;
    /// Signed notes (checkpoint.h), oldest first, at most `limit` of those behind `place`, which becomes the
    /// place of the last; 0 at first. There may be millions.
    virtual Result<std::vector<std::string>> checkpoints(std::uint64_t& place, std::size_t limit) = 0;
    virtual Result<std::optional<std::string>> latest_checkpoint() = 0;
    /// Where the log goes on, if its beginning was archived: the events before are in segments, and this
    /// reader gives none of them.
    virtual Result<std::optional<SignedHead>> archived() { return std::optional<SignedHead>(); }
};

/// The head of a stored chain. Reads the stored nodes at the tree's edge, at most 255 of each level, and the
/// last 255 hashes at most. audit_failure {reason: node_missing | row_missing} where they are not all there.
Result<ChainHead> restore_head(AuditReader& reader);

/// A log in memory: for tests, and for logs that were read from an export. What is added comes by number.
class MemoryAudit final : public AuditReader {
public:
    explicit MemoryAudit(std::string chain_id) : chain_id_(std::move(chain_id)) {}

    void add(ChainedEvent event, const std::vector<StoredPayload>& payloads = {});
    void add(AuditRow row) { rows_.push_back(std::move(row)); }
    void add(PayloadRow payload) { payloads_.push_back(std::move(payload)); }
    void add(const std::vector<TreeNode>& nodes);
    void add_checkpoint(std::string note) { checkpoints_.push_back(std::move(note)); }

    const std::string& chain_id() const override { return chain_id_; }
    Result<std::uint64_t> size() override;
    Result<std::vector<AuditRow>> rows(std::uint64_t from, std::uint64_t to) override;
    Result<std::vector<Sha256Digest>> hashes(std::uint64_t from, std::uint64_t to) override;
    Result<std::vector<TreeNode>> nodes(int level, std::uint64_t from, std::uint64_t to) override;
    Result<std::vector<PayloadRow>> payloads(std::uint64_t from, std::uint64_t to) override;
    Result<std::vector<std::string>> checkpoints(std::uint64_t& place, std::size_t limit) override;
    Result<std::optional<std::string>> latest_checkpoint() override;

    // For those who change it.
    std::vector<AuditRow>& all_rows() noexcept { return rows_; }
    std::vector<PayloadRow>& all_payloads() noexcept { return payloads_; }
    std::vector<std::string>& all_checkpoints() noexcept { return checkpoints_; }
    std::map<std::pair<int, std::uint64_t>, Sha256Digest>& all_nodes() noexcept { return nodes_; }

private:
    std::string chain_id_;
    std::vector<AuditRow> rows_;
    std::vector<PayloadRow> payloads_;
    std::map<std::pair<int, std::uint64_t>, Sha256Digest> nodes_;
    std::vector<std::string> checkpoints_;
};

}  // namespace callgate::ledger
