// The few threads that look things up in the file for calls, each with a connection of its own, beside the
// one that writes.
//
// However many calls look at once, there are never more connections than threads: what is asked waits in a
// queue, in order, and past its bound is refused at once (ledger_unavailable {reason: ledger_busy}). Threads
// begin when there is work for them. One that cannot open its file leaves its work to those that could.
//
// Threads: may be used from any thread. finish() of a job runs on a reader's thread and must be quick.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <callgate/error.h>

#include "base/mutex.h"
#include "base/seal.h"
#include "ledger/sqlite/approval_table.h"
#include "ledger/sqlite/call_table.h"
#include "ledger/sqlite/database.h"

namespace callgate::ledger {

/// A connection for reading beside the writer.
struct Reader {
    explicit Reader(Database connection, const base::SealKey& key)
        : database(std::move(connection)), calls(database, key), approvals(database, key) {}

    Database database;
    CallTable calls;
    ApprovalTable approvals;
};

/// Something to be looked up.
class ReadJob {
public:
    virtual ~ReadJob() = default;
    virtual Result<void> look(Reader& reader) = 0;
    /// It has been looked up, or the error says why not.
    virtual void finish(const Error* error) = 0;
};

struct ReaderOptions {
    std::size_t threads = 4;
    std::size_t max_waiting = 100'000;  ///< then what is asked is refused

    ReaderOptions() {}
};

class Readers {
public:
    using Open = std::function<Result<std::unique_ptr<Reader>>()>;

    Readers(ReaderOptions options, Open open);
    /// When all that waits has been answered.
    ~Readers();
    Readers(const Readers&) = delete;
    Readers& operator=(const Readers&) = delete;

    /// False: refused, and finish() has been called with the reason.
    bool submit(std::unique_ptr<ReadJob> job);
    bool on_this_thread() const;

    struct Counts {
        std::uint64_t looked = 0;
        std::uint64_t refused = 0;
        std::uint64_t waiting = 0;  ///< now
        std::uint64_t threads = 0;  ///< that were begun
    };
    Counts counts() const;

private:
    void begin_thread() CALLGATE_REQUIRES(mutex_);
    void run();
    bool look(std::unique_ptr<Reader>& reader, std::unique_ptr<ReadJob>& job);

    const ReaderOptions options_;
    const Open open_;
    mutable base::Mutex mutex_;
    base::CondVar wanted_;
    std::deque<std::unique_ptr<ReadJob>> waiting_ CALLGATE_GUARDED_BY(mutex_);
    std::size_t idle_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::size_t at_work_ CALLGATE_GUARDED_BY(mutex_) = 0;  // threads that have not ended
    std::size_t open_connections_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::optional<std::chrono::steady_clock::time_point> could_not_open_ CALLGATE_GUARDED_BY(mutex_);
    bool stopping_ CALLGATE_GUARDED_BY(mutex_) = false;
    Counts counts_ CALLGATE_GUARDED_BY(mutex_);
    std::vector<std::thread> threads_ CALLGATE_GUARDED_BY(mutex_);
    std::vector<std::thread::id> ended_
        CALLGATE_GUARDED_BY(mutex_);  // of threads that could not open the file
};

}  // namespace callgate::ledger
