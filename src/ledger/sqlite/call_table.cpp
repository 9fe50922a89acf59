#include "ledger/sqlite/call_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "ledger/digest.h"
#include "ledger/sqlite/codec.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/statements.h"

namespace callgate::ledger {

namespace {

using namespace sql;

constexpr std::string_view kArguments = "call-arguments";
constexpr std::string_view kTable = "calls";

// As kCallColumns names them.
enum Column : int {
    kCallId,
    kKeyHash,
    kTenant,
    kPrincipal,
    kTool,
    kKey,
    kFingerprint,
    kEffect,
    kState,
    kEpoch,
    kOwner,
    kAttempt,
    kMaybeApplied,
    kDefinition,
    kPolicyRev,
    kApproval,
    kAction,
    kSealedArguments,
    kCreatedAt,
    kEndedAt,
    kExpiresAt,
    kResultRef,
    kResultDigest,
    kRunsAs,
    kLivedAt,
    kRestored,
    kColumns
};
static_assert(kColumns <= RowText::kMostColumns);

}  // namespace

Result<void> CallTable::prepare(Access access) {
    Preparing all(*database_);
    all.add(by_id_, select_calls("WHERE call_id = ?1"));
    all.add(by_key_, select_calls("WHERE key_hash = ?1"));
    all.add(outcome_, "SELECT outcome FROM results WHERE id = ?1");
    all.add(tombstone_, "SELECT 1 FROM tombstones WHERE key_hash = ?1 AND until > ?2");
    all.add(open_, select_calls(fmt::format("WHERE {} AND call_id > ?1 ORDER BY call_id LIMIT ?2", kIsOpen)));
    all.add(attempts_,
            "SELECT n, epoch, started_at, ended_at, end_class FROM attempts WHERE call_id = ?1 ORDER BY n");
    all.add(lost_,
            "SELECT call_id FROM calls WHERE restored IS NOT NULL AND fingerprint = ?1 AND idem_key = '' AND "
            "state <> 'not_applied' LIMIT 1");
    if (access == Access::read_only) return all.done();

    all.add(insert_, kInsertCall);
    // C2: only from the epoch and owner that were seen and found dead.
    all.add(take_over_,
            fmt::format("UPDATE calls SET epoch = epoch + 1, owner = ?2, state = ?3, maybe_applied = ?4, "
                        "policy_rev = ?5, ended_at = ?6, approval_id = ?10, runs_as = ?11, tool_def_hash = "
                        "?12, fingerprint = ?13 WHERE call_id = ?1 "
                        "AND {} AND state = ?7 AND epoch = ?8 AND owner = ?9",
                        kIsOpen));
    // C3: the fence.
    all.add(dispatch_,
            "UPDATE calls SET state = 'dispatched', attempt = attempt + 1 WHERE call_id = ?1 AND epoch = ?2 "
            "AND owner = ?3 AND state = 'claimed' AND tool_def_hash = ?4");
    all.add(store_, kStoreCall);
    all.add(insert_result_, kInsertResult);
    all.add(drop_result_, "DELETE FROM results WHERE id = ?1");
    all.add(insert_attempt_, kInsertAttempt);
    all.add(end_attempt_, kEndAttempt);
    all.add(due_,
            "SELECT call_id, key_hash, fingerprint, state, result_sha256, result_ref, expires_at FROM "
            "calls WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2");
    all.add(bury_tombstone_,
            "INSERT OR REPLACE INTO tombstones(key_hash, fingerprint, state, result_sha256, until) "
            "VALUES(?1, ?2, ?3, ?4, ?5)");
    all.add(drop_call_, "DELETE FROM calls WHERE call_id = ?1");
    all.add(drop_attempts_, "DELETE FROM attempts WHERE call_id = ?1");
    all.add(drop_tombstones_,
            "DELETE FROM tombstones WHERE key_hash IN (SELECT key_hash FROM tombstones WHERE until <= ?1 "
            "LIMIT ?2)");
    return all.done();
}

Result<StoredCall> CallTable::read(const Statement& row) const {
    StoredCall call;
    CallRow& out = call.row;
    const auto effect = effect_class_from_string(row.text(kEffect));
    const auto state = call_state_from_string(row.text(kState));
    if (!copy_bytes(row.blob(kCallId), out.call_id) || !copy_bytes(row.blob(kFingerprint), out.fingerprint) ||
        !copy_bytes(row.blob(kDefinition), out.definition_hash) || !effect || !state) {
        return damaged_record("a call");
    }
    out.key = {std::string(row.text(kTenant)), std::string(row.text(kPrincipal)),
               std::string(row.text(kTool)), std::string(row.text(kKey))};
    out.effect = *effect;
    out.state = *state;
    out.epoch = static_cast<std::uint32_t>(row.integer(kEpoch));
    out.owner = static_cast<OwnerId>(row.integer(kOwner));
    out.attempt = static_cast<std::uint32_t>(row.integer(kAttempt));
    out.maybe_applied = row.integer(kMaybeApplied) != 0;
    out.policy_rev = static_cast<std::uint64_t>(row.integer(kPolicyRev));
    out.approval_id = row.text(kApproval);
    out.action = row.text(kAction);
    if (!row.is_null(kSealedArguments)) {
        out.arguments = read_arguments(out.call_id, row.blob(kSealedArguments));
        call.arguments_unreadable = out.arguments == nullptr;
    }
    out.created_at = time_of(row.integer(kCreatedAt));
    if (!row.is_null(kEndedAt)) out.ended_at = time_of(row.integer(kEndedAt));
    if (!row.is_null(kExpiresAt)) out.expires_at = time_of(row.integer(kExpiresAt));
    call.result_ref = row.integer(kResultRef);
    call.holds_key = !row.is_null(kKeyHash);
    if (!row.is_null(kRunsAs) && !copy_bytes(row.blob(kRunsAs), out.runs_as)) return damaged_record("a call");
    out.lived_at = row.is_null(kLivedAt) ? out.created_at : time_of(row.integer(kLivedAt));
    call.restored = !row.is_null(kRestored);
    return call;
}

std::shared_ptr<const Value> CallTable::read_arguments(const CallId& call_id, std::string_view sealed) const {
    const auto plain = base::unseal(*key_, kArguments, bytes_of(call_id), sealed);
    auto value = plain ? decode_arguments(*plain) : Result<Value>(tl::unexpected(plain.error()));
    return value ? std::make_shared<const Value>(std::move(*value)) : nullptr;
}

Result<std::optional<CallId>> CallTable::lost_call(const base::Sha256Digest& fingerprint) {
    CALLGATE_TRY_ASSIGN(auto found, lost_.bind_blob(1, fingerprint).step());
    if (!found) return std::nullopt;
    CallId id{};
    const bool whole = copy_bytes(lost_.blob(0), id);
    lost_.reset();
    if (!whole) return damaged_record("a call");
    return id;
}

Result<void> CallTable::set_restored(const CallId& call_id, std::int64_t restore) {
    written();
    CALLGATE_TRY_ASSIGN(auto update, database_->prepare("UPDATE calls SET restored = ?2 WHERE call_id = ?1"));
    CALLGATE_TRY(update.bind_blob(1, call_id).bind(2, restore).run());
    return {};
}

Result<std::optional<StoredCall>> CallTable::one(Statement& query) {
    CALLGATE_TRY_ASSIGN(auto found, query.step());
    if (!found) return std::nullopt;
    auto call = read(query);
    if (call && tally_ != nullptr) {
        call->text = &last_.read(kTable, query.raw());
        call->read_at = ++done_;
    }
    query.reset();
    if (!call) return tl::unexpected(std::move(call.error()));
    return std::optional(std::move(*call));
}

Result<std::optional<StoredCall>> CallTable::by_id(const CallId& call_id) {
    return one(by_id_.bind_blob(1, call_id));
}

Result<std::optional<StoredCall>> CallTable::by_key(const base::Sha256Digest& key_hash) {
    return one(by_key_.bind_blob(1, key_hash));
}

Result<void> CallTable::load_outcome(StoredCall& call) {
    if (call.result_ref == 0) return {};
    CALLGATE_TRY_ASSIGN(auto found, outcome_.bind(1, call.result_ref).step());
    if (!found) return damaged_record("the outcome of a call");
    auto outcome = unseal_outcome(*key_, call.row.call_id, outcome_.blob(0));
    outcome_.reset();
    if (!outcome) return tl::unexpected(std::move(outcome.error()));
    call.row.outcome = std::move(*outcome);
    return {};
}

Result<bool> CallTable::is_spent(const base::Sha256Digest& key_hash, base::WallTime now) {
    auto found = tombstone_.bind_blob(1, key_hash).bind(2, micros(now)).step();
    tombstone_.reset();
    return found;
}

Result<std::vector<StoredCall>> CallTable::many(Statement& query) {
    std::vector<StoredCall> calls;
    ++unfenced_;
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, query.step());
        if (!found) return calls;
        auto call = read(query);
        if (!call) {
            query.reset();
            return tl::unexpected(std::move(call.error()));
        }
        if (tally_ != nullptr) {
            if (page_.size() == calls.size()) page_.emplace_back();
            call->text = &page_[calls.size()].read(kTable, query.raw());
            call->read_at = unfenced_;
        }
        calls.push_back(std::move(*call));
    }
}

