#include "ledger/audit_ring.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"

namespace callgate::ledger {

AuditRing::AuditRing(const base::Clock& clock, std::size_t kept)
    : clock_(clock), kept_(std::max<std::size_t>(kept, 1)) {}

void AuditRing::append(AuditEvent& event) {
    if (event.at == std::chrono::system_clock::time_point()) event.at = clock_.wall_now();
    const base::MutexLock lock(mutex_);
    keep(event);
}

std::uint64_t AuditRing::append(std::vector<AuditEvent>&& events) {
    if (events.empty()) return 0;
    const base::MutexLock lock(mutex_);
    for (AuditEvent& event : events) {
        if (event.at == std::chrono::system_clock::time_point()) event.at = clock_.wall_now();
        keep(event);
    }
    return events.front().sequence;
}

void AuditRing::keep(AuditEvent& event) {
    const std::size_t piece = next_ / kPiece;
    if (piece == pieces_.size()) pieces_.push_back(std::make_unique<Piece>());
    event.sequence = ++count_;
    (*pieces_[piece])[next_ % kPiece].pack(event);
    if (++next_ == kept_) next_ = 0;
}

std::vector<AuditEvent> AuditRing::events(std::string_view trace) const {
    std::vector<AuditEvent> found;
    const base::MutexLock lock(mutex_);
    const std::size_t held = count_ < kept_ ? static_cast<std::size_t>(count_) : kept_;
    const std::size_t oldest = count_ < kept_ ? 0 : next_;
    if (trace.empty()) found.reserve(held);
    for (std::size_t i = 0; i < held; ++i) {
        const std::size_t at = (oldest + i) % kept_;
        const PackedEvent& event = (*pieces_[at / kPiece])[at % kPiece];
        const bool wanted =
            trace.empty() || (event.trace_id().empty() ? base::Uuid{event.call_id()}.to_string() == trace
                                                       : event.trace_id() == trace);
        if (wanted) found.push_back(event.unpack());
    }
    return found;
}

std::uint64_t AuditRing::count() const {
    const base::MutexLock lock(mutex_);
    return count_;
}

}  // namespace callgate::ledger
