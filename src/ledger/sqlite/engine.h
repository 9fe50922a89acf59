// The parts of an open SQLite ledger, in the order they depend on each other; sqlite_ledger.h is their face.
//
// Threads: as said at each part.
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "ledger/approval_sinks.h"
#include "ledger/sqlite/anchors.h"
#include "ledger/sqlite/audit_checkpoints.h"
#include "ledger/sqlite/check_interrupter.h"
#include "ledger/sqlite/log_vfs.h"
#include "ledger/sqlite/owner_lock.h"
#include "ledger/sqlite/past.h"
#include "ledger/sqlite/readers.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "ledger/sqlite/transactions.h"
#include "ledger/sqlite/writer.h"

namespace callgate::ledger {

class SqliteLedger::Engine {
public:
    static Result<std::unique_ptr<Engine>> open(SqliteOptions options);
    ~Engine();

    SqliteOptions options;
    OwnerLock lock;  // goes last: whoever gets it finds everything closed
    std::optional<base::SealKey> key;
    std::optional<LogVfs> log_vfs;
    std::optional<HeadMark> mark;  // nothing: nobody watches the past
    Database database;             // the writer's
    std::optional<LedgerTime> time;
    std::optional<Tables> tables;
    std::optional<Transactions> transactions;
    std::optional<AuditCheckpoints> checkpoints;
    std::unique_ptr<os::ProcessLauncher> launcher;
    std::unique_ptr<Anchors> anchors;  // null: nobody witnesses
    std::unique_ptr<Writer> writer;
    std::unique_ptr<Readers> lookups;  // what calls look up; people borrow a reader below
    RecoveryReport recovery;
    PastQuestion question;
    // Both on the record of every ledger that has a tally: one that was made with it, one that got it later.
    static constexpr std::string_view kTalliedFromTheFirst = "tallied";
    static constexpr std::string_view kUpgraded = "ledger.upgraded";
    static constexpr int kBusyMilliseconds = 2'000;  ///< for a foreign program that looks at the file
    static std::string random_id(base::Rng& rng);

    std::optional<Past> past;  ///< nothing: a new ledger, or nobody asks
    bool keeps_off = false;    ///< it was opened to be restored, and is not yet: closing writes nothing

    /// What the ledger keeps about itself. Inside a transaction, or as one.
    Result<void> put_meta(std::string_view name, std::string_view text);
    Result<void> put_meta(std::string_view name, std::int64_t number);
    const std::string& chain_id() const noexcept { return chain_id_; }
    Result<void> load_gap();

    std::string path() const { return options.directory + "/ledger.db"; }

    // Readers for people, on loan: only so many, and who comes when all are out waits for one.
    class BorrowedReader {
    public:
        BorrowedReader(Engine& engine, std::unique_ptr<Reader> reader)
            : engine_(&engine), reader_(std::move(reader)) {}
        BorrowedReader(BorrowedReader&& other) noexcept
            : engine_(std::exchange(other.engine_, nullptr)), reader_(std::move(other.reader_)) {}
        BorrowedReader& operator=(BorrowedReader&&) = delete;
        BorrowedReader(const BorrowedReader&) = delete;
        BorrowedReader& operator=(const BorrowedReader&) = delete;
        ~BorrowedReader();
        Reader* operator->() const noexcept { return reader_.get(); }
        bool has_reader() const noexcept { return reader_ != nullptr; }
        void take(std::unique_ptr<Reader> reader) noexcept { reader_ = std::move(reader); }

    private:
        Engine* engine_;
        std::unique_ptr<Reader> reader_;
    };
    Result<BorrowedReader> read();
    Result<std::unique_ptr<Reader>> make_reader() const;
    Result<Database> open_reader() const;

    /// Carries out `work(transactions)`, which gives a Result<T>, as one transaction, and waits for it.
    template <class Work>
    auto write(Work work) -> std::invoke_result_t<Work&, Transactions&>;

    /// Waits until all that was recorded before is on the disk, but no longer than a commit may take.
    Result<void> flush();

    // Owners that live in this process.
    bool is_alive(OwnerId owner) const;
    OwnerId add_owner();
    bool remove_owner(OwnerId owner);

