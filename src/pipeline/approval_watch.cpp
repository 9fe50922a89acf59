#include "pipeline/approval_watch.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/thread_role.h"
#include "base/try.h"
#include "pipeline/worker_pool.h"

namespace callgate::pipeline {
namespace {

bool can_still_expire(const Approval& approval) noexcept {
    return approval.state == ApprovalState::pending || approval.state == ApprovalState::approved;
}

tl::unexpected<Error> not_decided(std::string_view id) {
    return fail(ErrorCode::timed_out, fmt::format("Nobody has decided about approval {} in time.", id),
                {{"reason", "undecided"}, {"approval_id", id}});
}

tl::unexpected<Error> waits_no_more(std::string_view id, std::string_view reason) {
    return fail(ErrorCode::cancelled, fmt::format("Nobody waits for approval {} any more.", id),
                {{"reason", reason}, {"approval_id", id}});
}

tl::unexpected<Error> would_block_executor() {
    return fail(ErrorCode::denied,
                "This thread runs the executor that the host lent, and waiting would stop it. Await "
                "async_decision() instead.",
                {{"reason", "would_block"}});
}

}  // namespace

// One who waits. The ids and `done` do not change; `answer`, `begun` and `timer` are under the watch's lock.
struct ApprovalWatch::Wait {
    std::string id;
    Done done;  // empty: a thread blocks
    bool only_looks = false;
    std::optional<base::MonotonicTime> until;

    base::CondVar answered;
    std::optional<Result<Approval>> answer;  // does not change once it is there
    bool begun = false;                      // `done` may be called: nobody works on this any more
    TimerId timer;
    std::optional<std::stop_callback<std::function<void()>>>
        on_cancel;  // of the thread that begins or ends it
};

struct ApprovalWatch::Listener {
    Approvals::Listener function;
    // Under the watch's lock.
    std::list<std::shared_ptr<const ApprovalChange>> held;
    bool delivering = false;
};

class ApprovalWatch::Subscription {
public:
    Subscription(std::weak_ptr<ApprovalWatch> watch, std::shared_ptr<Listener> listener)
        : watch_(std::move(watch)), listener_(std::move(listener)) {}
    ~Subscription() {
        if (const auto watch = watch_.lock()) watch->remove(listener_);
    }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

private:
    std::weak_ptr<ApprovalWatch> watch_;
    std::shared_ptr<Listener> listener_;
};

// Something to do on a pool's thread. It holds the core, and with it the watch.
class ApprovalWatch::Task final : public PoolTask {
public:
    enum class WhenDropped : std::uint8_t {
        run,    // the runtime goes, and whoever waits learns it at once
        forget  // nobody wants to know any more
    };