Result<std::vector<StoredCall>> CallTable::open_calls(const CallId& after, std::size_t limit) {
    return many(open_.bind_blob(1, after).bind(2, static_cast<std::int64_t>(limit)));
}

Result<std::vector<StoredCall>> CallTable::unfinished_before(base::WallTime begun, std::size_t limit) {
    CALLGATE_TRY_ASSIGN(auto query,
                        database_->prepare(select_calls(fmt::format("WHERE {} AND state <> 'unknown' AND "
                                                                    "coalesce(lived_at, created_at) <= ?1 "
                                                                    "ORDER BY call_id LIMIT ?2",
                                                                    kIsOpen))));
    return many(query.bind(1, micros(begun)).bind(2, static_cast<std::int64_t>(limit)));
}

Result<std::vector<StoredCall>> CallTable::all_calls(const CallId& after, std::size_t limit) {
    CALLGATE_TRY_ASSIGN(auto query,
                        database_->prepare(select_calls("WHERE call_id > ?1 ORDER BY call_id LIMIT ?2")));
    return many(query.bind_blob(1, after).bind(2, static_cast<std::int64_t>(limit)));
}

Result<std::vector<CallRow>> CallTable::page(const CallQuery& query, const std::optional<CallId>& before) {
    std::string sql = select_calls("WHERE 1");
    const bool open = query.state && (!is_end(*query.state) || *query.state == CallState::unknown);
    if (open) sql.append(" AND ").append(kIsOpen);
    if (query.state) sql += " AND state = ?1";
    if (!query.tool.empty()) sql += " AND tool = ?2";
    if (!query.principal.empty()) sql += " AND principal = ?3";
    if (before) sql += " AND call_id < ?4";
    sql += " ORDER BY call_id DESC LIMIT ?5";
    CALLGATE_TRY_ASSIGN(auto statement, database_->prepare(sql));
    if (query.state) statement.bind(1, to_string(*query.state));
    if (!query.tool.empty()) statement.bind(2, query.tool);
    if (!query.principal.empty()) statement.bind(3, query.principal);
    if (before) statement.bind_blob(4, *before);
    statement.bind(5, static_cast<std::int64_t>(std::min<std::size_t>(query.limit, 10'000'000)));
    CALLGATE_TRY_ASSIGN(auto found, many(statement));
    std::vector<CallRow> rows;
    rows.reserve(found.size());
    for (StoredCall& call : found) rows.push_back(std::move(call.row));
    return rows;
}

