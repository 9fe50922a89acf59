// The audit in the ledger's file: the chain's events as they are appended, and a reader over what is stored.
//
// Payloads are sealed, each under the id of its event's call and its own name; that it belongs to this event
// and no other of the call, the event itself says (a salted hash).
//
// Threads: as their connections, one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/observer.h>

#include "base/seal.h"
#include "ledger/audit/chain.h"
#include "ledger/audit/reader.h"
#include "ledger/operations.h"
#include "ledger/sqlite/database.h"
#include "ledger/sqlite/prepared.h"
#include "ledger/sqlite/segment_table.h"

namespace callgate::ledger {

class AuditTable {
public:
    /// It must outlive this.
    explicit AuditTable(Database& database) : database_(&database) {}

    Result<void> prepare();

    Result<void> append(const ChainedEvent& event, const PreparedEvent& prepared);
    Result<void> append(std::span<const TreeNode> nodes);
    /// See log_check.h.
    Result<void> set_mark(const ChainHead& head);
    Result<void> add_checkpoint(std::uint64_t size, std::string_view note);
    /// The payloads of a call's events go. How many.
    Result<std::int64_t> erase(const CallId& call_id);

private:
    Database* database_;
    Statement event_, payload_, node_, mark_, checkpoint_, erase_;
};

class SqliteAuditReader final : public AuditReader {
public:
    /// `key` must outlive this. With a connection of its own.
    static Result<std::unique_ptr<SqliteAuditReader>> make(Database database, const base::SealKey& key);

    const std::string& chain_id() const override { return chain_id_; }
    Result<std::uint64_t> size() override;
    Result<std::vector<AuditRow>> rows(std::uint64_t from, std::uint64_t to) override;
    Result<std::vector<Sha256Digest>> hashes(std::uint64_t from, std::uint64_t to) override;
    Result<std::vector<TreeNode>> nodes(int level, std::uint64_t from, std::uint64_t to) override;
    Result<std::vector<PayloadRow>> payloads(std::uint64_t from, std::uint64_t to) override;
    Result<std::vector<std::string>> checkpoints(std::uint64_t& place, std::size_t limit) override;
    Result<std::optional<std::string>> latest_checkpoint() override;
    Result<std::optional<SignedHead>> archived() override;
    /// How many, as of when this was made.
    std::uint64_t archived_events() const noexcept { return segment_ ? segment_->last : 0; }

    /// From now on, payloads() gives payloads as they are stored.
    void keep_sealed() noexcept { sealed_ = true; }
    /// Lives as long as this does: what is archived meanwhile must not go before.
    void hold(std::shared_ptr<const void> token) { held_ = std::move(token); }
    Database& database() noexcept { return database_; }

    /// Oldest first.
    Result<std::vector<AuditEvent>> events(const AuditSelection& which);

private:
    SqliteAuditReader(Database database, const base::SealKey& key)
        : database_(std::move(database)), key_(&key) {}

    Database database_;
    const base::SealKey* key_;
    std::string chain_id_;
    std::optional<SegmentRow> segment_;  // the newest that was archived
    bool sealed_ = false;
    std::shared_ptr<const void> held_;
    Statement size_, rows_, hashes_, nodes_, payloads_, checkpoints_, latest_;
};

}  // namespace callgate::ledger
