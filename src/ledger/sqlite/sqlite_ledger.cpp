#include "ledger/sqlite/sqlite_ledger.h"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/try.h"
#include "ledger/digest.h"
#include "ledger/sqlite/engine.h"

namespace callgate::ledger {

namespace {

/// How something ended, after its caller got the error that it could not be recorded: it is recorded as soon
/// as there is room, and nobody is notified.
template <class Request, class Answer>
class LateJob final : public WriteJob {
public:
    using Carry = Result<void> (Transactions::*)(const Request&, Answer&);

    LateJob(Carry carry, Request request) : carry_(carry), request_(std::move(request)) {}

    Result<void> apply(Transactions& transactions) override {
        Answer unheard;
        return (transactions.*carry_)(request_, unheard);
    }
    void finish(const Error*) override {}
    std::unique_ptr<WriteJob> left_over() override {
        return std::make_unique<LateJob>(carry_, std::move(request_));
    }

private:
    Carry carry_;
    Request request_;
};

PreparedSettle as_late(PreparedSettle settle) {
    return settle;
}
/// `applied` stays. After any other verdict of a probe its caller would have to go on with the call, but has
/// got the error that it could not be recorded: so the call is unknown.
ConcludeRequest as_late(ConcludeRequest concluded) {
    if (concluded.verdict == Reconciliation::Verdict::applied) return concluded;
    concluded.verdict = Reconciliation::Verdict::cannot_tell;
    for (AuditEvent& event : concluded.events) event.type = "tool_call.unknown";
    return concluded;
}

template <class Request>
std::size_t held_by(const Request&) noexcept {
    return sizeof(Request);
}
std::size_t held_by(const PreparedClaim& claim) noexcept {
    const Value* const arguments = claim.request.row.arguments.get();
    return sizeof(claim) + bytes_of(claim.events) + (arguments != nullptr ? bytes_of(*arguments) : 0);
}
std::size_t held_by(const PreparedSettle& settle) noexcept {
    return sizeof(settle) + bytes_of(settle.events) + settle.outcome.sealed.size();
}
std::size_t held_by(const OpenApprovalRequest& request) noexcept {
    return sizeof(request) + bytes_of(request.approval.arguments);
}

template <class Request>
constexpr bool kEndsSomething =
    std::is_same_v<Request, PreparedSettle> || std::is_same_v<Request, ConcludeRequest>;

/// A caller's request on its way through the writer: the reply is filled in, then the waiter is woken.
template <class Request, class Answer>
class ReplyJob final : public WriteJob {
public:
    using Carry = Result<void> (Transactions::*)(const Request&, Answer&);

    ReplyJob(Carry carry, Request request, Answer& reply, Waiter& waiter)
        : carry_(carry), request_(std::move(request)), reply_(&reply), waiter_(&waiter) {}

    Result<void> apply(Transactions& transactions) override {
        return (transactions.*carry_)(request_, *reply_);
    }
    bool ends_something() const override { return kEndsSomething<Request>; }
    std::size_t bytes() const override { return held_by(request_); }
    void finish(const Error* error) override {
        if (error != nullptr) reply_->error = *error;
        // From here on the reply and the waiter are the caller's again; only waking is ours.
        Waiter* const waiter = waiter_;
        reply_->ready = true;
        waiter->wake();
    }
    std::unique_ptr<WriteJob> left_over() override {
        if constexpr (kEndsSomething<Request>) {
            return std::make_unique<LateJob<Request, Answer>>(carry_, as_late(std::move(request_)));
        } else {
            return nullptr;
        }
    }

private:
    Carry carry_;
    Request request_;
    Answer* reply_;
    Waiter* waiter_;
};

template <class Request, class Answer>
Io hand_over(Writer& writer, Result<void> (Transactions::*carry)(const Request&, Answer&), Request request,
             Answer& reply, Waiter& waiter) {
    writer.submit(std::make_unique<ReplyJob<Request, Answer>>(carry, std::move(request), reply, waiter));
    return Io::pending;
}

/// An event that its caller waits for.
class RecordJob final : public WriteJob {
public:
    RecordJob(AuditEvent& event, Reply& reply, Waiter& waiter)
        : event_(&event), reply_(&reply), waiter_(&waiter) {}