Result<std::vector<AttemptRow>> CallTable::attempts(const CallId& call_id) {
    std::vector<AttemptRow> all;
    attempts_.bind_blob(1, call_id);
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, attempts_.step());
        if (!found) return all;
        AttemptRow& attempt = all.emplace_back();
        attempt.number = static_cast<std::uint32_t>(attempts_.integer(0));
        attempt.epoch = static_cast<std::uint32_t>(attempts_.integer(1));
        attempt.started_at = time_of(attempts_.integer(2));
        if (!attempts_.is_null(3)) attempt.ended_at = time_of(attempts_.integer(3));
        attempt.end = attempts_.text(4);
    }
}

// As kInsertCall does.
Result<std::int64_t> CallTable::run_insert(const CallRow& row, const base::Sha256Digest* key_hash,
                                           std::string_view arguments) {
    written();
    if (tally_ == nullptr) return insert_.run();
    Tally::ByHand counted(*tally_);
    auto changed = insert_.run();
    if (!changed || *changed != 1) return changed;
    written_.begin(kTable);
    written_.blob(bytes_of(row.call_id));
    key_hash != nullptr ? written_.blob(bytes_of(*key_hash)) : written_.null();
    written_.text(row.key.tenant).text(row.key.principal).text(row.key.tool).text(row.key.key);
    written_.blob(bytes_of(row.fingerprint)).text(to_string(row.effect)).text(to_string(row.state));
    written_.integer(row.epoch).integer(static_cast<std::int64_t>(row.owner)).integer(row.attempt).integer(0);
    written_.blob(bytes_of(row.definition_hash)).integer(static_cast<std::int64_t>(row.policy_rev));
    written_.text(row.approval_id).text(row.action);
    arguments.empty() ? written_.null() : written_.blob(arguments);
    written_.integer(micros(row.created_at));
    for (int column = kEndedAt; column < kLivedAt; ++column) written_.null();
    written_.integer(micros(row.lived_at));
    counted.inserted(written_);
    return changed;
}

