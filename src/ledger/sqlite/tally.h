// One number for all rows of the tables that decide: calls, tombstones, approvals, votes, operators, which
// events are archived, and what was restored. And one for what the ledger notes about itself: how far its
// clock has come, how long things are kept, where its mark is.
//
// The tally is the sum, modulo 2^256, of a keyed hash (HMAC-SHA-256) of every row. Whatever this program
// inserts, changes or removes is added and taken away as it happens, and the sum is stored with the
// transaction, authenticated together with the audit's head. So a row that was edited, removed or put back in
// the file by anybody without the ledger's key no longer adds up, whichever column it was, and stays wrong
// whatever is done to the row later: recount() finds it in one pass. The notes are few, and counted whenever
// the file is opened. Who has the key can make it add up.
//
// Rows are seen through SQLite's pre-update hook, so no statement can be forgotten. A column that is added to
// one of these tables later must be null where it was not set: the hook does not know other defaults. What
// the hook costs is most of what a tally costs, so what every call needs does without it: the two statements
// that write calls say themselves what they write (ByHand; what they changed is the row as it was read in the
// same transaction), and those that write other tables say that (NotCounted). Test builds ask the hook all
// the same, and abort where it saw something else.
//
// Threads: as its connection, one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>

#include "base/hkdf.h"
#include "base/seal.h"
#include "base/sha256.h"
#include "ledger/audit/chain.h"
#include "ledger/operations.h"
#include "ledger/sqlite/database.h"
#include "ledger/sqlite/row_text.h"

namespace callgate::ledger {

/// Where the audit ends: how many events, and the hash of the last.
struct AuditPlace {
    std::uint64_t size = 0;
    base::Sha256Digest hash{};

    AuditPlace(std::uint64_t events, const base::Sha256Digest& last) : size(events), hash(last) {}
    explicit AuditPlace(const ChainHead& head) : AuditPlace(head.size(), head.hash) {}
};

/// Of the file's audit, in the transaction that `database` is in.
Result<AuditPlace> audit_place(Database& database, std::string_view chain_id);

/// A sum of keyed hashes. A value: a copy is what one can go back to.
struct TallySum {
    std::array<std::uint64_t, 4> limbs{};  ///< the least significant first

    void add(const base::Sha256Digest& hash) noexcept;
    void add(const TallySum& other) noexcept;
    void subtract(const base::Sha256Digest& hash) noexcept;
    bool operator==(const TallySum&) const = default;
};

/// Of the tables that decide, and of what the ledger notes about itself.
struct TallySums {
    TallySum rows;
    TallySum notes;
};

/// Hashes rows under a key of their own, derived from the ledger's.
class RowHasher {
public:
    RowHasher(const base::SealKey& key, std::string_view chain_id);

    /// The row that `statement`, a SELECT * of `table`, stands at.
    base::Sha256Digest of_row(std::string_view table, sqlite3_stmt* statement);
    base::Sha256Digest of_values(std::string_view table, std::span<sqlite3_value* const> values);
    base::Sha256Digest of(const RowText& row) { return hmac_.of(row.hashed()); }
    base::Sha256Digest of_text(std::string_view text) { return hmac_.of(text); }

private:
    struct RowKey {
        base::Sha256Digest bytes;
        ~RowKey();
    };
    explicit RowHasher(const RowKey& key);

    base::HmacSha256 hmac_;
    RowText row_;  // reused
};

class Tally {
public:
    /// `key` must outlive this.
    Tally(const base::SealKey& key, std::string_view chain_id) : hasher_(key, chain_id) {}
    ~Tally();
    Tally(const Tally&) = delete;
    Tally& operator=(const Tally&) = delete;

    /// What `meta` says, for a file whose audit ends with `head`. One that does not belong there, or that
    /// somebody changed, leaves a tally that never adds up again. Only a file that is nobody's yet has none.
    Result<void> load(Database& database, const AuditPlace& head);
    /// After load(): the notes are those that this program wrote.
    bool notes_add_up() const noexcept { return notes_add_up_; }
    /// For a file from before there was one: all rows are counted as they are. It must outlive this.
    Result<void> begin(Database& database);
    /// From now on, until this goes: every change by this connection counts. It must outlive this.
    void watch(Database& database);

    /// While it lives, the hook is not asked.
    class Unwatched {
    public:
        explicit Unwatched(Tally& tally) : tally_(tally) { tally_.ask_hook(false); }
        ~Unwatched() { tally_.ask_hook(true); }
        Unwatched(const Unwatched&) = delete;
        Unwatched& operator=(const Unwatched&) = delete;

    protected:
        Tally& tally_;
    };

    /// For a statement that writes no table of the tally.
    class NotCounted : public Unwatched {
    public:
        explicit NotCounted(Tally& tally) : Unwatched(tally) { tally_.expects_ = Expects::nothing; }
        ~NotCounted() { tally_.expects_ = Expects::anything; }
    };

    /// For a statement that says itself what it wrote.
    class ByHand : public Unwatched {
    public:
        explicit ByHand(Tally& tally) : Unwatched(tally), before_(tally.sums_.rows) {
            tally_.expects_ = Expects::one;
            tally_.seen_ = {};
        }
        ~ByHand() { tally_.expects_ = Expects::anything; }

        void inserted(const RowText& row) { said(row); }
        void replaced(const RowText& before, const RowText& after) {
            tally_.sums_.rows.subtract(tally_.hasher_.of(before));
            said(after);
        }

    private:
        void said(const RowText& row) {
            tally_.sums_.rows.add(tally_.hasher_.of(row));
            tally_.compare(before_);
        }

        TallySum before_;
    };

    /// To be written into the transaction that changed something. After begin() or watch().
    Result<void> store(const AuditPlace& head);

    const TallySums& sums() const noexcept { return sums_; }
    void rewind(const TallySums& before) noexcept { sums_ = before; }

private:
    static void changed(void* self, sqlite3* connection, int operation, char const* database,
                        char const* table, sqlite3_int64 old_row, sqlite3_int64 new_row);
    void change(sqlite3* connection, int operation, std::string_view table);
    void ask_hook(bool yes) noexcept;
    void compare(const TallySum& before) const noexcept;

    /// What the hook may see now, in test builds.
    enum class Expects : std::uint8_t { anything, one, nothing };

    RowHasher hasher_;
    TallySums sums_;
    bool broken_ = false;
    bool notes_add_up_ = true;
    Database* database_ = nullptr;
    bool watches_ = false;
    Expects expects_ = Expects::anything;
    TallySum seen_;  // by the hook, while it is not asked
    Statement store_;
    std::vector<sqlite3_value*> values_;  // reused
};

struct Recount {
    bool adds_up = false;
    std::string why;         ///< if it does not
    std::uint64_t rows = 0;  ///< looked at
};
/// Counts all rows again, in the transaction that `database` is in. `progress` is called between rows.
Result<Recount> recount(Database& database, const base::SealKey& key, const WorkProgress& progress = {});

}  // namespace callgate::ledger
