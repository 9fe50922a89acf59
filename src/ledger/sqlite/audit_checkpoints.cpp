#include "ledger/sqlite/audit_checkpoints.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "ledger/own_events.h"

namespace callgate::ledger {

Result<std::string> AuditCheckpoints::sign(Tables& tables) {
    const std::uint64_t size = tables.chain().head().size();
    // A rotation is committed before the first checkpoint that both keys sign.
    if (size == signed_size_ || rotating_) return std::string();
    std::string note = signer_.sign(size, tables.chain().root());
    CALLGATE_TRY(tables.audit.add_checkpoint(size, note));
    CALLGATE_TRY(tables.store_clocks());
    pending_size_ = size;
    pending_note_ = note;
    return note;
}

Result<void> AuditCheckpoints::before_commit(Tables& tables) {
    if (const auto jump = watch_.look()) {
        CALLGATE_TRY(tables.record(event_of_clock_jump(*jump)));
    }
    const std::uint64_t size = tables.chain().head().size();
    seen_size_ = size;
    const bool due = size >= signed_size_ + kEvents ||
                     (size > signed_size_ && std::chrono::steady_clock::now() >= last_ + kInterval);
    if (!due || pending_size_ == size) return {};
    CALLGATE_TRY(sign(tables));
    return {};
}

void AuditCheckpoints::committed(bool done) {
    const std::string note = std::exchange(pending_note_, {});
    const std::uint64_t size = std::exchange(pending_size_, 0);
    const bool rotating = std::exchange(rotating_, false);
    if (!done) {
        seen_size_ = signed_size_;
        return;
    }
    watch_.accept();
    if (rotating) signer_.rotated();
    if (note.empty()) return;
    signed_size_ = size;
    last_ = std::chrono::steady_clock::now();
    if (!rotating) (void)signer_.checkpointed();
    if (on_checkpoint_) on_checkpoint_(note, size);
}

std::optional<std::chrono::nanoseconds> AuditCheckpoints::wakes_in() {
    if (seen_size_ <= signed_size_) return std::nullopt;
    const auto due = last_ + kInterval - std::chrono::steady_clock::now();
    return std::max(std::chrono::duration_cast<std::chrono::nanoseconds>(due), std::chrono::nanoseconds(0));
}

}  // namespace callgate::ledger
