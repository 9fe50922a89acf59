#include "ledger/sqlite/writer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/failpoint.h"
#include "base/thread_role.h"
#include "base/try.h"
#include "ledger/sqlite/audit_checkpoints.h"

namespace callgate::ledger {

namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr std::chrono::milliseconds kMoreToDo{50};
constexpr std::size_t kFew =
    3;  // jobs in a commit: told here; for one caller another thread would be a detour

std::string_view reason_of(const Error& error) noexcept {
    const auto* found = error.details.if_contains("reason");
    return found != nullptr && found->is_string() ? std::string_view(found->get_string())
                                                  : std::string_view();
}

// It came from SQLite and is about the file, not about what one job wanted.
bool concerns_the_disk(const Error& error) noexcept {
    return error.details.contains("sqlite") && !is_own_fault(error);
}

// After these nobody knows what is on the disk, or it is known to be wrong.
bool ends_all(const Error& error) noexcept {
    const std::string_view reason = reason_of(error);
    return is_sync_failure(error) || reason == "io_error" || reason == "out_of_step" ||
           reason == "after_commit" || reason == "mark_unwritable" ||
           (reason == "damaged" && error.details.contains("sqlite"));
}

Error stopped_for_good(const Error& why) {
    Error error = why;
    error.message += " Nothing more is written until this process has been started again.";
    error.details["stopped"] = true;
    return error;
}

Error closing() {
    return Error(ErrorCode::ledger_unavailable, "The ledger is being closed.", {{"reason", "closing"}});
}

WriterOptions with_watch(WriterOptions options) {
    if (!options.watch) options.watch = std::make_shared<base::SystemClock>();
    return options;
}

Error disk_hung(std::chrono::nanoseconds since) {
    Error error(ErrorCode::ledger_unavailable,
                "The disk has not answered the ledger for some time, so nothing new is begun. Try again "
                "later.",
                {{"reason", "disk_hung"},
                 {"hung_ms", std::chrono::duration_cast<std::chrono::milliseconds>(since).count()}});
    error.retryable = true;
    return error;
}

/// Upkeep as one job among others.
class UpkeepJob final : public WriteJob {
public:
    UpkeepJob(const Writer::Upkeep& upkeep, std::function<void()> on_more)
        : upkeep_(upkeep), on_more_(std::move(on_more)) {}

    Result<void> apply(Transactions& transactions) override {
        CALLGATE_TRY_ASSIGN(more_, upkeep_(transactions));
        return {};
    }
    void finish(const Error* error) override {
        if (error == nullptr && more_) on_more_();
    }

private:
    const Writer::Upkeep& upkeep_;
    std::function<void()> on_more_;
    bool more_ = false;
};

}  // namespace

Writer::Writer(Transactions& transactions, WriterOptions options, OnCommit on_commit,
               AuditCheckpoints* checkpoints, Upkeep upkeep)
    : transactions_(transactions),
      options_(with_watch(std::move(options))),
      on_commit_(std::move(on_commit)),
      upkeep_(std::move(upkeep)),
      checkpoints_(checkpoints),
      upkeep_due_(std::chrono::steady_clock::now() + options_.upkeep_every) {
    sqlite3_wal_hook(
        transactions_.tables().database().raw(),
        [](void* self, sqlite3*, const char*, int pages) {
            auto& writer = *static_cast<Writer*>(self);
            const base::MutexLock lock(writer.mutex_);
            writer.counts_.wal_pages = pages;
            return SQLITE_OK;
        },
        this);
    thread_ = std::thread([this] { run(); });
}

Writer::~Writer() {
    stop();
    sqlite3_wal_hook(transactions_.tables().database().raw(), nullptr, nullptr);
}

