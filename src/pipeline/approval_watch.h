// Who waits for a person's decision, and who is notified of what happens to approvals.
//
// The ledger says what was changed, in order and once it is on the record; what only time changes, a timer
// finds. Whoever waits is on the list before the approval is looked at, so that a decision in between is not
// missed. Nobody polls.
//
// Threads: may be used from any thread; changed() runs on the ledger's and does no more than to put things on
// lists. Looking at the ledger, listeners and completion functions happen on core.host, or on the thread that
// blocks.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/approvals.h>

#include "base/mutex.h"
#include "ledger/ledger.h"
#include "pipeline/core.h"
#include "pipeline/timers.h"

namespace callgate::pipeline {

class ApprovalWatch final : public ledger::ApprovalSink, public std::enable_shared_from_this<ApprovalWatch> {
public:
    using Done = std::function<void(Result<Approval>)>;
    using Timeout = std::optional<std::chrono::milliseconds>;

    /// Past so many that wait for one listener, the rest become one `missed`.
    static constexpr std::size_t kMostHeld = 10'000;

    /// `core` holds this, and closes it before it goes.
    explicit ApprovalWatch(Runtime::Core& core) : core_(core) {}

    // As in callgate/approvals.h. The caller holds the core.
    Result<Approval> wait(std::string_view id, Timeout timeout, const std::stop_token& cancel);
    void when_decided(std::string_view id, Done done, Timeout timeout, std::stop_token cancel);
    Result<std::shared_ptr<void>> on_change(Approvals::Listener function);

    void changed(const ApprovalChange& change) override;

    /// The runtime goes: all waits end, and nothing is listened to any more.
    void close();

private:
    struct Wait;
    struct Listener;
    class Subscription;
    class Task;

    std::shared_ptr<Wait> make_wait(std::string_view id, Done done, Timeout timeout) const;
    void begin(const std::shared_ptr<Wait>& wait, const std::stop_token& cancel);
    void begin_here(const std::shared_ptr<Wait>& wait, const std::stop_token& cancel);
    void look(const std::shared_ptr<Wait>& wait);
    void finish(const std::shared_ptr<Wait>& wait, Result<Approval> answer);
    void answer_locked(const std::shared_ptr<Wait>& wait, Result<Approval> answer) CALLGATE_REQUIRES(mutex_);
    void tidy(Wait& wait);
    void call_done(Wait& wait);

    void announce(const ApprovalChange& change) CALLGATE_REQUIRES(mutex_);
    void hold(const std::shared_ptr<Listener>& listener, const std::shared_ptr<const ApprovalChange>& change)
        CALLGATE_REQUIRES(mutex_);
    void deliver(Listener& listener);
    void remove(const std::shared_ptr<Listener>& listener);

    // What can still expire, for as long as somebody would want to know.
    bool is_wanted(const std::string& id) const CALLGATE_REQUIRES(mutex_);
    void track(const Approval& approval) CALLGATE_REQUIRES(mutex_);
    void untrack(const std::string& id) CALLGATE_REQUIRES(mutex_);
    TimerId set_timer(const Approval& approval);
    void time_has_come(const std::string& id);

    void submit(std::shared_ptr<PoolTask> task) CALLGATE_REQUIRES(mutex_);

    Runtime::Core& core_;
    base::Mutex mutex_;  // before those of pools and timers; the ledger is not asked while it is held
    bool closed_ CALLGATE_GUARDED_BY(mutex_) = false;
    std::multimap<std::string, std::shared_ptr<Wait>, std::less<>> waits_ CALLGATE_GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<Listener>> listeners_ CALLGATE_GUARDED_BY(mutex_);
    std::map<std::string, TimerId, std::less<>> tracked_ CALLGATE_GUARDED_BY(mutex_);
    std::list<std::shared_ptr<PoolTask>> stranded_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate::pipeline
