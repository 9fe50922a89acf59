#include "ledger/sqlite/engine.h"

#include <algorithm>

#include "base/failpoint.h"
#include "base/try.h"
#include "ledger/sqlite/refused.h"
#include "ledger/sqlite/schema.h"
#include "ledger/sqlite/segment_table.h"

namespace callgate::ledger {

namespace {

constexpr std::size_t kReadersKept = 8;  // on loan at most

}  // namespace

Result<std::unique_ptr<SqliteLedger::Engine>> SqliteLedger::Engine::open(SqliteOptions options) {
    if (!options.clock) options.clock = std::make_shared<base::SystemClock>();
    if (!options.rng) options.rng = std::make_shared<base::SystemRng>();
    if (!options.files) options.files = std::make_shared<os::RealFileOps>();
    std::unique_ptr<Engine> engine(new Engine(std::move(options)));
    Engine& e = *engine;

    CALLGATE_TRY_ASSIGN(e.lock,
                        OwnerLock::take(*e.options.files, e.options.directory, e.options.while_closing));
    CALLGATE_TRY(e.open_database());
    CALLGATE_TRY(e.load_key());
    CALLGATE_TRY(e.look_back());
    CALLGATE_TRY(e.establish_identity());
    CALLGATE_TRY(e.check_file(e.recovery.unclean));
    CALLGATE_TRY(e.begin_chain());
    e.keeps_off = e.options.to_restore;
    CALLGATE_TRY(e.load_gap());
    CALLGATE_TRY(e.keeps_off ? Result<void>() : e.recover());
    if (!e.keeps_off) e.find_witnesses();
    // What has expired goes by itself, a little at a time.
    const auto tidy_up = [&e](Transactions& transactions) -> Result<bool> {
        constexpr std::size_t kAtOnce = 200;
        CALLGATE_TRY_ASSIGN(auto gone, transactions.collect(kAtOnce));
        bool more = gone >= static_cast<std::int64_t>(kAtOnce);
        if (e.audit_readers.use_count() == 1) {
            CALLGATE_TRY_ASSIGN(auto archived, drop_archived(transactions.tables().database(), kAtOnce));
            more = more || archived != 0;
        }
        // A file that is mostly empty gets smaller; a little room is used again soon.
        CALLGATE_TRY_ASSIGN(auto pages, free_pages(transactions.tables().database()));
        if (pages.can_shrink && pages.free > 1'000 && pages.free > pages.all / 4) {
            CALLGATE_TRY(shrink(transactions.tables().database(), kAtOnce));
            more = true;
        }
        return more;
    };
    e.writer = std::make_unique<Writer>(
        *e.transactions, e.options.writer,
        [&e](Tables::Notifications&& notifications) { e.notify(std::move(notifications)); }, &*e.checkpoints,
        tidy_up);
    e.lookups = std::make_unique<Readers>(e.options.readers, [&e] { return e.make_reader(); });
    return engine;
}

void SqliteLedger::Engine::find_witnesses() {
    std::vector<std::unique_ptr<Witness>> witnesses;
    if (!options.anchor_file.empty())
        witnesses.push_back(std::make_unique<AnchorFile>(*options.files, options.anchor_file));
    if (!options.anchor_command.empty()) {
        launcher = std::make_unique<os::RealProcessLauncher>();
        witnesses.push_back(
            std::make_unique<WitnessCommand>(*launcher, options.anchor_command, options.anchor_timeout));
    }
    if (witnesses.empty()) return;
    anchors = std::make_unique<Anchors>(std::move(witnesses));
    checkpoints->set_on_checkpoint(
        [this](const std::string& note, std::uint64_t size) { anchors->submit(note, size); });
}

SqliteLedger::Engine::~Engine() {
    close();
}

void SqliteLedger::Engine::close() {
    stop_check_ = true;
    {
        const base::MutexLock guard(check_mutex_);
        if (interrupter_) interrupter_->look();
    }
    if (background_check_.joinable()) background_check_.join();
    lookups.reset();  // when all that was asked has been answered
    if (writer) {
        // Signed and marked as closed; if that cannot be written, the next start finds out.
        (void)write([this](Transactions& at) -> Result<bool> {
            CALLGATE_FAILPOINT_RETURN("ledger.before_close");
            if (keeps_off) return false;
            CALLGATE_TRY(checkpoints->sign(at.tables()));
            CALLGATE_TRY(at.tables().store_clocks());
            // A file that was not looked through to its end, or is damaged, is looked at again.
            const bool sound = health == Health::sound;
            CALLGATE_TRY(put_meta("clean", sound ? 1 : 0));
            return true;
        });
        writer->stop();
        // After a failed sync nothing may be written any more, by closing neither.
        if (writer->trouble())
            sqlite3_db_config(database.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
        writer.reset();
    } else if (database.raw() != nullptr) {
        sqlite3_db_config(database.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    }
    anchors.reset();  // the last checkpoint is brought to them
    {
        const base::MutexLock guard(readers_mutex_);
        readers_.clear();
    }
    transactions.reset();
    tables.reset();
    database = Database();
    if (mark) (void)mark->sync();  // what it says was durable before it said so
}

Result<Database> SqliteLedger::Engine::open_reader() const {
    CALLGATE_TRY_ASSIGN(auto opened, Database::open(path(), Access::read_only, options.vfs));
    sqlite3_busy_timeout(opened.raw(), kBusyMilliseconds);
    CALLGATE_TRY(opened.execute("PRAGMA query_only = 1; PRAGMA cache_size = -4096;"));
    return opened;
}

Result<std::unique_ptr<Reader>> SqliteLedger::Engine::make_reader() const {
    CALLGATE_TRY_ASSIGN(auto connection, open_reader());
    auto reader = std::make_unique<Reader>(std::move(connection), *key);
    CALLGATE_TRY(reader->calls.prepare(Access::read_only));
    CALLGATE_TRY(reader->approvals.prepare(Access::read_only));
    return reader;
}

Result<SqliteLedger::Engine::BorrowedReader> SqliteLedger::Engine::read() {
    std::unique_ptr<Reader> reader;
    {
        base::MutexLock guard(readers_mutex_);
        reader_back_.wait(guard,
                          [this]() CALLGATE_REQUIRES(readers_mutex_) { return readers_out_ < kReadersKept; });
        ++readers_out_;
        if (!readers_.empty()) {
            reader = std::move(readers_.back());
            readers_.pop_back();
        }
    }
    BorrowedReader loan(*this, std::move(reader));
    if (!loan.has_reader()) {
        CALLGATE_TRY_ASSIGN(auto made, make_reader());
        loan.take(std::move(made));
    }
    return loan;
}

SqliteLedger::Engine::BorrowedReader::~BorrowedReader() {
    if (engine_ == nullptr) return;
    const base::MutexLock guard(engine_->readers_mutex_);
    --engine_->readers_out_;
    if (reader_) engine_->readers_.push_back(std::move(reader_));
    engine_->reader_back_.notify_one();
}

Result<void> SqliteLedger::Engine::flush() {
    // The job has its own hold of what it answers: who waits may have gone.
    struct Job final : WriteJob {
        explicit Job(std::shared_ptr<std::promise<Result<void>>> answer) : promise(std::move(answer)) {}
        Result<void> apply(Transactions&) override { return {}; }
        void finish(const Error* error) override {
            promise->set_value(error == nullptr ? Result<void>() : tl::unexpected(*error));
        }
        std::shared_ptr<std::promise<Result<void>>> promise;
    };
    auto promise = std::make_shared<std::promise<Result<void>>>();
    auto future = promise->get_future();
    writer->submit(std::make_unique<Job>(std::move(promise)));
    if (future.wait_for(options.writer.hung_after) != std::future_status::ready)
        return refused("disk_hung", "The disk has not answered the ledger in time. Try again later.");
    return future.get();
}

bool SqliteLedger::Engine::is_alive(OwnerId owner) const {
    const base::MutexLock guard(owners_mutex_);
    return owners_.contains(owner);
}

// No owner of an earlier start ever had this number.
OwnerId SqliteLedger::Engine::add_owner() {
    const base::MutexLock guard(owners_mutex_);
    const OwnerId owner = (boots_ << 20) | ++last_owner_;
    owners_.insert(owner);
    return owner;
}

bool SqliteLedger::Engine::remove_owner(OwnerId owner) {
    const base::MutexLock guard(owners_mutex_);
    return owners_.erase(owner) != 0;
}

void SqliteLedger::Engine::wait_for(const base::Sha256Digest& of, std::shared_ptr<Waiter> waiter) {
    const base::MutexLock guard(waiters_mutex_);
    waiters_[of].push_back(std::move(waiter));
}

void SqliteLedger::Engine::stop_waiting(const base::Sha256Digest& of, const Waiter& waiter) {
    std::vector<std::shared_ptr<Waiter>> let_go;  // released outside the lock
    const base::MutexLock guard(waiters_mutex_);
    const auto found = waiters_.find(of);
    if (found == waiters_.end()) return;
    std::erase_if(found->second, [&](std::shared_ptr<Waiter>& held) {
        if (held.get() != &waiter) return false;
        let_go.push_back(std::move(held));
        return true;
    });
    if (found->second.empty()) waiters_.erase(found);
}

void SqliteLedger::Engine::notify(Tables::Notifications&& notifications) {
    recorded = tables->chain().head().size();
    if (!notifications.approvals.empty()) {
        approvals_version.fetch_add(1);
        approval_sinks.tell(notifications.approvals);
    }
    std::vector<std::shared_ptr<Waiter>> woken;
    if (!notifications.ended_keys.empty()) {
        const base::MutexLock guard(waiters_mutex_);
        for (const base::Sha256Digest& of : notifications.ended_keys) {
            const auto found = waiters_.find(of);
            if (found == waiters_.end()) continue;
            std::ranges::move(found->second, std::back_inserter(woken));
            waiters_.erase(found);
        }
    }
    for (const auto& waiter : woken) waiter->wake();
}

}  // namespace callgate::ledger
