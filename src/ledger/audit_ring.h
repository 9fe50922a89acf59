// The last events of the audit, in memory: a dense sequence from 1, of which the newest are kept.
//
// append() is on the path of every call: it copies the event and no more. Memory is
// taken in pieces as events come, up to `kept` of them.
//
// Threads: may be used from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <callgate/observer.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "ledger/packed_event.h"

namespace callgate::ledger {

class AuditRing {
public:
    /// Keeps at least one. `clock` must outlive the ring.
    AuditRing(const base::Clock& clock, std::size_t kept);

    /// Sets its sequence, and its time if it has none, and keeps a copy: the slots' own memory serves again.
    [[gnu::hot]] void append(AuditEvent& event);
    /// One after the other, with nothing between them. The sequence of the first; 0 if there are none.
    std::uint64_t append(std::vector<AuditEvent>&& events);

    /// Oldest first; all if `trace` is empty. An event without a trace id is found by its call id.
    std::vector<AuditEvent> events(std::string_view trace) const;
    std::uint64_t count() const;

private:
    static constexpr std::size_t kPiece = 64;
    using Piece = std::array<PackedEvent, kPiece>;

    [[gnu::hot]] void keep(AuditEvent& event) CALLGATE_REQUIRES(mutex_);

    const base::Clock& clock_;
    const std::size_t kept_;
    mutable base::Mutex mutex_;
    std::vector<std::unique_ptr<Piece>> pieces_ CALLGATE_GUARDED_BY(mutex_);
    std::size_t next_ CALLGATE_GUARDED_BY(mutex_) = 0;  // where the next event goes
    std::uint64_t count_ CALLGATE_GUARDED_BY(mutex_) = 0;
};

}  // namespace callgate::ledger
