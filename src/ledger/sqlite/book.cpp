#include "ledger/sqlite/book.h"

#include <utility>

namespace callgate::ledger {

Result<void> Book::prepare() {
    if (auto ready = calls.prepare(Access::read_write); !ready) return ready;
    if (auto ready = approvals.prepare(Access::read_write); !ready) return ready;
    return audit.prepare();
}

Result<std::uint64_t> Book::record(const AuditFacts& event, std::span<const PayloadView> payloads,
                                   const KeyNames& keys) {
    AuditFacts timed = event;
    if (timed.at == std::chrono::system_clock::time_point()) timed.at = time_->wall();
    const ChainedEvent chained = chain_.append(timed, time_->since_start(), payloads, keys);
    if (auto stored = audit.append(chained, timed); !stored) return tl::unexpected(std::move(stored.error()));
    return chained.sequence;
}

Result<std::uint64_t> Book::record(const std::vector<AuditEvent>& events,
                                   std::span<const PayloadView> payloads) {
    std::uint64_t first = 0;
    for (const AuditEvent& event : events) {
        const bool last = &event == &events.back();
        auto number = record(event, last ? payloads : std::span<const PayloadView>());
        if (!number) return number;
        if (first == 0) first = *number;
    }
    return first;
}

}  // namespace callgate::ledger
