// For tests: a ledger that answers later, as a durable one does.
//
// What is asked on the path of a call goes into a queue; a thread of its own hands it to the ledger behind
// and wakes who asked. Either at once, or only as many as the test says: then everything that can happen
// while an operation is open can be made to happen. The other operations go straight to the ledger behind.
//
// Threads: may be used from any thread. The destructor answers what is still open.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/thread_role.h"
#include "ledger/ledger.h"

namespace callgate::ledger {

class DeferredLedger final : public Ledger, public std::enable_shared_from_this<DeferredLedger> {
public:
    enum class Answers : std::uint8_t { soon, when_told };

    /// `behind` answers at once.
    explicit DeferredLedger(std::shared_ptr<Ledger> behind, Answers answers = Answers::soon)
        : behind_(std::move(behind)), may_answer_(answers == Answers::soon ? kAll : 0) {
        thread_ = std::thread([this] { work(); });
    }
    ~DeferredLedger() override {
        answer_soon();
        {
            const base::MutexLock lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        if (thread_.get_id() != std::this_thread::get_id()) {
            thread_.join();
        } else {
            *gone_ = true;  // who was woken there was the last to hold it
            thread_.detach();
        }
    }

    // For the test.

    /// Operations that were asked for and not answered yet.
    std::size_t open() const {
        const base::MutexLock lock(mutex_);
        return open_;
    }
    /// All that were ever asked for.
    std::uint64_t begun() const {
        const base::MutexLock lock(mutex_);
        return begun_;
    }
    /// "claim", "settle" …, oldest first.
    std::vector<std::string> open_names() const {
        const base::MutexLock lock(mutex_);
        std::vector<std::string> names;
        for (const Operation& operation : queue_) names.emplace_back(operation.name);
        return names;
    }
    /// Waits until so many are open.
    void wait_until_open(std::size_t count) const {
        base::MutexLock lock(mutex_);
        changed_.wait(lock, [&]() CALLGATE_REQUIRES(mutex_) { return queue_.size() >= count; });
    }
    /// Answers the oldest one, which there must be or come, and returns when who asked has been woken.
    void answer_one() {
        base::MutexLock lock(mutex_);
        const std::uint64_t until = answered_ + 1;
        ++may_answer_;
        changed_.notify_all();
        changed_.wait(lock, [&]() CALLGATE_REQUIRES(mutex_) { return answered_ >= until; });
    }
    /// From now on at once.
    void answer_soon() {
        {
            const base::MutexLock lock(mutex_);
            may_answer_ = kAll;
        }
        changed_.notify_all();
    }
    void answer_when_told() {
        const base::MutexLock lock(mutex_);
        may_answer_ = 0;
    }
    std::thread::id thread() const { return thread_.get_id(); }
    /// What record() fails with from now on, or null: it works.
    void refuse_records(std::optional<Error> why) {
        const base::MutexLock lock(mutex_);
        refuses_records_ = std::move(why);
    }
    /// As a ledger does that writes reads in batches: record() is done at once, with no number.
    void batch_records(bool batches) {
        const base::MutexLock lock(mutex_);
        batches_records_ = batches;
    }

    // The path of a call.

    Io peek(const KeyScope& key, const base::Sha256Digest& fingerprint, PeekReply& reply,
            Waiter& waiter) override {
        return later("peek", reply, waiter,
                     [=, this, &reply](Waiter& nobody) { behind_->peek(key, fingerprint, reply, nobody); });
    }
    Io claim(ClaimRequest request, ClaimReply& reply, Waiter& waiter) override {
        return later("claim", reply, waiter, [=, this, &reply](Waiter& nobody) mutable {
            behind_->claim(std::move(request), reply, nobody);
        });
    }
    Io dispatch(DispatchRequest request, DispatchReply& reply, Waiter& waiter) override {
        return later("dispatch", reply, waiter, [=, this, &reply](Waiter& nobody) mutable {
            behind_->dispatch(std::move(request), reply, nobody);
        });
    }
    Io settle(SettleRequest request, SettleReply& reply, Waiter& waiter) override {
        return later("settle", reply, waiter, [=, this, &reply](Waiter& nobody) mutable {
            behind_->settle(std::move(request), reply, nobody);
        });
    }
    Io conclude(ConcludeRequest request, ConcludeReply& reply, Waiter& waiter) override {
        return later("conclude", reply, waiter, [=, this, &reply](Waiter& nobody) mutable {
            behind_->conclude(std::move(request), reply, nobody);
        });
    }
    Io open_approval(OpenApprovalRequest request, OpenApprovalReply& reply, Waiter& waiter) override {
        return later("open_approval", reply, waiter, [=, this, &reply](Waiter& nobody) mutable {
            behind_->open_approval(std::move(request), reply, nobody);
        });
    }
    Io record(AuditEvent& event, Reply& reply, Waiter& waiter) override {
        {
            const base::MutexLock lock(mutex_);
            if (refuses_records_) {
                reply.error = refuses_records_;
                return Io::done;
            }
            if (batches_records_) {
                AuditEvent later = event;
                Reply ignored;
                behind_->record(later, ignored, nobody_);
                return Io::done;
            }
        }
        // The event is borrowed until it is answered: the sanitizers find who releases it before.
        return later("record", reply, waiter,
                     [this, &event, &reply](Waiter& nobody) { behind_->record(event, reply, nobody); });
    }
    std::optional<Error> ready_to_record() override {
        const base::MutexLock lock(mutex_);
        return refuses_records_;
    }
    Io wait_for_end(const KeyScope& key, std::shared_ptr<Waiter> ended, WaitReply& reply,
                    Waiter& waiter) override {
        // It waits from now on, and hears whether it does only later: as in a durable ledger.
        behind_->wait_for_end(key, std::move(ended), reply, nobody_);
        return later("wait_for_end", reply, waiter, [](Waiter&) {});
    }
    Io approval_of_call(std::string call_id, ApprovalReply& reply, Waiter& waiter) override {
        return later("approval_of_call", reply, waiter, [=, this, &reply](Waiter& nobody) {
            behind_->approval_of_call(call_id, reply, nobody);
        });
    }
    Io open_approval_for(std::string_view tenant, std::string_view requester,
                         const base::Sha256Digest& fingerprint, std::string_view idempotency_key,
                         ApprovalReply& reply, Waiter& waiter) override {
        return later("open_approval_for", reply, waiter,
                     [this, who = std::string(tenant), whose = std::string(requester), fingerprint,
                      key = std::string(idempotency_key), &reply](Waiter& nobody) {
                         behind_->open_approval_for(who, whose, fingerprint, key, reply, nobody);
                     });
    }
    Io adopt(AdoptRequest request, AdoptReply& reply, Waiter& waiter) override {
        return later("adopt", reply, waiter,
                     [=, this, &reply](Waiter& nobody) { behind_->adopt(request, reply, nobody); });
    }
    /// At once: a runtime is made before the test can say anything.
    Io register_owner(OwnerReply& reply, Waiter& waiter) override {
        return behind_->register_owner(reply, waiter);
    }
    void stop_waiting(const KeyScope& key, const Waiter& waiter) override {
        behind_->stop_waiting(key, waiter);
    }

    // What may block.

    Result<std::vector<Approval>> approvals(std::optional<ApprovalState> state) override {
        return behind_->approvals(state);
    }
    Result<Approval> approval(std::string_view id) override { return behind_->approval(id); }
    Result<Approval> vote(std::string_view id, Vote vote, AuditEvent& event) override {
        return behind_->vote(id, std::move(vote), event);
    }
    Result<Approval> revoke(std::string_view id, std::string_view by, AuditEvent& event) override {
        return behind_->revoke(id, by, event);
    }
    void watch_approvals(std::weak_ptr<ApprovalSink> sink) override {
        behind_->watch_approvals(std::move(sink));
    }
    base::WallTime approval_time() override { return behind_->approval_time(); }
    Result<CallRow> find(const CallId& call_id) override { return behind_->find(call_id); }
    Result<std::vector<CallRow>> list(std::optional<CallState> state) override {
        return behind_->list(state);
    }
    Result<CallRow> resolve(const CallId& call_id, bool applied, std::shared_ptr<const StoredOutcome> outcome,
                            AuditEvent& event) override {
        return behind_->resolve(call_id, applied, std::move(outcome), event);
    }
    Result<std::vector<AuditEvent>> audit(std::string_view trace) override { return behind_->audit(trace); }
    std::uint64_t audit_count() override { return behind_->audit_count(); }
    base::Sha256Digest keyed_digest(std::string_view purpose, std::string_view text) override {
        return behind_->keyed_digest(purpose, text);
    }
    Result<std::vector<CallRow>> in_doubt() override { return behind_->in_doubt(); }
    bool is_alive(OwnerId owner) override { return behind_->is_alive(owner); }
    void owner_gone(OwnerId owner) override { behind_->owner_gone(owner); }

private:
    static constexpr std::uint64_t kAll = ~std::uint64_t{0} >> 1;

    struct Operation {
        std::string_view name;
        std::function<void(Waiter&)> act;
        Reply* reply;
        Waiter* waiter;
    };
    struct Nobody final : Waiter {
        void wake() override {}
    };

    Io later(std::string_view name, Reply& reply, Waiter& waiter, std::function<void(Waiter&)> act) {
        {
            const base::MutexLock lock(mutex_);
            queue_.push_back({name, std::move(act), &reply, &waiter});
            ++open_;
            ++begun_;
        }
        changed_.notify_all();
        return Io::pending;
    }

    void work() {
        const base::OurThread ours;
        bool gone = false;
        gone_ = &gone;
        while (!gone && work_on()) {
        }
    }

    // False: there is nothing more to do. This may be gone when it returns.
    bool work_on() {
        std::shared_ptr<Ledger> self;  // goes after the lock
        {
            base::MutexLock lock(mutex_);
            changed_.wait(lock, [this]() CALLGATE_REQUIRES(mutex_) {
                return (stopping_ && queue_.empty()) || (may_answer_ > 0 && !queue_.empty());
            });
            if (queue_.empty()) return false;
            if (may_answer_ != kAll) --may_answer_;
            Operation operation = std::move(queue_.front());
            queue_.pop_front();
            lock.unlock();
            self = weak_from_this().lock();
            operation.act(nobody_);
            operation.act = nullptr;
            operation.reply->ready = true;
            operation.waiter->wake();  // the reply, and who asked, may be gone now
            lock.lock();
            --open_;
            ++answered_;
            changed_.notify_all();
        }
        return true;
    }

    const std::shared_ptr<Ledger> behind_;
    mutable base::Mutex mutex_;
    mutable base::CondVar changed_;
    std::deque<Operation> queue_ CALLGATE_GUARDED_BY(mutex_);
    std::uint64_t may_answer_ CALLGATE_GUARDED_BY(mutex_);
    std::size_t open_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::uint64_t begun_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::uint64_t answered_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::optional<Error> refuses_records_ CALLGATE_GUARDED_BY(mutex_);
    bool batches_records_ CALLGATE_GUARDED_BY(mutex_) = false;
    bool stopping_ CALLGATE_GUARDED_BY(mutex_) = false;
    Nobody nobody_;
    bool* gone_ = nullptr;  // of its thread
    std::thread thread_;
};

}  // namespace callgate::ledger
