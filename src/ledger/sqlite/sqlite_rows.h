// The row store in the ledger's file: what procedures.h reads and writes, as statements of one transaction.
//
// A row that was found is changed as a copy. Storing it repeats the condition of its rule in the statement,
// so that no row is changed that is not as it was found: where the statement does not find it, the file was
// changed behind our back or a rule is wrong, and nothing goes on (ledger_unavailable {reason: out_of_step}).
//
// Threads: the writer's alone, inside a transaction.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ledger/row_store.h"
#include "ledger/sqlite/prepared.h"
#include "ledger/sqlite/tables.h"

namespace callgate::ledger {

class SqliteRows final : public RowStore {
public:
    using IsAlive = std::function<bool(OwnerId)>;

    /// What the request brings along; only what its operation needs.
    struct Request {
        std::span<const PreparedEvent> prepared{};
        std::span<const AuditEvent> events{};          ///< where there are no prepared ones
        const base::Sha256Digest* key_hash = nullptr;  ///< of a claim with a key
        const PreparedSettle* settle = nullptr;
    };
    /// All of it must outlive this.
    SqliteRows(Tables& tables, const IsAlive& is_alive, const Request& request)
        : RowStore(tables.time()), tables_(tables), is_alive_(is_alive), request_(request) {}

    /// A row that was read elsewhere in this transaction, to be changed as one from find_call().
    CallRow& edit(StoredCall call);
    /// The operation came to its end: its events are on the record.
    bool recorded() const noexcept { return recorded_; }

    bool is_alive(OwnerId owner) const override { return is_alive_(owner); }
    Result<Standing> find_standing(const CallRow& claimant, std::optional<Error>& held) override;
    Result<std::optional<Error>> load_outcome() override;
    Result<void> make_room(const CallRow&) override { return {}; }
    Result<void> insert(const CallRow& row) override;
    Result<void> take_over_standing(const CallRow& after) override;
    Result<FoundCall> find_call(const CallId& call_id) override;
    Result<void> store_dispatch(const CallRow& row) override;
    Result<void> store_adoption(const CallRow& row) override;
    Result<void> store_end(CallRow& row, Keep keep, const std::optional<AttemptResult>& attempt) override;

    Result<FoundApproval> find_approval(std::string_view id) override;
    Result<FoundApproval> find_approval_to_use(std::string_view id) override;
    Result<FoundApproval> find_open_approval(const Approval& wanted,
                                             const base::Sha256Digest& fingerprint) override;
    Result<bool> has_approval(std::string_view id) override;
    Result<OpenCount> count_open(const Approval& wanted) override;
    const OpenApprovalLimits& open_limits() const override { return tables_.kept().open_approvals; }
    std::size_t max_open_approvals() const override { return tables_.kept().max_open_approvals; }
    Result<bool> make_room_for_approval(bool replaces) override;
    Result<void> store_use(const Approval& approval, ApprovalState before) override;
    Result<void> store_decision(const Approval& approval, ApprovalState before, std::size_t votes_before,
                                AuditEvent& event) override;
    Result<std::uint64_t> insert_approval(const Approval& approval,
                                          const base::Sha256Digest& fingerprint) override;
    Result<void> join_approval(const std::string& call_id, const Approval& approval) override;

    Result<void> record(AuditEvent& event) override;
    Result<std::uint64_t> record_request() override;

private:
    Result<FoundApproval> found(Result<std::optional<Approval>> read, std::string_view id);
    Result<bool> votes_are_on_record(std::string_view approval_id);

    Tables& tables_;
    const IsAlive& is_alive_;
    const Request request_;
    std::optional<StoredCall> call_;  // that was found last, as it is in the file
    CallRow row_;                     // the same, to be changed
    std::optional<Approval> approval_;
    bool outcome_dropped_ = false;  // the end that was stored has no outcome, though the request had one
    bool recorded_ = false;
};

}  // namespace callgate::ledger