void Writer::stop() {
    {
        const base::MutexLock lock(mutex_);
        stopping_ = true;
        wanted_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
}

bool Writer::submit(std::unique_ptr<WriteJob> job) {
    std::optional<Error> refused;
    const std::size_t bytes = job->bytes();
    {
        const base::MutexLock lock(mutex_);
        refused = why_not(*job, bytes);
        if (!refused) {
            waiting_bytes_ += bytes;
            waiting_.push_back(std::move(job));
            if (asleep_) wanted_.notify_one();
            return true;
        }
        ++counts_.refused;
    }
    job->finish(&*refused);
    return false;
}

std::optional<Error> Writer::why_not(const WriteJob& job, std::size_t bytes) const {
    if (ended_) return trouble_;
    if (stopping_) return closing();
    if (job.ends_something()) return std::nullopt;
    if (const auto since = hung_for()) return disk_hung(*since);
    const bool too_many = waiting_.size() >= options_.max_waiting_jobs;
    // One alone always may, however large.
    const bool too_large = waiting_bytes_ != 0 && waiting_bytes_ + bytes > options_.max_waiting_bytes;
    if (!too_many && !too_large) return std::nullopt;
    return Error(ErrorCode::ledger_unavailable, "Too much waits to be written already. Try again later.",
                 {{"reason", "ledger_busy"},
                  {"limit", too_many ? options_.max_waiting_jobs : options_.max_waiting_bytes},
                  {"of", too_many ? "jobs" : "bytes"}});
}

std::int64_t Writer::nanoseconds_now() const noexcept {
    return options_.watch->monotonic_now().time_since_epoch() / std::chrono::nanoseconds(1);
}

std::optional<std::chrono::nanoseconds> Writer::hung_for() const noexcept {
    const std::int64_t since = at_work_since_.load(std::memory_order_relaxed);
    if (since == kNotAtWork) return std::nullopt;
    const std::chrono::nanoseconds taken(nanoseconds_now() - since);
    if (taken <= options_.hung_after) return std::nullopt;
    return taken;
}

void Writer::begin_work() noexcept {
    at_work_since_.store(nanoseconds_now(), std::memory_order_relaxed);
}

bool Writer::end_work() noexcept {
    const bool hung = hung_for().has_value();
    at_work_since_.store(kNotAtWork, std::memory_order_relaxed);
    return hung;
}

Result<bool> Writer::note(AuditEvent& event) {
    const base::MutexLock lock(mutex_);
    if (const auto since = hung_for()) [[unlikely]]
        return tl::unexpected(disk_hung(*since));
    if (trouble_) [[unlikely]]
        return tl::unexpected(*trouble_);
    if (stopping_) [[unlikely]]
        return tl::unexpected(closing());
    if (event_count_ == options_.max_waiting_events) return false;
    if (event_count_ == events_.size()) events_.emplace_back();
    event.sequence = 0;  // given when it is written
    events_[event_count_].pack(event);
    if (event_count_++ == 0) {
        events_since_ = std::chrono::steady_clock::now();
        if (asleep_) wanted_.notify_one();
    }
    return true;
}

std::optional<Error> Writer::trouble() const {
    const base::MutexLock lock(mutex_);
    if (trouble_) return trouble_;
    if (const auto since = hung_for()) return disk_hung(*since);
    return std::nullopt;
}

Writer::Counts Writer::counts() const {
    const base::MutexLock lock(mutex_);
    Counts counts = counts_;
    counts.waiting = waiting_.size();
    counts.waiting_bytes = waiting_bytes_;
    return counts;
}

// When there is something to do though no job comes.
std::chrono::steady_clock::time_point Writer::next_turn(std::chrono::steady_clock::time_point now) {
    auto turn = std::chrono::steady_clock::time_point::max();
    if (ended_) return turn;
    if (trouble_) return now + options_.retry_when_full;
    if (upkeep_) turn = upkeep_due_;
    if (events_since_) turn = std::min(turn, *events_since_ + options_.batch_delay);
    if (checkpoints_ != nullptr) {
        if (const auto wait = checkpoints_->wakes_in()) turn = std::min(turn, now + *wait);
    }
    return turn;
}

void Writer::run() {
    const base::OurThread ours;
    base::MutexLock lock(mutex_);
    for (;;) {
        bool due = false;
        while (waiting_.empty() && !stopping_ && !due) {
            const auto now = std::chrono::steady_clock::now();
            const auto turn = next_turn(now);
            asleep_ = true;
            if (turn == std::chrono::steady_clock::time_point::max()) {
                wanted_.wait(lock);
            } else {
                due = turn <= now || wanted_.wait_until(lock, turn) == std::cv_status::timeout;
            }
            asleep_ = false;
        }
        Jobs jobs;
        if (!stopping_ || !trouble_) jobs = std::exchange(left_over_, {});
        const std::size_t count = std::min(waiting_.size(), options_.max_batch);
        jobs.insert(jobs.end(), std::make_move_iterator(waiting_.begin()),
                    std::make_move_iterator(waiting_.begin() + static_cast<std::ptrdiff_t>(count)));
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
        if (taken_count_ == 0) {
            std::swap(events_, taken_);
            taken_count_ = std::exchange(event_count_, 0);
            events_since_.reset();
        }
        const auto now = std::chrono::steady_clock::now();
        if (upkeep_ && !trouble_ && !stopping_ && upkeep_due_ <= now) {
            upkeep_due_ = now + options_.upkeep_every;
            jobs.push_back(std::make_unique<UpkeepJob>(upkeep_, [this] {
                const base::MutexLock guard(mutex_);
                upkeep_due_ = std::min(upkeep_due_, std::chrono::steady_clock::now() + kMoreToDo);
            }));
        }
        const bool last = stopping_ && jobs.empty() && (taken_count_ == 0 || trouble_);
        lock.unlock();
        if (last) return;
        std::size_t bytes = 0;
        for (const auto& job : jobs) bytes += job->bytes();
        begin_work();
        commit(jobs);
        tend_wal();
        lock.lock();
        if (end_work()) ++counts_.hangs;
        waiting_bytes_ -= std::min(bytes, waiting_bytes_);
    }
}

void Writer::commit(Jobs& jobs) {
    if (const auto over = ended()) {
        failed(jobs, *over);
        return;
    }
    for (;;) {
        std::size_t culprit = kNone;
        const auto done = attempt(jobs, culprit);
        if (done) break;
        Tables& tables = transactions_.tables();
        if (tables.database().in_transaction()) (void)tables.database().execute("ROLLBACK");
        tables.undo();
        if (checkpoints_ != nullptr) checkpoints_->committed(false);
        if (culprit == kNone || concerns_the_disk(done.error()) || ends_all(done.error())) {
            failed(jobs, done.error());
            return;
        }
        jobs[culprit]->finish(&done.error());
        jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(culprit));
    }
    if (checkpoints_ != nullptr) checkpoints_->committed(true);
    Tables::Notifications notifications = std::exchange(transactions_.tables().notifications(), {});
    {
        const base::MutexLock lock(mutex_);
        set_trouble(std::nullopt);
        ++counts_.commits;
        last_batch_ = jobs.size();
        counts_.jobs += jobs.size();
        counts_.batched_events += taken_count_;
        counts_.largest_batch = std::max<std::uint64_t>(counts_.largest_batch, jobs.size());
    }
    taken_count_ = 0;
    if (on_commit_) on_commit_(std::move(notifications));
    if (jobs.size() > kFew) {
        notifier_.notify(std::move(jobs));
    } else {
        for (auto& job : jobs) job->finish(nullptr);
    }
    jobs.clear();
}

