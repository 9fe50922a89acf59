#include "ledger/sqlite/tally.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "base/try.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/segment_table.h"

// sqlite3.h has them only where the whole program is compiled for it; Debian's library has them.
extern "C" {
void* sqlite3_preupdate_hook(sqlite3* db,
                             void (*hook)(void*, sqlite3*, int, char const*, char const*, sqlite3_int64,
                                          sqlite3_int64),
                             void* self);
int sqlite3_preupdate_old(sqlite3*, int, sqlite3_value**);
int sqlite3_preupdate_count(sqlite3*);
int sqlite3_preupdate_new(sqlite3*, int, sqlite3_value**);
}

namespace callgate::ledger {

namespace {

// The segments are among them: whoever could add one could pass deleted events off as archived. And the
// restores: whoever could change one could let keys run again that may have been used.
constexpr std::string_view kTables[] = {"approval_calls", "approvals", "audit_segments", "calls",
                                        "operators",      "restores",  "tombstones",     "votes"};
constexpr std::string_view kNotes = "meta";
// The tally itself, and what is written only to see whether anything can be.
constexpr std::string_view kNotCounted[] = {"tally", "probe"};
constexpr std::size_t kSumBytes = 32;
constexpr std::size_t kBothBytes = 2 * kSumBytes;
constexpr std::size_t kRecordBytes = kBothBytes + 1 + 32;
constexpr std::uint64_t kRowsBetweenLooks = 1'000;

#ifdef CALLGATE_FAILPOINTS
constexpr bool kCompares = true;
#else
constexpr bool kCompares = false;
#endif

[[noreturn]] void says_wrong(const char* what) noexcept {
    std::fprintf(stderr, "callgate: the tally of the ledger's rows: %s\n", what);
    std::abort();
}

bool is_counted_note(std::string_view name) noexcept {
    return std::ranges::find(kNotCounted, name) == std::end(kNotCounted);
}

std::string_view text_of(sqlite3_value* value) {
    const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
    return bytes == nullptr ? std::string_view()
                            : std::string_view(bytes, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

std::string bytes_of(const TallySums& sums) {
    std::string out;
    for (const TallySum* sum : {&sums.rows, &sums.notes}) {
        for (const std::uint64_t limb : sum->limbs) append_number(out, limb);
    }
    return out;
}

TallySum sum_from(std::string_view bytes) {
    TallySum sum;
    for (std::size_t i = 0; i < kSumBytes; ++i) {
        sum.limbs[i / 8] |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * (i % 8));
    }
    return sum;
}

base::Sha256Digest mac_of(RowHasher& hasher, std::string_view sums_and_flag, const AuditPlace& head) {
    std::string text = "callgate-tally-v1";
    text.append(sums_and_flag);
    append_number(text, head.size);
    text.append(ledger::bytes_of(head.hash));
    return hasher.of_text(text);
}

// What `meta` holds, if it is whole and belongs to this head.
struct Kept {
    TallySums sums;
    bool broken = true;
    std::string why;
};

Result<Kept> read_kept(Database& database, RowHasher& hasher, const AuditPlace& head) {
    CALLGATE_TRY_ASSIGN(auto query, database.prepare("SELECT value FROM meta WHERE name = 'tally'"));
    CALLGATE_TRY_ASSIGN(auto found, query.step());
    Kept kept;
    if (!found && head.size == 0) {
        CALLGATE_TRY_ASSIGN(auto whose, database.text_of("SELECT value FROM meta WHERE name = 'chain_id'"));
        kept.broken = !whose.empty();  // else nothing was ever written
        if (!kept.broken) return kept;
    }
    if (!found || query.blob(0).size() != kRecordBytes) {
        kept.why = "the tally of the rows is missing or was changed";
        return kept;
    }
    const std::string_view record = query.blob(0);
    const auto mac = mac_of(hasher, record.substr(0, kBothBytes + 1), head);
    if (CRYPTO_memcmp(mac.data(), record.data() + kBothBytes + 1, mac.size()) != 0) {
        kept.why = "the tally of the rows was changed, or belongs to another time of this ledger";
        return kept;
    }
    kept.broken = record[kBothBytes] != 0;
    if (kept.broken) kept.why = "the tally of the rows was found changed before";
    kept.sums = {sum_from(record), sum_from(record.substr(kSumBytes))};
    return kept;
}

Result<std::uint64_t> add_table(Database& database, RowHasher& hasher, std::string_view table, TallySum& sum,
                                const WorkProgress& progress) {
    CALLGATE_TRY_ASSIGN(auto all, database.prepare(fmt::format("SELECT * FROM {}", table)));
    for (std::uint64_t rows = 0;;) {
        CALLGATE_TRY_ASSIGN(auto found, all.step());
        if (!found) return rows;
        if (table == kNotes && !is_counted_note(all.text(0))) continue;
        sum.add(hasher.of_row(table, all.raw()));
        if (++rows % kRowsBetweenLooks == 0 && progress && !progress(rows, 0)) {
            return fail(ErrorCode::cancelled, "The check was called off.", {{"reason", "called_off"}});
        }
    }
}

Result<std::uint64_t> add_all(Database& database, RowHasher& hasher, TallySum& sum,
                              const WorkProgress& progress) {
    std::uint64_t rows = 0;
    for (const std::string_view table : kTables) {
        // A file that is just being brought up to date has not all of them yet, and so no rows there.
        CALLGATE_TRY_ASSIGN(auto there,
                            database.integer_of(fmt::format("SELECT count(*) FROM sqlite_schema "
                                                            "WHERE type = 'table' AND name = '{}'",
                                                            table)));
        if (there == 0) continue;
        CALLGATE_TRY_ASSIGN(auto added, add_table(database, hasher, table, sum, progress));
        rows += added;
    }
    return rows;
}

Result<TallySum> sum_of_notes(Database& database, RowHasher& hasher) {
    TallySum sum;
    CALLGATE_TRY(add_table(database, hasher, kNotes, sum, {}));
    return sum;
}

}  // namespace

void TallySum::add(const base::Sha256Digest& hash) noexcept {
    TallySum other;
    std::memcpy(other.limbs.data(), hash.data(), hash.size());
    add(other);
}

void TallySum::add(const TallySum& other) noexcept {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < limbs.size(); ++i) {
        const std::uint64_t part = other.limbs[i];
        const std::uint64_t once = limbs[i] + part;
        const std::uint64_t twice = once + carry;
        carry = static_cast<std::uint64_t>(once < part) + static_cast<std::uint64_t>(twice < once);
        limbs[i] = twice;
    }
}

void TallySum::subtract(const base::Sha256Digest& hash) noexcept {
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < limbs.size(); ++i) {
        std::uint64_t part = 0;
        std::memcpy(&part, hash.data() + 8 * i, sizeof(part));
        const std::uint64_t once = limbs[i] - part;
        const std::uint64_t twice = once - borrow;
        borrow = static_cast<std::uint64_t>(limbs[i] < part) + static_cast<std::uint64_t>(once < borrow);
        limbs[i] = twice;
    }
}