    Task(Runtime::Core& core, std::function<void(ApprovalWatch&)> act, WhenDropped dropped = WhenDropped::run)
        : core_(core.shared_from_this()), act_(std::move(act)), dropped_(dropped) {}
    void run() override { act_(*core_->approval_watch); }
    void drop() override {
        if (dropped_ == WhenDropped::forget) return;
        const base::FreedThread freed;
        run();
    }

private:
    std::shared_ptr<Runtime::Core> core_;
    std::function<void(ApprovalWatch&)> act_;
    WhenDropped dropped_;
};

// Waiting.

std::shared_ptr<ApprovalWatch::Wait> ApprovalWatch::make_wait(std::string_view id, Done done,
                                                              Timeout timeout) const {
    auto wait = std::make_shared<Wait>();
    wait->id = id;
    wait->done = std::move(done);
    wait->only_looks = timeout && *timeout <= std::chrono::milliseconds(0);
    if (timeout && !wait->only_looks) wait->until = base::later(core_.clock().monotonic_now(), *timeout);
    return wait;
}

Result<Approval> ApprovalWatch::wait(std::string_view id, Timeout timeout, const std::stop_token& cancel) {
    const LentThread blocked(core_);
    if (blocked.was_last()) return would_block_executor();
    const std::shared_ptr<Wait> wait = make_wait(id, nullptr, timeout);
    const WorkerPool::Waiting waiting;
    begin(wait, cancel);
    const auto over = [&] {
        const base::MutexLock lock(mutex_);
        return wait->answer.has_value();
    };
    if (!over() && !core_.work_on_io_thread(over)) {
        base::MutexLock lock(mutex_);
        while (!wait->answer) wait->answered.wait(lock);
    }
    tidy(*wait);
    return std::move(*wait->answer);
}

void ApprovalWatch::when_decided(std::string_view id, Done done, Timeout timeout, std::stop_token cancel) {
    const auto task = std::make_shared<Task>(
        core_, [wait = make_wait(id, std::move(done), timeout),
                cancel = std::move(cancel)](ApprovalWatch& watch) { watch.begin_here(wait, cancel); });
    if (core_.host.submit(task) != WorkerPool::Submitted::taken) task->drop();
}

void ApprovalWatch::begin_here(const std::shared_ptr<Wait>& wait, const std::stop_token& cancel) {
    begin(wait, cancel);
    {
        const base::MutexLock lock(mutex_);
        wait->begun = true;
        if (!wait->answer) return;
    }
    call_done(*wait);
}

void ApprovalWatch::begin(const std::shared_ptr<Wait>& wait, const std::stop_token& cancel) {
    {
        const base::MutexLock lock(mutex_);
        if (closed_) {
            wait->answer = waits_no_more(wait->id, "runtime_closing");
            return;
        }
        waits_.emplace(wait->id, wait);
        if (wait->until) {
            wait->timer = core_.timers().at(*wait->until, [weak = weak_from_this(), wait] {
                if (const auto watch = weak.lock()) watch->finish(wait, not_decided(wait->id));
            });
        }
    }
    if (cancel.stop_possible()) {
        wait->on_cancel.emplace(cancel, [weak = weak_from_this(), who = std::weak_ptr(wait)] {
            const auto watch = weak.lock();
            const auto waits = who.lock();
            if (watch && waits) watch->finish(waits, waits_no_more(waits->id, "called_off"));
        });
    }
    look(wait);
}

// On the list already: what is decided from now on is heard of, and what was decided before is seen here.
void ApprovalWatch::look(const std::shared_ptr<Wait>& wait) {
    Result<Approval> seen = core_.ledger().approval(wait->id);
    if (!seen || seen->state != ApprovalState::pending) {
        finish(wait, std::move(seen));
    } else if (wait->only_looks) {
        finish(wait, not_decided(wait->id));
    } else {
        const base::MutexLock lock(mutex_);
        track(*seen);
    }
}

void ApprovalWatch::finish(const std::shared_ptr<Wait>& wait, Result<Approval> answer) {
    const base::MutexLock lock(mutex_);
    if (wait->answer) return;
    const auto [first, last] = waits_.equal_range(wait->id);
    const auto place = std::find_if(first, last, [&](const auto& one) { return one.second == wait; });
    if (place != last) waits_.erase(place);
    if (!is_wanted(wait->id)) untrack(wait->id);
    answer_locked(wait, std::move(answer));
}

// It is on no list any more.
void ApprovalWatch::answer_locked(const std::shared_ptr<Wait>& wait, Result<Approval> answer) {
    wait->answer = std::move(answer);
    if (!wait->done) {
        wait->answered.notify_all();
        core_.wake_io();
    } else if (wait->begun) {
        submit(std::make_shared<Task>(core_, [wait](ApprovalWatch& watch) { watch.call_done(*wait); }));
    }
}

// What may call it off goes. Not under the lock: a stop callback that runs now needs that.
void ApprovalWatch::tidy(Wait& wait) {
    core_.timers().cancel(wait.timer);
    wait.on_cancel.reset();
}

void ApprovalWatch::call_done(Wait& wait) {
    tidy(wait);
    CALLGATE_FOREIGN_CODE("what is called when an approval is decided");
    try {
        std::exchange(wait.done, nullptr)(std::move(*wait.answer));
    } catch (...) {
        core_.counters.observer_faults.add();
    }
}

// Listening.

Result<std::shared_ptr<void>> ApprovalWatch::on_change(Approvals::Listener function) {
    if (!function) return std::shared_ptr<void>();
    auto listener = std::make_shared<Listener>();
    listener->function = std::move(function);
    {
        const base::MutexLock lock(mutex_);
        if (!closed_) listeners_.push_back(listener);
    }
    auto subscription = std::make_shared<Subscription>(weak_from_this(), std::move(listener));
    // Those that are open already may expire.
    for (const ApprovalState state : {ApprovalState::pending, ApprovalState::approved}) {
        CALLGATE_TRY_ASSIGN(const auto open, core_.ledger().approvals(state));
        const base::MutexLock lock(mutex_);
        for (const Approval& one : open) track(one);
    }
    return std::shared_ptr<void>(std::move(subscription));
}

void ApprovalWatch::remove(const std::shared_ptr<Listener>& listener) {
    std::list<std::shared_ptr<const ApprovalChange>> unheard;  // goes after the lock
    const base::MutexLock lock(mutex_);
    unheard.swap(listener->held);
    std::erase(listeners_, listener);
    if (!listeners_.empty()) return;
    for (auto one = tracked_.begin(); one != tracked_.end();) {
        const auto next = std::next(one);
        if (!is_wanted(one->first)) untrack(std::string(one->first));
        one = next;
    }
}

void ApprovalWatch::changed(const ApprovalChange& change) {
    const base::MutexLock lock(mutex_);
    if (!closed_) announce(change);
}

void ApprovalWatch::announce(const ApprovalChange& change) {
    const Approval& approval = change.approval;
    if (approval.state != ApprovalState::pending) {
        const auto [first, last] = waits_.equal_range(approval.id);
        std::vector<std::shared_ptr<Wait>> over;
        for (auto one = first; one != last; ++one) over.push_back(one->second);
        waits_.erase(first, last);
        for (const auto& wait : over) answer_locked(wait, approval);
    }
    if (can_still_expire(approval) && is_wanted(approval.id)) {
        track(approval);
    } else {
        untrack(approval.id);
    }
    if (listeners_.empty()) return;
    const auto shared = std::make_shared<const ApprovalChange>(change);
    for (const auto& listener : listeners_) hold(listener, shared);
}

void ApprovalWatch::hold(const std::shared_ptr<Listener>& listener,
                         const std::shared_ptr<const ApprovalChange>& change) {
    auto& held = listener->held;
    if (held.size() < kMostHeld) {
        held.push_back(change);
    } else if (held.back()->what != ApprovalChange::What::missed) {
        held.push_back(std::make_shared<const ApprovalChange>(ApprovalChange::What::missed, Approval()));
    }
    if (std::exchange(listener->delivering, true)) return;
    submit(std::make_shared<Task>(core_, [listener](ApprovalWatch& watch) { watch.deliver(*listener); }));
}

void ApprovalWatch::deliver(Listener& listener) {
    for (;;) {
        std::shared_ptr<const ApprovalChange> next;
        {
            const base::MutexLock lock(mutex_);
            if (listener.held.empty()) {
                listener.delivering = false;
                return;
            }
            next = std::move(listener.held.front());
            listener.held.pop_front();
        }
        CALLGATE_FOREIGN_CODE("a listener of approvals");
        try {
            listener.function(*next);
        } catch (...) {
            core_.counters.observer_faults.add();
        }
    }
}

// What only time changes.

bool ApprovalWatch::is_wanted(const std::string& id) const {
    return !listeners_.empty() || waits_.contains(id);
}

void ApprovalWatch::track(const Approval& approval) {
    if (closed_ || !is_wanted(approval.id) || tracked_.contains(approval.id)) return;
    tracked_.emplace(approval.id, set_timer(approval));
}

void ApprovalWatch::untrack(const std::string& id) {
    const auto found = tracked_.find(id);
    if (found == tracked_.end()) return;
    core_.timers().cancel(found->second);
    tracked_.erase(found);
}

// By the clock that goes on; the ledger has the last word, by its own.
TimerId ApprovalWatch::set_timer(const Approval& approval) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(approval.expires_at - core_.ledger().approval_time());
    const auto when =
        base::later(core_.clock().monotonic_now(), std::max(left, std::chrono::milliseconds(1)));
    return core_.timers().at(when, [weak = weak_from_this(), id = approval.id] {
        const auto watch = weak.lock();
        if (!watch) return;
        const base::MutexLock lock(watch->mutex_);
        if (watch->closed_) return;
        watch->submit(std::make_shared<Task>(
            watch->core_, [id](ApprovalWatch& its) { its.time_has_come(id); }, Task::WhenDropped::forget));
    });
}

