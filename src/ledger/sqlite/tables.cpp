#include "ledger/sqlite/tables.h"

#include <utility>

#include "base/try.h"
#include "ledger/sqlite/columns.h"

namespace callgate::ledger {

Result<void> Tables::prepare() {
    CALLGATE_TRY(calls.prepare(Access::read_write));
    CALLGATE_TRY(approvals.prepare(Access::read_write));
    CALLGATE_TRY(audit.prepare());
    Preparing all(*database_);
    all.add(begin_transaction_, "BEGIN IMMEDIATE");
    all.add(commit_, "COMMIT");
    return all.done();
}

Result<void> Tables::store_end() {
    if (sqlite3_total_changes64(database_->raw()) == changes_before_) return {};
    CALLGATE_TRY(store_nodes());
    if (!log_is_marked_) {
        marks_log_ = true;
        CALLGATE_TRY(audit.set_mark(chain_.head()));
    }
    return tally.store(AuditPlace(chain_.head()));
}

Result<void> Tables::store_nodes() {
    const Tally::NotCounted uncounted(tally);
    return audit.append(chain_.take_nodes());
}

Result<void> Tables::store_clocks() {
    CALLGATE_TRY_ASSIGN(auto put,
                        database_->prepare("INSERT OR REPLACE INTO meta(name, value) "
                                           "VALUES('reached', ?1), ('latest', ?2), ('clocks', ?3)"));
    const ClocksReached now = time_->reached();
    const std::string rest = now.text();
    CALLGATE_TRY(put.bind(1, micros(now.lived)).bind(2, micros(now.latest)).bind(3, rest).run());
    return {};
}

Result<bool> Tables::make_room_for_approval() {
    constexpr std::chrono::seconds kBetweenCounts{1};  // those that expire meanwhile can wait
    if (open_approvals_ >= kept_.max_open_approvals) {
        const base::WallTime now = time_->latest();
        if (full_at_ && std::chrono::abs(now - *full_at_) < kBetweenCounts) return false;
        CALLGATE_TRY_ASSIGN(auto count, approvals.count_open(now));
        open_approvals_ = count;
        full_at_ = count >= kept_.max_open_approvals ? std::optional(now) : std::nullopt;
        if (full_at_) return false;
    }
    ++open_approvals_;
    return true;
}

Result<std::uint64_t> Tables::record(const PreparedEvent& event) {
    const bool timed = event.at != std::chrono::system_clock::time_point();
    const ChainedEvent chained =
        chain_.append(event.text, timed ? event.at : time_->wall(), time_->since_start());
    const Tally::NotCounted uncounted(tally);
    CALLGATE_TRY(audit.append(chained, event));
    return chained.sequence;
}

Result<std::uint64_t> Tables::record(const AuditFacts& event, const KeyNames& keys) {
    return record(PreparedEvent(chain_, *key_, chain_.rng(), event, {}, keys));
}

template <class Event>
Result<std::uint64_t> Tables::record_all(std::span<const Event> events) {
    std::uint64_t first = 0;
    for (const Event& event : events) {
        CALLGATE_TRY_ASSIGN(auto number, record(event));
        if (first == 0) first = number;
    }
    return first;
}

template Result<std::uint64_t> Tables::record_all(std::span<const PreparedEvent>);
template Result<std::uint64_t> Tables::record_all(std::span<const AuditEvent>);

}  // namespace callgate::ledger