RowHasher::RowHasher(const base::SealKey& key, std::string_view chain_id)
    : RowHasher(RowKey{base::keyed_hash(key, "callgate-row-key-v1", chain_id)}) {}

RowHasher::RowHasher(const RowKey& key) : hmac_(ledger::bytes_of(key.bytes)) {}

RowHasher::RowKey::~RowKey() {
    OPENSSL_cleanse(bytes.data(), bytes.size());
}

base::Sha256Digest RowHasher::of_values(std::string_view table, std::span<sqlite3_value* const> values) {
    row_.begin(table);
    for (sqlite3_value* value : values) row_.add(value);
    return of(row_);
}

base::Sha256Digest RowHasher::of_row(std::string_view table, sqlite3_stmt* statement) {
    return of(row_.read(table, statement));
}

Tally::~Tally() {
    if (watches_) sqlite3_preupdate_hook(database_->raw(), nullptr, nullptr);
}

Result<void> Tally::load(Database& database, const AuditPlace& head) {
    CALLGATE_TRY_ASSIGN(auto kept, read_kept(database, hasher_, head));
    CALLGATE_TRY_ASSIGN(auto notes, sum_of_notes(database, hasher_));
    sums_ = kept.sums;
    broken_ = kept.broken;
    notes_add_up_ = !broken_ && notes == sums_.notes;
    return {};
}

Result<void> Tally::begin(Database& database) {
    database_ = &database;
    sums_ = {};
    broken_ = false;
    CALLGATE_TRY(add_all(database, hasher_, sums_.rows, {}));
    CALLGATE_TRY_ASSIGN(sums_.notes, sum_of_notes(database, hasher_));
    return {};
}

void Tally::watch(Database& database) {
    database_ = &database;
    watches_ = true;
    sqlite3_preupdate_hook(database.raw(), &Tally::changed, this);
}