    // Who waits for the end of a call under a key.
    void wait_for(const base::Sha256Digest& key, std::shared_ptr<Waiter> waiter);
    void stop_waiting(const base::Sha256Digest& key, const Waiter& waiter);
    void notify(Tables::Notifications&& notifications);

    /// Held by whoever archives, from the choice of the first segment until the file is smaller: two would
    /// write the same events into segments. It guards files and rows, no member.
    base::Mutex archive_mutex;
    /// Held by everybody who reads the audit for long: what is archived goes when nobody does.
    std::shared_ptr<const int> audit_readers = std::make_shared<const int>(0);

    std::atomic<std::uint64_t> approvals_version{1};
    ApprovalSinks approval_sinks;
    std::atomic<std::uint64_t> recorded{0};  ///< events on the disk

    enum class Health : std::uint8_t { unchecked, checking, sound, damaged };
    std::atomic<Health> health{Health::unchecked};
    std::string health_detail;  ///< once it is damaged

private:
    explicit Engine(SqliteOptions given) : options(std::move(given)) {}

    Result<void> open_database();
    Result<void> load_key();
    Result<void> check_key(const std::string& sealed_under) const;
    Result<void> begin_tally();
    Result<void> check_it_is_older();
    bool has_signed() const;
    tl::unexpected<Error> lost() const;
    tl::unexpected<Error> notes_changed() const;
    Result<void> look_back();
    Result<void> establish_mark(bool fresh);
    Result<void> establish_identity();
    Result<void> establish_retention();
    Result<void> establish_operators();
    Result<void> check_file(bool unclean);
    Result<void> begin_chain();
    Result<void> record_opening();
    Result<void> record_upgrade();
    Result<void> recover();
    void find_witnesses();
    Result<void> quick_check(Database& connection);
    void close();

    std::uint64_t boots_ = 0;
    std::int64_t version_before_ = 0;  // of the schema, as the file was found
    std::string chain_id_;

    mutable base::Mutex owners_mutex_;
    std::set<OwnerId> owners_ CALLGATE_GUARDED_BY(owners_mutex_);
    std::uint64_t last_owner_ CALLGATE_GUARDED_BY(owners_mutex_) = 0;

    base::Mutex waiters_mutex_;
    std::map<base::Sha256Digest, std::vector<std::shared_ptr<Waiter>>> waiters_
        CALLGATE_GUARDED_BY(waiters_mutex_);

    base::Mutex readers_mutex_;
    base::CondVar reader_back_;
    std::size_t readers_out_ CALLGATE_GUARDED_BY(readers_mutex_) = 0;
    std::vector<std::unique_ptr<Reader>> readers_ CALLGATE_GUARDED_BY(readers_mutex_);

    std::atomic<bool> stop_check_{false};
    base::Mutex check_mutex_;
    Database checked_;  // the background check's connection
    std::unique_ptr<CheckInterrupter> interrupter_ CALLGATE_GUARDED_BY(check_mutex_);  // null: none runs
    std::thread background_check_;
};

template <class Work>
auto SqliteLedger::Engine::write(Work work) -> std::invoke_result_t<Work&, Transactions&> {
    using Answer = std::invoke_result_t<Work&, Transactions&>;
    struct Job final : WriteJob {
        explicit Job(Work& to_do, std::promise<Answer>& given) : work(&to_do), promise(&given) {}
        Result<void> apply(Transactions& in) override {
            answer.emplace((*work)(in));
            if (!*answer) return tl::unexpected(answer->error());
            return {};
        }
        void finish(const Error* error) override {
            // Neither is touched once the promise is kept: its owner goes on.
            if (error != nullptr) {
                promise->set_value(tl::unexpected(*error));
            } else {
                promise->set_value(std::move(*answer));
            }
        }
        Work* work;
        std::promise<Answer>* promise;
        std::optional<Answer> answer;
    };
    std::promise<Answer> promise;
    auto future = promise.get_future();
    writer->submit(std::make_unique<Job>(work, promise));
    return future.get();
}

}  // namespace callgate::ledger