    Result<void> apply(Transactions& transactions) override {
        CALLGATE_TRY_ASSIGN(number_, transactions.tables().record(*event_));
        return {};
    }
    void finish(const Error* error) override {
        if (error != nullptr) {
            reply_->error = *error;
        } else {
            event_->sequence = number_;
            reply_->first_event = number_;
        }
        Waiter* const waiter = waiter_;
        reply_->ready = true;
        waiter->wake();
    }

private:
    AuditEvent* event_;
    Reply* reply_;
    Waiter* waiter_;
    std::uint64_t number_ = 0;
};

// Ledgers that are closed by a thread of their own. The end of the process waits for those that are being
// closed by then; it is never destroyed, since a runtime of static storage may still end after that.
class Closing {
public:
    static Closing& all() {
        static Closing& closing = *new Closing;
        static const int waited_for = std::atexit([] { all().wait(); });
        static_cast<void>(waited_for);
        return closing;
    }
    Closing(const Closing&) = delete;
    Closing& operator=(const Closing&) = delete;

    void close(std::unique_ptr<SqliteLedger::Engine> engine) {
        const base::MutexLock lock(mutex_);
        std::erase_if(threads_, [](One& one) {
            if (!*one.over) return false;
            one.thread.join();
            return true;
        });
        auto over = std::make_shared<std::atomic<bool>>(false);
        threads_.push_back({std::thread([engine = std::move(engine), over]() mutable {
                                engine.reset();
                                *over = true;
                            }),
                            over});
    }

private:
    struct One {
        std::thread thread;
        std::shared_ptr<std::atomic<bool>> over;
    };

    Closing() = default;
    void wait() {
        std::vector<One> threads;
        {
            const base::MutexLock lock(mutex_);
            threads.swap(threads_);
        }
        for (One& one : threads) one.thread.join();
    }