Result<bool> CallTable::insert(const CallRow& row, const base::Sha256Digest* key_hash) {
    insert_.bind_blob(1, row.call_id);
    key_hash != nullptr ? insert_.bind_blob(2, *key_hash) : insert_.bind_null(2);
    insert_.bind(3, row.key.tenant)
        .bind(4, row.key.principal)
        .bind(5, row.key.tool)
        .bind(6, row.key.key)
        .bind_blob(7, row.fingerprint)
        .bind(8, to_string(row.effect))
        .bind(9, to_string(row.state))
        .bind(10, row.epoch)
        .bind(11, static_cast<std::int64_t>(row.owner))
        .bind(12, row.attempt)
        .bind_blob(13, row.definition_hash)
        .bind(14, static_cast<std::int64_t>(row.policy_rev))
        .bind(15, row.approval_id)
        .bind(16, row.action)
        .bind(18, micros(row.created_at))
        .bind(19, micros(row.lived_at));
    std::string arguments;
    if (row.effect == EffectClass::verify && row.arguments) {  // only a probe needs them
        arguments = base::seal(*key_, kArguments, bytes_of(row.call_id), encode_arguments(*row.arguments));
        insert_.bind_blob(17, arguments);
    } else {
        insert_.bind_null(17);
    }
    CALLGATE_TRY_ASSIGN(auto changed, run_insert(row, key_hash, arguments));
    if (changed == 0 || row.state != CallState::dispatched) return changed == 1;
    insert_attempt_.bind_blob(1, row.call_id)
        .bind(2, row.attempt)
        .bind(3, row.epoch)
        .bind(4, static_cast<std::int64_t>(row.owner))
        .bind(5, micros(row.created_at));
    return run_uncounted(insert_attempt_);
}

