#include "ledger/sqlite/notary.h"

#include <algorithm>
#include <utility>

#include "ledger/sqlite/columns.h"

namespace callgate::ledger {

Result<std::string> Notary::sign(Book& book) {
    const std::uint64_t size = book.chain().head().size();
    // A rotation is committed before the first checkpoint that both keys sign.
    if (size == signed_size_ || rotating_) return std::string();
    std::string note = signer_.sign(size, book.chain().root());
    if (auto stored = book.audit.add_checkpoint(size, note); !stored)
        return tl::unexpected(std::move(stored.error()));
    // Where the ledger's clocks had come to, for the next start.
    auto reached = book.database().prepare(
        "INSERT OR REPLACE INTO meta(name, value) VALUES('reached', ?1), ('latest', ?2)");
    if (!reached) return tl::unexpected(std::move(reached.error()));
    auto written = reached->bind(1, micros(book.time().steady())).bind(2, micros(book.time().latest())).run();
    if (!written) return tl::unexpected(std::move(written.error()));
    pending_size_ = size;
    pending_note_ = note;
    return note;
}

Result<void> Notary::before_commit(Clerk& clerk) {
    const std::uint64_t size = clerk.book().chain().head().size();
    seen_size_ = size;
    const bool due = size >= signed_size_ + kEvents ||
                     (size > signed_size_ && std::chrono::steady_clock::now() >= last_ + kInterval);
    if (!due || pending_size_ == size) return {};
    auto note = sign(clerk.book());
    if (!note) return tl::unexpected(std::move(note.error()));
    return {};
}

void Notary::committed(bool done) {
    const std::string note = std::exchange(pending_note_, {});
    const std::uint64_t size = std::exchange(pending_size_, 0);
    const bool rotating = std::exchange(rotating_, false);
    if (!done) {
        seen_size_ = signed_size_;
        return;
    }
    if (rotating) signer_.rotated();
    if (note.empty()) return;
    signed_size_ = size;
    last_ = std::chrono::steady_clock::now();
    if (!rotating) (void)signer_.checkpointed();
    if (on_checkpoint_) on_checkpoint_(note, size);
}

std::optional<std::chrono::nanoseconds> Notary::wakes_in() {
    if (seen_size_ <= signed_size_) return std::nullopt;
    const auto due = last_ + kInterval - std::chrono::steady_clock::now();
    return std::max(std::chrono::duration_cast<std::chrono::nanoseconds>(due), std::chrono::nanoseconds(0));
}

}  // namespace callgate::ledger