std::optional<Error> Writer::ended() const {
    const base::MutexLock lock(mutex_);
    return ended_ ? trouble_ : std::nullopt;
}

Result<void> Writer::attempt(Jobs& jobs, std::size_t& culprit) {
    Tables& tables = transactions_.tables();
    tables.begin();
    CALLGATE_FAILPOINT_RETURN("ledger.before_begin");
    CALLGATE_TRY(tables.start_transaction());
    if (jobs.empty() && taken_count_ == 0 && trouble()) {
        // Only something written shows whether there is room again.
        CALLGATE_TRY(
            tables.database().execute("INSERT OR REPLACE INTO meta(name, value) "
                                      "VALUES('probe', hex(randomblob(8)))"));
    }
    for (std::size_t i = 0; i < taken_count_; ++i) {
        CALLGATE_TRY(tables.record(taken_[i].facts()));
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (auto applied = jobs[i]->apply(transactions_); !applied) {
            culprit = i;
            return applied;
        }
    }
    if (checkpoints_ != nullptr) CALLGATE_TRY(checkpoints_->before_commit(transactions_.tables()));
    CALLGATE_TRY(tables.store_end());
    CALLGATE_FAILPOINT_RETURN("ledger.before_commit");
    CALLGATE_TRY(tables.commit());
    tables.committed();
    if (const auto action = CALLGATE_FAILPOINT_ACTION("ledger.after_commit")) {
        // It is on the disk, and the writer does not know: as after a failed sync.
        Error error = base::injected_error("ledger.after_commit", *action);
        error.details["reason"] = "after_commit";
        return tl::unexpected(std::move(error));
    }
    return {};
}

void Writer::failed(Jobs& jobs, const Error& error) {
    const bool over = error.details.contains("stopped");
    const bool ends = over || ends_all(error);
    const Error reported = ends && !over ? stopped_for_good(error) : error;
    {
        const base::MutexLock lock(mutex_);
        set_trouble(reported);
        ended_ = ends;
        counts_.refused += jobs.size();
    }
    for (auto& job : jobs) {
        job->finish(&reported);
        if (ends || left_over_.size() >= options_.max_waiting_jobs) continue;
        if (auto rest = job->left_over()) left_over_.push_back(std::move(rest));
    }
    jobs.clear();
}

void Writer::set_trouble(std::optional<Error> what) {
    trouble_ = std::move(what);
    troubled_.store(trouble_.has_value(), std::memory_order_relaxed);
}

// The write-ahead log is moved into the file while nobody waits for us.
void Writer::tend_wal() {
    {
        const base::MutexLock lock(mutex_);
        if (ended_ || counts_.wal_pages < options_.checkpoint_pages) return;
        const bool busy = !waiting_.empty() || last_batch_ > kFew;
        if (busy && counts_.wal_pages < options_.checkpoint_pages_max) return;
    }
    sqlite3* raw = transactions_.tables().database().raw();
    transactions_.tables().log_moved();
    int code = SQLITE_OK;
    if (CALLGATE_FAILPOINT_ACTION("ledger.before_wal_checkpoint")) code = SQLITE_IOERR_FSYNC;
    if (code == SQLITE_OK)
        code = sqlite3_wal_checkpoint_v2(raw, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    if (CALLGATE_FAILPOINT_ACTION("ledger.after_wal_checkpoint")) code = SQLITE_IOERR_FSYNC;
    const base::MutexLock lock(mutex_);
    counts_.wal_pages = 0;
    ++counts_.wal_checkpoints;
    if (code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_LOCKED) return;
    Error error = sqlite_error(raw, code, "move its log into its file");
    if (is_disk_full(error)) return;  // nothing is lost: it goes on in the log
    set_trouble(stopped_for_good(error));
    ended_ = true;
}

}  // namespace callgate::ledger