Result<bool> CallTable::take_over(const CallRow& before, const CallRow& after) {
    written();
    take_over_.bind_blob(1, before.call_id)
        .bind(2, static_cast<std::int64_t>(after.owner))
        .bind(3, to_string(after.state))
        .bind(4, after.maybe_applied ? 1 : 0)
        .bind(5, static_cast<std::int64_t>(after.policy_rev))
        .bind(7, to_string(before.state))
        .bind(8, before.epoch)
        .bind(9, static_cast<std::int64_t>(before.owner))
        .bind(10, after.approval_id);
    after.runs_as == CallId() ? take_over_.bind_null(11) : take_over_.bind_blob(11, after.runs_as);
    bind_time(take_over_, 6, after.ended_at);
    take_over_.bind_blob(12, after.definition_hash).bind_blob(13, after.fingerprint);
    return changed_one(take_over_);
}

Result<bool> CallTable::dispatch(const CallRow& before, const CallRow& after, base::WallTime now) {
    written();
    dispatch_.bind_blob(1, before.call_id)
        .bind(2, before.epoch)
        .bind(3, static_cast<std::int64_t>(before.owner))
        .bind_blob(4, after.definition_hash);
    auto passed = changed_one(dispatch_);
    if (!passed || !*passed) return passed;
    insert_attempt_.bind_blob(1, after.call_id)
        .bind(2, after.attempt)
        .bind(3, after.epoch)
        .bind(4, static_cast<std::int64_t>(after.owner))
        .bind(5, micros(now));
    return run_uncounted(insert_attempt_);
}

bool CallTable::is_as_read(const StoredCall& call) const noexcept {
    if (tally_ == nullptr || call.text == nullptr || call.text->columns() != kColumns) return false;
    return call.read_at == (call.text == &last_ ? done_ : unfenced_);
}

void CallTable::write_end(const RowText& before, const CallRow& after, bool frees_key,
                          std::optional<base::WallTime> expires, std::int64_t result,
                          const base::Sha256Digest* digest) {
    written_.begin(kTable);
    const auto time = [&](bool there, base::WallTime when) {
        there ? written_.integer(micros(when)) : written_.null();
    };
    for (int column = kCallId; column < kColumns; ++column) {
        switch (column) {
            case kState: written_.text(to_string(after.state)); break;
            case kEpoch: written_.integer(after.epoch); break;
            case kOwner: written_.integer(static_cast<std::int64_t>(after.owner)); break;
            case kMaybeApplied: written_.integer(after.maybe_applied ? 1 : 0); break;
            case kEndedAt: time(after.ended_at != base::WallTime(), after.ended_at); break;
            case kExpiresAt: time(expires.has_value(), expires.value_or(base::WallTime())); break;
            case kResultRef: result != 0 ? written_.integer(result) : written_.null(); break;
            case kResultDigest: digest != nullptr ? written_.blob(bytes_of(*digest)) : written_.null(); break;
            case kKeyHash:
                if (frees_key) {
                    written_.null();
                    break;
                }
                [[fallthrough]];
            default: written_.same(before, static_cast<std::size_t>(column));
        }
    }
}

Result<bool> CallTable::store(const StoredCall& stored, const CallRow& after, bool frees_key,
                              std::optional<base::WallTime> expires, const SealedOutcome* ready) {
    const CallRow& before = stored.row;
    if (stored.result_ref != 0) {
        CALLGATE_TRY(drop_result_.bind(1, stored.result_ref).run());
    }
    std::int64_t result = 0;
    SealedOutcome own;
    if (after.outcome) {
        if (ready == nullptr) {
            own = seal_outcome(*key_, after.call_id, *after.outcome);
            ready = &own;
        }
        CALLGATE_TRY(run_uncounted(insert_result_.bind_blob(1, ready->sealed)));
        result = database_->last_insert_id();
    }
    const base::Sha256Digest* const digest = after.outcome ? &ready->digest : nullptr;
    store_.bind_blob(1, before.call_id)
        .bind(2, to_string(after.state))
        .bind(3, after.epoch)
        .bind(4, static_cast<std::int64_t>(after.owner))
        .bind(5, after.maybe_applied ? 1 : 0)
        .bind(10, frees_key ? 1 : 0)
        .bind(11, before.epoch)
        .bind(12, before.attempt)
        .bind(13, to_string(before.state));
    bind_time(store_, 6, after.ended_at);
    expires ? store_.bind(7, micros(*expires)) : store_.bind_null(7);
    result != 0 ? store_.bind(8, result) : store_.bind_null(8);
    digest != nullptr ? store_.bind_blob(9, *digest) : store_.bind_null(9);
    const bool by_hand = is_as_read(stored);
    ++done_;
    if (after.state == before.state && after.epoch == before.epoch) ++unfenced_;
    if (!by_hand) return changed_one(store_);
    Tally::ByHand counted(*tally_);
    auto changed = changed_one(store_);
    if (!changed || !*changed) return changed;
    write_end(*stored.text, after, frees_key, expires, result, digest);
    counted.replaced(*stored.text, written_);
    return changed;
}