Result<void> Tally::store(const AuditPlace& head) {
    if (!store_) {
        CALLGATE_TRY_ASSIGN(
            auto made, database_->prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('tally', ?1)"));
        store_ = std::move(made);
    }
    std::string record = bytes_of(sums_);
    record.push_back(broken_ ? '\1' : '\0');
    const auto mac = mac_of(hasher_, record, head);
    record.append(ledger::bytes_of(mac));
    const NotCounted own_note(*this);
    CALLGATE_TRY(store_.bind_blob(1, record).run());
    return {};
}

void Tally::changed(void* self, sqlite3* connection, int operation, char const* /*database*/,
                    char const* table, sqlite3_int64 /*old_row*/, sqlite3_int64 /*new_row*/) {
    if (table != kNotes && std::ranges::find(kTables, std::string_view(table)) == std::end(kTables)) return;
    static_cast<Tally*>(self)->change(connection, operation, table);
}

// A test build lets it see everything, to compare.
void Tally::ask_hook(bool yes) noexcept {
    if (!kCompares && watches_)
        sqlite3_preupdate_hook(database_->raw(), yes ? &Tally::changed : nullptr, this);
}

void Tally::compare(const TallySum& before) const noexcept {
    if (!kCompares || !watches_) return;
    TallySum expected = before;
    expected.add(seen_);
    if (expected != sums_.rows) says_wrong("what a statement says it wrote is not what SQLite saw");
}

void Tally::change(sqlite3* connection, int operation, std::string_view table) {
    std::vector<sqlite3_value*>& values = values_;
    values.resize(static_cast<std::size_t>(sqlite3_preupdate_count(connection)));
    TallySum& sum = expects_ == Expects::one ? seen_ : table == kNotes ? sums_.notes : sums_.rows;
    const auto count = [&](auto&& value_of, void (TallySum::*how)(const base::Sha256Digest&) noexcept) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (value_of(connection, static_cast<int>(i), &values[i]) != SQLITE_OK) {
                broken_ = true;
                return;
            }
        }
        if (table == kNotes && !is_counted_note(text_of(values.front()))) return;
        if (expects_ == Expects::nothing)
            says_wrong("a statement that is not counted wrote a row that counts");
        (sum.*how)(hasher_.of_values(table, values));
    };
    if (operation != SQLITE_INSERT) count(sqlite3_preupdate_old, &TallySum::subtract);
    if (operation != SQLITE_DELETE) count(sqlite3_preupdate_new, &TallySum::add);
}

Result<AuditPlace> audit_place(Database& database, std::string_view chain_id) {
    AuditPlace head{0, empty_head(chain_id).hash};
    CALLGATE_TRY_ASSIGN(auto last, database.prepare("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1"));
    CALLGATE_TRY_ASSIGN(auto there, last.step());
    if (there) {
        head.size = static_cast<std::uint64_t>(last.integer(0));
        if (!copy_bytes(last.blob(1), head.hash)) return damaged_record("an event of the audit");
        last.reset();
    } else {
        CALLGATE_TRY_ASSIGN(auto segment, last_segment(database));
        if (segment) head = AuditPlace(segment->last, segment->head.hash);
    }
    return head;
}

Result<Recount> recount(Database& database, const base::SealKey& key, const WorkProgress& progress) {
    CALLGATE_TRY_ASSIGN(auto chain_id, database.text_of("SELECT value FROM meta WHERE name = 'chain_id'"));
    RowHasher hasher(key, chain_id);
    CALLGATE_TRY_ASSIGN(const auto head, audit_place(database, chain_id));
    CALLGATE_TRY_ASSIGN(auto kept, read_kept(database, hasher, head));
    TallySum now;
    CALLGATE_TRY_ASSIGN(auto rows, add_all(database, hasher, now, progress));
    CALLGATE_TRY_ASSIGN(auto notes, sum_of_notes(database, hasher));
    Recount counted;
    counted.rows = rows;
    counted.adds_up = !kept.broken && kept.sums.rows == now && kept.sums.notes == notes;
    if (kept.broken) {
        counted.why = kept.why;
    } else if (kept.sums.notes != notes) {
        counted.why =
            "what the ledger notes about itself (its clock, how long things are kept, where its mark is) was "
            "changed in the file";
    } else if (!counted.adds_up) {
        counted.why =
            "the rows of calls, tombstones, approvals and votes are not those that this program wrote: "
            "something was changed, removed or put back in the file";
    }
    return counted;
}

}  // namespace callgate::ledger