void ApprovalWatch::time_has_come(const std::string& id) {
    Result<Approval> seen = core_.ledger().approval(id);
    const base::MutexLock lock(mutex_);
    const auto found = tracked_.find(id);
    if (closed_ || found == tracked_.end()) return;
    if (!seen) {
        tracked_.erase(found);
        // Nobody can say whether it has expired; those who wait for it get that error.
        const auto [first, last] = waits_.equal_range(id);
        std::vector<std::shared_ptr<Wait>> over;
        for (auto one = first; one != last; ++one) over.push_back(one->second);
        waits_.erase(first, last);
        for (const auto& wait : over) answer_locked(wait, tl::unexpected(seen.error()));
    } else if (can_still_expire(*seen)) {
        found->second = set_timer(*seen);
    } else {
        tracked_.erase(found);
        // Any other end is announced by the ledger.
        if (seen->state == ApprovalState::expired)
            announce(ApprovalChange(ApprovalChange::What::expired, std::move(*seen)));
    }
}

void ApprovalWatch::submit(std::shared_ptr<PoolTask> task) {
    // One that there is no thread for goes with the next, or with the runtime: foreign code cannot run here.
    stranded_.push_back(std::move(task));
    while (!stranded_.empty()) {
        if (core_.host.submit(stranded_.front()) != WorkerPool::Submitted::taken) return;
        stranded_.pop_front();
    }
}

void ApprovalWatch::close() {
    std::vector<std::shared_ptr<Listener>> listeners;  // they go after the lock
    std::list<std::shared_ptr<PoolTask>> stranded;
    {
        const base::MutexLock lock(mutex_);
        closed_ = true;
        listeners.swap(listeners_);
        while (!tracked_.empty()) untrack(std::string(tracked_.begin()->first));
        auto waits = std::exchange(waits_, {});
        for (auto& [id, wait] : waits) answer_locked(wait, waits_no_more(id, "runtime_closing"));
        stranded.swap(stranded_);
    }
    for (const auto& task : stranded) task->drop();
}

}  // namespace callgate::pipeline