Result<bool> CallTable::run_uncounted(Statement& statement) {
    std::optional<Tally::NotCounted> uncounted;
    if (tally_ != nullptr) uncounted.emplace(*tally_);
    return changed_one(statement);
}

Result<void> CallTable::end_attempt(const CallRow& row, std::uint32_t attempt, std::string_view how,
                                    base::WallTime now) {
    end_attempt_.bind_blob(1, row.call_id).bind(2, attempt).bind(3, micros(now)).bind(4, how);
    CALLGATE_TRY(run_uncounted(end_attempt_));
    return {};
}

Result<void> CallTable::bury(const StoredCall& call, base::WallTime until) {
    written();
    if (call.holds_key) {
        const base::Sha256Digest key_hash = hash_of(call.row.key);
        bury_tombstone_.bind_blob(1, key_hash)
            .bind_blob(2, call.row.fingerprint)
            .bind(3, to_string(call.row.state))
            .bind_null(4)
            .bind(5, micros(until));
        CALLGATE_TRY(bury_tombstone_.run());
    }
    if (call.result_ref != 0) {
        CALLGATE_TRY(drop_result_.bind(1, call.result_ref).run());
    }
    for (Statement* drop : {&drop_call_, &drop_attempts_}) {
        CALLGATE_TRY(drop->bind_blob(1, call.row.call_id).run());
    }
    return {};
}

Result<std::int64_t> CallTable::bury_due(base::WallTime now, base::WallTime tombstones_until,
                                         std::size_t limit) {
    written();
    struct Due {
        CallId call_id;
        std::string key_hash, fingerprint, state, sha256;
        std::int64_t result_ref;
    };
    std::vector<Due> all;
    due_.bind(1, micros(now)).bind(2, static_cast<std::int64_t>(limit));
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, due_.step());
        if (!found) break;
        Due& due = all.emplace_back();
        if (!copy_bytes(due_.blob(0), due.call_id)) {
            due_.reset();
            return damaged_record("a call");
        }
        due.key_hash = due_.blob(1);
        due.fingerprint = due_.blob(2);
        due.state = due_.text(3);
        due.sha256 = due_.blob(4);
        due.result_ref = due_.integer(5);
    }
    for (const Due& due : all) {
        if (!due.key_hash.empty()) {
            bury_tombstone_.bind_blob(1, due.key_hash)
                .bind_blob(2, due.fingerprint)
                .bind(3, due.state)
                .bind(5, micros(tombstones_until));
            due.sha256.empty() ? bury_tombstone_.bind_null(4) : bury_tombstone_.bind_blob(4, due.sha256);
            CALLGATE_TRY(bury_tombstone_.run());
        }
        CALLGATE_TRY(drop_result_.bind(1, due.result_ref).run());
        CALLGATE_TRY(drop_call_.bind_blob(1, due.call_id).run());
        CALLGATE_TRY(drop_attempts_.bind_blob(1, due.call_id).run());
    }
    CALLGATE_TRY_ASSIGN(
        auto tombs, drop_tombstones_.bind(1, micros(now)).bind(2, static_cast<std::int64_t>(limit)).run());
    return static_cast<std::int64_t>(all.size()) + tombs;
}

}  // namespace callgate::ledger
