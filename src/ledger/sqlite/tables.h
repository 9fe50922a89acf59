// The ledger's tables as the writer has them in hand: what every transaction reads and changes.
//
// Whatever is done here is on the record or not at all, with the transaction it is part of. The chain's head
// and the notifications due after the commit go back with it: begin() marks the place, undo() returns to it.
//
// Threads: the writer's alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <callgate/observer.h>

#include "base/rng.h"
#include "base/seal.h"
#include "base/try.h"
#include "ledger/audit/chain.h"
#include "ledger/ledger_time.h"
#include "ledger/sqlite/approval_table.h"
#include "ledger/sqlite/audit_table.h"
#include "ledger/sqlite/call_table.h"
#include "ledger/sqlite/database.h"
#include "ledger/sqlite/head_mark.h"
#include "ledger/sqlite/tally.h"

namespace callgate::ledger {

/// How long things are kept, and how many.
struct Retention {
    std::chrono::seconds key_ttl{24 * 3600};             ///< how long an outcome can be replayed
    std::chrono::seconds tombstone_ttl{30 * 24 * 3600};  ///< how long its key is refused after that
    std::chrono::seconds approval_ttl{24 * 3600};        ///< how long an approval is kept after its end
    std::size_t max_open_approvals = 1'000'000;          ///< then no more are opened
    OpenApprovalLimits open_approvals;                   ///< of one principal, of one tenant

    Retention() {}
};

/// Whether a call was begun longer ago than outcomes are kept.
inline bool is_stale(const CallRow& row, const LedgerTime& time, const Retention& kept) {
    return time.may_be_older(row.lived_at, row.created_at, kept.key_ttl);
}

class Tables {
public:
    /// `database`, `key` and `time` must outlive this.
    Tables(Database& database, const base::SealKey& key, const LedgerTime& time, AuditChain chain,
           const Retention& kept)
        : calls(database, key),
          approvals(database, key),
          audit(database),
          tally(key, chain.id()),
          database_(&database),
          key_(&key),
          time_(&time),
          chain_(std::move(chain)),
          kept_(kept) {}

    Result<void> prepare();

    CallTable calls;
    ApprovalTable approvals;
    AuditTable audit;
    Tally tally;

    Database& database() noexcept { return *database_; }
    const LedgerTime& time() const noexcept { return *time_; }
    const Retention& kept() const noexcept { return kept_; }
    AuditChain& chain() noexcept { return chain_; }

    /// Puts an event on the record. Its number.
    Result<std::uint64_t> record(const PreparedEvent& event);
    Result<std::uint64_t> record(const AuditFacts& event, const KeyNames& keys = {});
    /// One after the other. The number of the first; 0 if there are none.
    Result<std::uint64_t> record(std::span<const PreparedEvent> events) { return record_all(events); }
    Result<std::uint64_t> record(std::span<const AuditEvent> events) { return record_all(events); }
    /// Before the commit: the tree's nodes that became complete and, if it may be the first transaction of a
    /// log, whose that log is (log_check.h). Nothing if nothing was changed.
    Result<void> store_end();
    void committed() noexcept { log_is_marked_ = log_is_marked_ || marks_log_; }
    /// It was moved into the file, so the next transaction may begin it again.
    void log_moved() noexcept { log_is_marked_ = false; }

    /// Whether another approval may be opened; if so, it counts from now on. Recounts only where there may be
    /// too many, and not at every request.
    Result<bool> make_room_for_approval();
    /// There may be room again.
    void approval_decided() noexcept { full_at_.reset(); }

    /// After a restore: until then a key that is not known may have been used in what was lost.
    struct Gap {
        base::WallTime until{};  ///< by the clock that keys live by
        bool has_calls = false;  ///< some that were made in it are known, from an export
    };
    /// Set while nobody else is here.
    void set_gap(const Gap& gap) noexcept { gap_ = gap; }
    const Gap& gap() const noexcept { return gap_; }

    /// Due after the commit.
    struct Notifications {
        std::vector<base::Sha256Digest> ended_keys;  ///< who waits for them goes on
        std::vector<ApprovalChange> approvals;       ///< in the order in which they were changed
    };
    Notifications& notifications() noexcept { return notifications_; }

    /// Where the ledger's clocks have come to, for the next start.
    Result<void> store_clocks();

    void begin() {
        head_before_ = chain_.head();
        tally_before_ = tally.sums();
        changes_before_ = sqlite3_total_changes64(database_->raw());
        marks_log_ = false;
    }
    Result<void> start_transaction() { return done(begin_transaction_); }
    /// And marks how far the audit has come, before anybody is answered. An error of reason mark_unwritable:
    /// it is on the disk all the same.
    Result<void> commit() {
        if (auto stored = done(commit_); !stored || mark_ == nullptr) return stored;
        return mark_->write({chain_.head().size(), chain_.head().hash});
    }
    /// What it says survives a power cut from now on.
    Result<void> sync_mark() { return mark_ == nullptr ? Result<void>() : mark_->sync(); }
    /// It must outlive this, or be taken away (null).
    void set_mark(HeadMark* mark) noexcept { mark_ = mark; }
    void undo() {
        chain_.rewind(head_before_);
        tally.rewind(tally_before_);
        notifications_ = {};
    }

private:
    static Result<void> done(Statement& statement) {
        CALLGATE_TRY(statement.step());
        return {};
    }
    Result<void> store_nodes();
    template <class Event>
    Result<std::uint64_t> record_all(std::span<const Event> events);

    Database* database_;
    const base::SealKey* key_;
    const LedgerTime* time_;
    AuditChain chain_;
    Retention kept_;
    HeadMark* mark_ = nullptr;
    Gap gap_;
    Statement begin_transaction_, commit_;
    ChainHead head_before_;
    TallySums tally_before_;
    std::int64_t changes_before_ = 0;
    bool log_is_marked_ = false;
    bool marks_log_ = false;  // this transaction does
    // Or fewer; not known at first.
    std::uint64_t open_approvals_ = std::numeric_limits<std::uint64_t>::max();
    std::optional<base::WallTime> full_at_;  // when they were counted last, and too many
    Notifications notifications_;
};

}  // namespace callgate::ledger
