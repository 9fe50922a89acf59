// The one thread that writes: takes what callers want written and commits many of their transactions with one
// sync.
//
// A lone caller's work is committed at once; what arrives while the disk is busy goes together into the next
// commit. Jobs are carried out in the order they came. One that fails by itself is left out and the others
// begin again; if the disk fails, all of the commit fail, and none of them has happened. Events that need not
// be on the disk at once (reads, refusals) ride along with the next commit, or make one after `batch_delay`.
//
// A full disk is reported, and tried again until there is room; how calls that were under way have ended is
// written then. A failed sync ends it: what is on the disk is not known, so nothing more is written until the
// next start has recovered (never a second sync).
//
// A disk that hangs hangs only this thread. Once a commit has taken longer than `hung_after`, what would
// begin something new is refused at once (ledger_unavailable {reason: disk_hung}, retryable) until the commit
// has come back; how calls under way have ended is taken, and written then. What waits is bounded, in number
// and bytes.
//
// Threads: may be used from any thread. finish() of a job runs on the writer's thread or the notifier's and
// must be quick.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <callgate/observer.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "ledger/packed_event.h"
#include "ledger/sqlite/transactions.h"
#include "ledger/sqlite/waiter_notifier.h"

namespace callgate::ledger {

class AuditCheckpoints;

/// Something to be written as a whole.
class WriteJob {
public:
    virtual ~WriteJob() = default;
    /// Inside the transaction; run again from the start if that has to begin again.
    virtual Result<void> apply(Transactions& transactions) = 0;
    /// On the disk, if `error` is null; else nothing of it happened, or (sync_failed) nobody knows.
    virtual void finish(const Error* error) = 0;
    /// It tells how something ended that is on the record already: never refused because too much waits.
    virtual bool ends_something() const { return false; }
    /// About how much memory it holds.
    virtual std::size_t bytes() const { return 0; }
    /// After finish(), if the disk was full: what must be written all the same once there is room, though
    /// nobody waits for it any more. Null: nothing.
    virtual std::unique_ptr<WriteJob> left_over() { return nullptr; }
};

struct WriterOptions {
    std::chrono::milliseconds batch_delay{10};    ///< how long an event may wait for company
    std::size_t max_batch = 512;                  ///< jobs in one commit
    std::size_t max_waiting_events = 65'536;      ///< then who records waits, too
    std::size_t max_waiting_jobs = 100'000;       ///< then jobs are refused
    std::size_t max_waiting_bytes = 256u << 20;   ///< that they hold, with those being written; as well
    std::chrono::milliseconds hung_after{2'000};  ///< a commit that takes longer: nothing new is begun
    /// By which that is measured; null: the machine's. A seam for tests.
    std::shared_ptr<const base::Clock> watch;
    std::chrono::milliseconds retry_when_full{250};
    std::chrono::milliseconds upkeep_every{10 * 60'000};
    int checkpoint_pages = 1'000;      ///< of the write-ahead log: moved into the file when few are at work
    int checkpoint_pages_max = 8'000;  ///< and even if many are

    WriterOptions() {}
};

class Writer {
public:
    /// Runs on the writer's thread after each commit, before the jobs' finish().
    using OnCommit = std::function<void(Tables::Notifications&& notifications)>;
    /// What is given must outlive this. `checkpoints` is asked before each commit; null: nothing is signed.
    /// `upkeep` is done every `upkeep_every`, and again a moment later while it says that there is more to
    /// do; if it fails, nothing else does.
    using Upkeep = std::function<Result<bool>(Transactions&)>;
    Writer(Transactions& transactions, WriterOptions options, OnCommit on_commit,
           AuditCheckpoints* checkpoints = nullptr, Upkeep upkeep = nullptr);
    ~Writer();

    /// False: refused, and finish() has been called with the reason.
    bool submit(std::unique_ptr<WriteJob> job);
    /// Done at once and on the record with the next commit: true. False: there is no room, make a job of it.
    /// An error: it cannot be recorded now.
    [[gnu::hot]] Result<bool> note(AuditEvent& event);
    /// Why nothing can be recorded now, if so.
    std::optional<Error> trouble() const;
    /// Whether there is such a reason; takes no lock.
    bool troubled() const noexcept { return troubled_.load(std::memory_order_relaxed) || hung_for(); }
    /// For how long a commit has not come back, where that is longer than it may take; takes no lock.
    std::optional<std::chrono::nanoseconds> hung_for() const noexcept;
    /// On one of its threads, which must not wait for it.
    bool on_this_thread() const noexcept {
        return thread_.get_id() == std::this_thread::get_id() || notifier_.on_this_thread();
    }

    /// Writes what waits, then ends. Further jobs are refused.
    void stop();

    struct Counts {
        std::uint64_t commits = 0;
        std::uint64_t jobs = 0;
        std::uint64_t waiting = 0;  ///< now
        std::uint64_t batched_events = 0;
        std::uint64_t refused = 0;
        std::uint64_t largest_batch = 0;
        std::uint64_t wal_checkpoints = 0;
        std::uint64_t waiting_bytes = 0;  ///< now, with those being written
        std::uint64_t hangs = 0;          ///< commits that took longer than they may, and came back
        int wal_pages = 0;
    };
    Counts counts() const;

private:
    using Jobs = std::vector<std::unique_ptr<WriteJob>>;
    using Events = std::vector<PackedEvent>;

    void run();
    void commit(Jobs& jobs);
    Result<void> attempt(Jobs& jobs, std::size_t& culprit);
    void failed(Jobs& jobs, const Error& error);
    std::optional<Error> ended() const;
    std::optional<Error> why_not(const WriteJob& job, std::size_t bytes) const CALLGATE_REQUIRES(mutex_);
    void begin_work() noexcept;
    bool end_work() noexcept;
    void set_trouble(std::optional<Error> what) CALLGATE_REQUIRES(mutex_);
    void tend_wal();
    std::chrono::steady_clock::time_point next_turn(std::chrono::steady_clock::time_point now)
        CALLGATE_REQUIRES(mutex_);

    std::int64_t nanoseconds_now() const noexcept;

    static constexpr std::int64_t kNotAtWork = std::numeric_limits<std::int64_t>::min();

    Transactions& transactions_;
    const WriterOptions options_;
    const OnCommit on_commit_;
    const Upkeep upkeep_;
    AuditCheckpoints* const checkpoints_;

    mutable base::Mutex mutex_;
    base::CondVar wanted_;
    Jobs waiting_ CALLGATE_GUARDED_BY(mutex_);
    Events events_ CALLGATE_GUARDED_BY(mutex_);                // slots are kept for the next batch
    std::size_t event_count_ CALLGATE_GUARDED_BY(mutex_) = 0;  // of them in use
    std::optional<std::chrono::steady_clock::time_point> events_since_ CALLGATE_GUARDED_BY(mutex_);
    std::chrono::steady_clock::time_point upkeep_due_ CALLGATE_GUARDED_BY(mutex_);
    bool asleep_ CALLGATE_GUARDED_BY(mutex_) = false;
    std::size_t waiting_bytes_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::atomic<std::int64_t> at_work_since_{kNotAtWork};     // nanoseconds of the watch
    std::size_t last_batch_ CALLGATE_GUARDED_BY(mutex_) = 0;  // jobs in the last commit
    bool stopping_ CALLGATE_GUARDED_BY(mutex_) = false;
    std::optional<Error> trouble_ CALLGATE_GUARDED_BY(mutex_);
    std::atomic<bool> troubled_{false};
    bool ended_ CALLGATE_GUARDED_BY(mutex_) = false;  // by a failed sync: for good
    Counts counts_ CALLGATE_GUARDED_BY(mutex_);

    Jobs left_over_;  // the writer's own, like the following
    Events taken_;
    std::size_t taken_count_ = 0;
    WaiterNotifier notifier_;
    std::thread thread_;
};

}  // namespace callgate::ledger
