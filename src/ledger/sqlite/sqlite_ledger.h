// The durable ledger: one SQLite file in a directory of its own, written by one thread of one process.
//
// What is answered is on the disk: a claim before anything is sent, an outcome before its caller has it. The
// transactions of many callers share a sync (writer.h); reads and refusals are put on the record in batches
// of at most ten milliseconds, unless the audit is to be strict. After a crash the next start takes over what
// the last owner left, by effect class: what may never be sent again is unknown, and is reported so.
//
// The directory belongs to one process at a time (owner_lock.h). It holds ledger.db with its log, the key
// that seals outcomes, approvals and payloads (ledger.key, unless the host gives one), the key that signs the
// audit's checkpoints (audit.key) and, while it is served, control.sock.
//
// Threads: may be used from any thread. Operations on the path of a call never wait for the disk on the
// caller's thread: they are handed to the writer, or to a few readers (readers.h); those for people may
// block. The last reference may be released on any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "base/seal.h"
#include "ledger/ledger.h"
#include "ledger/operations.h"
#include "ledger/sqlite/readers.h"
#include "ledger/sqlite/writer.h"
#include "os/file_ops.h"

namespace callgate::ledger {

struct SegmentRow;
class SqliteAuditReader;

struct SqliteOptions {
    std::string directory;
    Retention kept;
    WriterOptions writer;
    ReaderOptions readers;
    bool strict_audit = false;          ///< reads are on the disk before they are answered, too
    bool reads_without_record = false;  ///< while nothing can be recorded, reads go on unrecorded
    std::optional<base::SealKey> key;   ///< instead of the file ledger.key
    /// Of an approval or payload; a larger outcome goes without its result.
    std::size_t max_record_bytes = 512u << 20;
    std::uint64_t check_at_once_below = 16u << 20;  ///< bytes: a larger file is checked while calls go on
    /// Whose unsigned votes count A2 (operators.h). Who opens it in passing goes by what was said last.
    std::vector<uid_t> operator_uids;
    /// Who else keeps the audit's checkpoints (audit/anchor.h): a file that only grows, a command, or both.
    std::string anchor_file;
    std::vector<std::string> anchor_command;
    std::chrono::milliseconds anchor_timeout{10'000};
    /// Where the mark is kept that shows when an older ledger is put in the place of this one (head_mark.h):
    /// a directory outside the ledger's. "": callgate-marks in the state directory of this user.
    std::string mark_dir;
    bool watch_past = true;  ///< false, for tests and their controls: without a mark, whatever is there opens
    /// For a moment, as operators' verbs own it: no event tells of a clean start, and what the last owner who
    /// stayed said about keeping goes before `kept`.
    bool in_passing = false;
    /// For how long it waits where this very process owns it, in case that is just being closed.
    std::chrono::milliseconds while_closing{2'000};
    bool to_restore = false;    ///< by SqliteLedger::restore alone: nothing is refused or taken over yet
    const char* vfs = nullptr;  ///< SQLite's file layer, for tests

    // Seams; null means the real one.
    std::shared_ptr<base::Clock> clock;
    std::shared_ptr<base::Rng> rng;
    std::shared_ptr<os::FileOps> files;

    SqliteOptions() = default;
};

struct RestoreRequest;  // restore.h

/// What a start found and did.
struct RecoveryReport {
    bool unclean = false;  ///< the last owner did not close it
    std::uint64_t open_calls = 0;
    std::uint64_t unknown = 0;
    std::uint64_t freed = 0;
    std::uint64_t left_to_claims = 0;
    std::string replaces;  ///< the id of a ledger that was in this directory, and is gone
    std::chrono::nanoseconds took{0};
};

class SqliteLedger final : public Ledger, public Operations {
public:
    /// ledger_unavailable with details.reason: ledger_owned, network_filesystem, not_private, newer_schema,
    /// foreign_database, not_a_database, symbolic_link, damaged, ledger_lost, read_only, wrong_key,
    /// rolled_back (an older one was put in its place), moved, mark_unwritable, …; config_error: no_mark_dir,
    /// mark_inside.
    static Result<std::shared_ptr<SqliteLedger>> open(SqliteOptions options);
    ~SqliteLedger() override;
    SqliteLedger(const SqliteLedger&) = delete;
    SqliteLedger& operator=(const SqliteLedger&) = delete;

    /// Accepts a ledger that open() refuses as rolled_back or moved, and closes it again: see restore.h.
    static Result<Object> restore(SqliteOptions options, const RestoreRequest& order,
                                  const WorkProgress& progress = {});

    const RecoveryReport& recovery() const noexcept;
    const std::string& directory() const noexcept;

    Io peek(const KeyScope& key, const base::Sha256Digest& fingerprint, PeekReply& reply,
            Waiter& waiter) override;
    Io claim(ClaimRequest request, ClaimReply& reply, Waiter& waiter) override;
    Io dispatch(DispatchRequest request, DispatchReply& reply, Waiter& waiter) override;
    Io settle(SettleRequest request, SettleReply& reply, Waiter& waiter) override;
    Io conclude(ConcludeRequest request, ConcludeReply& reply, Waiter& waiter) override;
    Io open_approval(OpenApprovalRequest request, OpenApprovalReply& reply, Waiter& waiter) override;
    [[gnu::hot]] Io record(AuditEvent& event, Reply& reply, Waiter& waiter) override;
    std::optional<Error> ready_to_record() override;
    Io wait_for_end(const KeyScope& key, std::shared_ptr<Waiter> ended, WaitReply& reply,
                    Waiter& waiter) override;
    void stop_waiting(const KeyScope& key, const Waiter& waiter) override;

    Io approval_of_call(std::string call_id, ApprovalReply& reply, Waiter& waiter) override;
    Io open_approval_for(std::string_view tenant, std::string_view requester,
                         const base::Sha256Digest& fingerprint, std::string_view idempotency_key,
                         ApprovalReply& reply, Waiter& waiter) override;
    Io adopt(AdoptRequest request, AdoptReply& reply, Waiter& waiter) override;
    Io register_owner(OwnerReply& reply, Waiter& waiter) override;

    Result<std::vector<Approval>> approvals(std::optional<ApprovalState> state) override;
    Result<Approval> approval(std::string_view id) override;
    Result<Approval> vote(std::string_view id, Vote vote, AuditEvent& event) override;
    Result<Approval> revoke(std::string_view id, std::string_view by, AuditEvent& event) override;

    void watch_approvals(std::weak_ptr<ApprovalSink> sink) override;
    Result<CallRow> find(const CallId& call_id) override;
    Result<std::vector<CallRow>> list(std::optional<CallState> state) override;
    Result<CallRow> resolve(const CallId& call_id, bool applied, std::shared_ptr<const StoredOutcome> outcome,
                            AuditEvent& event) override;
    Result<std::vector<AuditEvent>> audit(std::string_view trace) override;
    std::uint64_t audit_count() override;
    base::Sha256Digest keyed_digest(std::string_view purpose, std::string_view text) override;
    Result<std::vector<CallRow>> in_doubt() override;

    bool is_alive(OwnerId owner) override;
    void owner_gone(OwnerId owner) override;

    Result<std::vector<CallRow>> page_of_calls(const CallQuery& query) override;
    Result<std::vector<AttemptRow>> attempts(const CallId& call_id) override;
    Result<std::vector<Approval>> page_of_approvals(const ApprovalQuery& query) override;
    base::WallTime approval_time() override;
    std::uint64_t approvals_version() override;
    Result<Object> stats() override;
    Result<Object> check(const WorkProgress& progress) override;
    Result<Object> backup(const std::string& path, const WorkProgress& progress) override;
    Result<Object> collect() override;
    Result<std::vector<AuditEvent>> events(const AuditSelection& which) override;
    Result<std::unique_ptr<AuditReader>> read_audit() override;
    Result<std::string> checkpoint() override;
    Result<std::uint64_t> erase_payloads(const CallId& call_id, std::string_view by,
                                         std::uint64_t in_segment = 0) override;
    Result<Object> rotate_audit_key(std::string_view by) override;
    Result<Object> archive_audit(const ArchiveRequest& request, const WorkProgress& progress) override;
    Result<Object> audit_segments() override;
    std::vector<uid_t> operator_uids() override;
    Result<std::optional<std::string>> operator_key(uid_t uid) override;
    Result<void> set_operator_key(uid_t uid, std::string_view vkey, AuditEvent& event) override;

    /// Everything that was recorded before is on the disk, or the error says why not. Waits no longer than a
    /// commit may take (disk_hung).
    Result<void> flush();

    class Engine;

private:
    explicit SqliteLedger(std::unique_ptr<Engine> engine);
    Result<std::optional<SegmentRow>> archive_one(const ArchiveRequest& request, std::uint64_t up_to,
                                                  const std::string& directory, const WorkProgress& progress);
    Result<void> anchor_before_archiving(const SegmentRow& segment, const std::string& chain_id);
    Result<void> write_segment(SqliteAuditReader& reader, SegmentRow& segment, const WorkProgress& progress);
    Result<std::int64_t> tidy_archived(const WorkProgress& progress);
    Result<Object> copy_to(const std::string& path, const WorkProgress& progress);

    std::unique_ptr<Engine> engine_;
};

}  // namespace callgate::ledger
