// A row store of one call and one approval, for the worlds: the ledger's procedures (ledger/procedures.h) run
// over it, and the world sees what they read, stored and recorded.
//
// Nothing fails here. What a procedure says and what it stores and records must agree; complaint() says where
// they do not.
//
// Threads: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "ledger/procedures.h"
#include "ledger/row_store.h"

namespace callgate::model {

/// Time that stands still.
struct StillTime {
    explicit StillTime(base::WallTime at) : clock(at), time(clock) {}

    base::ManualClock clock;
    ledger::LedgerTime time;
};

class ModelRows final : public ledger::RowStore {
public:
    using CallRow = ledger::CallRow;

    /// `alive`: a bit for each owner.
    ModelRows(const StillTime& still, std::uint32_t alive, std::optional<CallRow> under_key,
              bool was_spent = false, bool is_stale = false)
        : RowStore(still.time), row(std::move(under_key)), spent(was_spent), stale(is_stale), alive_(alive) {}
    /// Every owner is alive, and there is no call.
    ModelRows(const StillTime& still, Approval there) : ModelRows(still, ~0u, std::nullopt) {
        approval = std::move(there);
    }

    std::optional<CallRow> row;        ///< what is under the key; as it is left
    std::optional<Approval> approval;  ///< the same
    const bool spent;
    const bool stale;

    bool stored() const noexcept { return stored_; }
    bool inserted() const noexcept { return inserted_; }
    bool removed() const noexcept { return removed_; }
    /// Empty: whatever changed was stored once and recorded, and nothing else was.
    std::string_view complaint(bool changed) const noexcept {
        if (stored_ != changed) return "I5: a change was not stored, or something else was";
        if (recorded_ != changed) return "I5: a change is not on the record, or something else is";
        return {};
    }
    ledger::Standing standing() const noexcept {
        if (!row) return {.spent = spent};
        return {.row = &*row, .owner_alive = is_alive(row->owner), .stale = stale};
    }

    bool is_alive(ledger::OwnerId owner) const override { return owner < 32 && (alive_ >> owner & 1) != 0; }
    Result<ledger::Standing> find_standing(const CallRow&, std::optional<Error>&) override {
        return standing();
    }
    Result<std::optional<Error>> load_outcome() override { return std::nullopt; }
    Result<void> make_room(const CallRow&) override { return {}; }
    Result<void> insert(const CallRow& fresh) override {
        inserted_ = true;
        row = fresh;
        return note();
    }
    Result<void> take_over_standing(const CallRow& after) override {
        row = after;
        return note();
    }
    Result<FoundCall> find_call(const CallId&) override { return FoundCall{row ? &*row : nullptr}; }
    Result<void> store_dispatch(const CallRow&) override { return note(); }
    Result<void> store_adoption(const CallRow&) override { return note(); }
    Result<void> store_end(CallRow&, Keep keep, const std::optional<AttemptResult>&) override {
        removed_ = keep == Keep::never;
        return note();
    }

    Result<FoundApproval> find_approval(std::string_view) override {
        return FoundApproval{approval ? &*approval : nullptr, {}};
    }
    Result<FoundApproval> find_approval_to_use(std::string_view id) override { return find_approval(id); }
    Result<FoundApproval> find_open_approval(const Approval&, const base::Sha256Digest&) override {
        const bool open = approval && ledger::is_open(*approval, time().latest());
        return FoundApproval{open ? &*approval : nullptr, {}};
    }
    Result<bool> has_approval(std::string_view) override { return false; }
    Result<OpenCount> count_open(const Approval&) override { return OpenCount{}; }
    const ledger::OpenApprovalLimits& open_limits() const override { return limits_; }
    std::size_t max_open_approvals() const override { return 1; }
    Result<bool> make_room_for_approval(bool) override { return true; }
    Result<void> store_use(const Approval&, ApprovalState) override { return {}; }
    Result<void> store_decision(const Approval&, ApprovalState, std::size_t, AuditEvent& event) override {
        stored_ = true;
        return record(event);
    }
    Result<std::uint64_t> insert_approval(const Approval& opened, const base::Sha256Digest&) override {
        approval = opened;
        stored_ = inserted_ = true;
        return record_request();
    }
    Result<void> join_approval(const std::string&, const Approval&) override { return {}; }

    Result<void> record(AuditEvent&) override {
        recorded_ = true;
        return {};
    }
    Result<std::uint64_t> record_request() override {
        recorded_ = true;
        return 1;
    }

private:
    Result<void> note() {
        stored_ = true;
        return {};
    }

    std::uint32_t alive_;
    ledger::OpenApprovalLimits limits_;
    bool stored_ = false;
    bool inserted_ = false;
    bool removed_ = false;
    bool recorded_ = false;
};

}  // namespace callgate::model
