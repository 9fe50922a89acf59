#include "ledger/sqlite/book.h"

#include <utility>

namespace callgate::ledger {

Result<void> Book::prepare() {
    if (auto ready = calls.prepare(Access::read_write); !ready) return ready;
    if (auto ready = approvals.prepare(Access::read_write); !ready) return ready;
    return audit.prepare();
}

Result<void> Book::store_end() {
    if (sqlite3_total_changes64(database_->raw()) == changes_before_) return {};
    if (auto stored = audit.append(chain_.take_nodes()); !stored) return stored;
    if (log_is_marked_) return {};
    marks_log_ = true;
    return audit.set_mark(chain_.head());
}

Result<bool> Book::make_room_for_approval() {
    constexpr std::chrono::seconds kBetweenCounts{1};  // those that expire meanwhile can wait
    if (open_approvals_ >= kept_.max_open_approvals) {
        const base::WallTime now = time_->latest();
        if (full_at_ && std::chrono::abs(now - *full_at_) < kBetweenCounts) return false;
        auto count = approvals.count_open(now);
        if (!count) return tl::unexpected(std::move(count.error()));
        open_approvals_ = *count;
        full_at_ = *count >= kept_.max_open_approvals ? std::optional(now) : std::nullopt;
        if (full_at_) return false;
    }
    ++open_approvals_;
    return true;
}

Result<std::uint64_t> Book::record(const AuditFacts& event, const SealedPayload* payload,
                                   const KeyNames& keys) {
    AuditFacts timed = event;
    if (timed.at == std::chrono::system_clock::time_point()) timed.at = time_->wall();
    PayloadView view;
    std::span<const PayloadView> payloads;
    std::span<const SealedPayload> ready;
    if (payload != nullptr) {
        view = {payload->field, payload->plain};
        payloads = {&view, 1};
        ready = {payload, 1};
    }
    const ChainedEvent chained = chain_.append(timed, time_->since_start(), payloads, keys);
    if (auto stored = audit.append(chained, timed, ready); !stored)
        return tl::unexpected(std::move(stored.error()));
    return chained.sequence;
}

Result<std::uint64_t> Book::record(const std::vector<AuditEvent>& events, const SealedPayload* payload) {
    std::uint64_t first = 0;
    for (const AuditEvent& event : events) {
        const bool last = &event == &events.back();
        auto number = record(event, last ? payload : nullptr);
        if (!number) return number;
        if (first == 0) first = *number;
    }
    return first;
}

}  // namespace callgate::ledger
