// Signs the audit as it grows: a checkpoint with the commit that brings the thousandth event since the last,
// or when a second has passed. With the first commit after somebody has set the wall clock, that is on the
// record, too.
//
// Threads: the writer's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ledger/audit/signer.h"
#include "ledger/ledger_time.h"
#include "ledger/sqlite/tables.h"

namespace callgate::ledger {

class AuditCheckpoints {
public:
    /// After a checkpoint is on the disk: for those who keep a copy elsewhere. Must be quick.
    using OnCheckpoint = std::function<void(const std::string& note, std::uint64_t size)>;

    /// `time` must outlive this.
    AuditCheckpoints(AuditSigner signer, std::uint64_t signed_size, const LedgerTime& time)
        : signer_(std::move(signer)), signed_size_(signed_size), watch_(time) {}

    /// So long is the log on the disk: what is unsigned of it is signed when its time has come.
    void found(std::uint64_t size) noexcept { seen_size_ = size; }

    /// Inside each transaction that has something new on the record, before it is committed.
    Result<void> before_commit(Tables& tables);
    void committed(bool done);
    /// When to be asked again though nothing happens; nothing: then not.
    std::optional<std::chrono::nanoseconds> wakes_in();

    /// Signs now whatever is unsigned. The note, "" if there is nothing new, or the transaction changes the
    /// key. Inside a transaction.
    Result<std::string> sign(Tables& tables);

    AuditSigner& signer() noexcept { return signer_; }
    /// A rotation's event is part of the transaction.
    void rotates() noexcept { rotating_ = true; }
    void set_on_checkpoint(OnCheckpoint notified) { on_checkpoint_ = std::move(notified); }

private:
    static constexpr std::uint64_t kEvents = 1'000;
    static constexpr std::chrono::seconds kInterval{1};

    AuditSigner signer_;
    std::uint64_t signed_size_;       // on the disk
    std::uint64_t seen_size_ = 0;     // of the last commit
    std::uint64_t pending_size_ = 0;  // signed in the transaction under way
    std::string pending_note_;
    bool rotating_ = false;
    ClockWatch watch_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    OnCheckpoint on_checkpoint_;
};

}  // namespace callgate::ledger