    base::Mutex mutex_;
    std::vector<One> threads_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::shared_ptr<SqliteLedger>> SqliteLedger::open(SqliteOptions options) {
    CALLGATE_TRY_ASSIGN(auto engine, Engine::open(std::move(options)));
    Closing::all();  // made after what a ledger uses at its end, so that the process ends it before that
    return std::shared_ptr<SqliteLedger>(new SqliteLedger(std::move(engine)));
}

SqliteLedger::SqliteLedger(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

// A call that the writer or a reader has woken may release the ledger last, on that thread, which cannot wait
// for its own end. Then another thread closes the ledger, and the end of the process waits for that.
SqliteLedger::~SqliteLedger() {
    if (!engine_->writer->on_this_thread() && !engine_->lookups->on_this_thread()) return;
    Closing::all().close(std::move(engine_));
}

const RecoveryReport& SqliteLedger::recovery() const noexcept {
    return engine_->recovery;
}

const std::string& SqliteLedger::directory() const noexcept {
    return engine_->options.directory;
}

Io SqliteLedger::claim(ClaimRequest request, ClaimReply& reply, Waiter& waiter) {
    return hand_over(*engine_->writer, &Transactions::claim,
                     PreparedClaim(std::move(request), engine_->tables->chain(), *engine_->key), reply,
                     waiter);
}

Io SqliteLedger::dispatch(DispatchRequest request, DispatchReply& reply, Waiter& waiter) {
    return hand_over(*engine_->writer, &Transactions::dispatch, std::move(request), reply, waiter);
}

Io SqliteLedger::settle(SettleRequest request, SettleReply& reply, Waiter& waiter) {
    return hand_over(*engine_->writer, &Transactions::settle,
                     PreparedSettle(std::move(request), engine_->tables->chain(), *engine_->key,
                                    engine_->options.max_record_bytes),
                     reply, waiter);
}

Io SqliteLedger::conclude(ConcludeRequest request, ConcludeReply& reply, Waiter& waiter) {
    return hand_over(*engine_->writer, &Transactions::conclude, std::move(request), reply, waiter);
}

Io SqliteLedger::open_approval(OpenApprovalRequest request, OpenApprovalReply& reply, Waiter& waiter) {
    return hand_over(*engine_->writer, &Transactions::open_approval, std::move(request), reply, waiter);
}

Io SqliteLedger::record(AuditEvent& event, Reply& reply, Waiter& waiter) {
    if (event.at == std::chrono::system_clock::time_point()) event.at = engine_->time->wall();
    if (!engine_->options.strict_audit) {
        auto noted = engine_->writer->note(event);
        if (!noted) {
            if (!engine_->options.reads_without_record) reply.error = std::move(noted.error());
            return Io::done;
        }
        if (*noted) return Io::done;
    }
    engine_->writer->submit(std::make_unique<RecordJob>(event, reply, waiter));
    return Io::pending;
}

std::optional<Error> SqliteLedger::ready_to_record() {
    if (engine_->options.reads_without_record || !engine_->writer->troubled()) return std::nullopt;
    return engine_->writer->trouble();
}

void SqliteLedger::stop_waiting(const KeyScope& key, const Waiter& waiter) {
    engine_->stop_waiting(hash_of(key), waiter);
}

Io SqliteLedger::adopt(AdoptRequest request, AdoptReply& reply, Waiter& waiter) {
    return hand_over(*engine_->writer, &Transactions::adopt, std::move(request), reply, waiter);
}

Io SqliteLedger::register_owner(OwnerReply& reply, Waiter&) {
    reply.owner = engine_->add_owner();
    return Io::done;
}

Result<Approval> SqliteLedger::vote(std::string_view id, Vote vote, AuditEvent& event) {
    return flattened(
        engine_->write([&](Transactions& transactions) { return transactions.vote(id, vote, event); }));
}

Result<Approval> SqliteLedger::revoke(std::string_view id, std::string_view /*by*/, AuditEvent& event) {
    return flattened(
        engine_->write([&](Transactions& transactions) { return transactions.revoke(id, event); }));
}

Result<CallRow> SqliteLedger::resolve(const CallId& call_id, bool applied,
                                      std::shared_ptr<const StoredOutcome> outcome, AuditEvent& event) {
    return flattened(engine_->write(
        [&](Transactions& transactions) { return transactions.resolve(call_id, applied, outcome, event); }));
}

Result<std::vector<AuditEvent>> SqliteLedger::audit(std::string_view trace) {
    AuditSelection all;
    all.trace = trace;
    return events(all);
}

base::Sha256Digest SqliteLedger::keyed_digest(std::string_view purpose, std::string_view text) {
    return base::keyed_hash(*engine_->key, purpose, text);
}

std::uint64_t SqliteLedger::audit_count() {
    return engine_->recorded.load();
}

Result<void> SqliteLedger::flush() {
    return engine_->flush();
}

bool SqliteLedger::is_alive(OwnerId owner) {
    return engine_->is_alive(owner);
}

void SqliteLedger::owner_gone(OwnerId owner) {
    if (!engine_->remove_owner(owner)) return;
    CallId after{};
    const auto step = [&after](Transactions& transactions) {
        return transactions.take_over_orphans(after, 1'000);
    };
    if (engine_->writer->on_this_thread()) {
        // It cannot wait for itself; the next start, or the next claim of the key, finds what is left.
        return;
    }
    for (;;) {
        const auto done = engine_->write(step);
        if (!done || done->seen < 1'000) return;
        after = done->last;
    }
}

}  // namespace callgate::ledger
