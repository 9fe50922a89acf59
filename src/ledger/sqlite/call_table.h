// Calls, attempts, outcomes and tombstones in the ledger's file.
//
// What a request does to a row is decided by state_machine.h; the statements here store it. Each repeats the
// condition under which its rule may pass (C1 to C5), so that it changes a row only if the row is still as
// the rule saw it. Zero changed rows are reported, and never taken for success.
//
// Outcomes and arguments are sealed.
//
// Threads: as its connection, one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/seal.h"
#include "base/sha256.h"
#include "ledger/call_row.h"
#include "ledger/operations.h"
#include "ledger/sqlite/database.h"
#include "ledger/sqlite/prepared.h"
#include "ledger/sqlite/tally.h"
#include "ledger/state_machine.h"

namespace callgate::ledger {

/// A row and where its outcome is.
struct StoredCall {
    CallRow row;
    bool holds_key = false;
    bool restored = false;  ///< under way when a restored ledger ends: nobody goes on with it by itself
    /// Then nobody can be asked what became of it; nothing else needs them.
    bool arguments_unreadable = false;
    std::int64_t result_ref = 0;  ///< 0: none
    // For the tally: the row's text, which the table holds, and what its count was then.
    const RowText* text = nullptr;
    std::uint64_t read_at = 0;
};

class CallTable {
public:
    /// Both must outlive this.
    CallTable(Database& database, const base::SealKey& key) : database_(&database), key_(&key) {}

    /// For reading, and for writing where `access` says so.
    Result<void> prepare(Access access);
    /// From now on the rows are counted in it (tally.h). It must outlive this.
    void count_in(Tally& tally) noexcept { tally_ = &tally; }

    // Reading. Outcomes are left where they are until load_outcome().
    Result<std::optional<StoredCall>> by_id(const CallId& call_id);
    Result<std::optional<StoredCall>> by_key(const base::Sha256Digest& key_hash);
    Result<void> load_outcome(StoredCall& call);
    /// A call that is known only from an export of what a restored ledger has lost, made with this request
    /// and not known to be without effect.
    Result<std::optional<CallId>> lost_call(const base::Sha256Digest& fingerprint);
    Result<bool> is_spent(const base::Sha256Digest& key_hash, base::WallTime now);
    /// Claimed, dispatched, reconciling and unknown ones with an id behind `after`, at most `limit`.
    Result<std::vector<StoredCall>> open_calls(const CallId& after, std::size_t limit);
    /// Those of them that have no end, begun by then, oldest first.
    Result<std::vector<StoredCall>> unfinished_before(base::WallTime begun, std::size_t limit);
    /// The same of all calls.
    Result<std::vector<StoredCall>> all_calls(const CallId& after, std::size_t limit);
    Result<std::vector<CallRow>> page(const CallQuery& query, const std::optional<CallId>& before);
    Result<std::vector<AttemptRow>> attempts(const CallId& call_id);

    // Writing, inside the writer's transaction. False: the condition did not hold any more, nothing changed.

    /// C1. `key_hash` null: a call without a key.
    Result<bool> insert(const CallRow& row, const base::Sha256Digest* key_hash);
    /// C2: `after` is what take_over() made of `before`.
    Result<bool> take_over(const CallRow& before, const CallRow& after);
    /// C3
    Result<bool> dispatch(const CallRow& before, const CallRow& after, base::WallTime now);
    /// C4, C5, a person's finding, and giving up: an outcome or back to claimed. `expires`: of an end.
    Result<bool> store(const StoredCall& before, const CallRow& after, bool frees_key,
                       std::optional<base::WallTime> expires, const SealedOutcome* ready = nullptr);
    Result<void> set_restored(const CallId& call_id, std::int64_t restore);
    Result<void> end_attempt(const CallRow& row, std::uint32_t attempt, std::string_view how,
                             base::WallTime now);
    /// Ended ones whose time has come, and old tombstones, at most `limit` of each. How many.
    Result<std::int64_t> bury_due(base::WallTime now, base::WallTime tombstones_until, std::size_t limit);
    /// One that has expired but was not buried yet.
    Result<void> bury(const StoredCall& call, base::WallTime until);

private:
    Result<StoredCall> read(const Statement& row) const;
    /// Null: they cannot be read.
    std::shared_ptr<const Value> read_arguments(const CallId& call_id, std::string_view sealed) const;
    void written() noexcept { ++done_, ++unfenced_; }
    /// Whether the row is still what its text says, as long as store() finds one that it may change.
    bool is_as_read(const StoredCall& call) const noexcept;
    Result<std::optional<StoredCall>> one(Statement& query);
    Result<std::vector<StoredCall>> many(Statement& query);
    /// Of a table that the tally does not cover.
    Result<bool> run_uncounted(Statement& statement);
    /// `written_` becomes what kStoreCall makes of `before`.
    void write_end(const RowText& before, const CallRow& after, bool frees_key,
                   std::optional<base::WallTime> expires, std::int64_t result,
                   const base::Sha256Digest* digest);
    Result<std::int64_t> run_insert(const CallRow& row, const base::Sha256Digest* key_hash,
                                    std::string_view arguments);

    Database* database_;
    const base::SealKey* key_;
    Tally* tally_ = nullptr;
    // For the tally, and reused.
    RowText last_;              // the row that was read last by itself
    std::deque<RowText> page_;  // those that were read last together
    RowText written_;           // one that is being written
    std::uint64_t done_ = 0;    // what was read or written so far
    // What was read together or written so far, except by a store() that leaves no row as it was read before
    // that the next could still match.
    std::uint64_t unfenced_ = 0;
    Statement by_id_, by_key_, outcome_, tombstone_, open_, attempts_, lost_;
    Statement insert_, take_over_, dispatch_, store_, insert_result_, drop_result_, insert_attempt_,
        end_attempt_, due_, bury_tombstone_, drop_call_, drop_attempts_, drop_tombstones_;
};

}  // namespace callgate::ledger
