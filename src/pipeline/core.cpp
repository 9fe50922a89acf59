#include "pipeline/core.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/guard.h"
#include "base/recycling.h"
#include "base/stop_relay.h"
#include "base/thread_role.h"
#include "json/size.h"
#include "ledger/blocking_waiter.h"
#include "pipeline/approval_watch.h"
#include "pipeline/call.h"
#include "pipeline/host_events.h"
#include "pipeline/inside.h"
#include "policy/memory.h"

namespace callgate {
namespace {

// What is taken in must be kept, and read again.
RuntimeOptions kept_to_limits(RuntimeOptions options) {
    std::size_t& deepest = options.argument_limits.max_depth;
    deepest = std::min(deepest, json::kDeepestKept);
    return options;
}

// Tools that block need threads by how many block, not by how many processors there are.
pipeline::WorkerPool::Options pool_options(const RuntimeOptions& options) {
    constexpr std::size_t kUsual = 64;
    pipeline::WorkerPool::Options pool;
    pool.threads = options.pool_threads != 0 ? options.pool_threads : kUsual;
    pool.max_threads = pool.threads + options.max_abandoned + 256;
    pool.max_queued = options.max_queued_calls;
    pool.max_queued_bytes = options.max_queued_bytes;
    return pool;
}

// Never refused: what has been claimed has to go on.
pipeline::WorkerPool::Options turns_options() {
    pipeline::WorkerPool::Options turns;
    turns.threads = std::max<std::size_t>(4, 2 * std::thread::hardware_concurrency());
    turns.max_threads = pipeline::WorkerPool::kUnlimited;
    turns.ours = true;
    return turns;
}

// One that cannot be registered is not alive: its claims are refused, and say so.
ledger::OwnerId register_with(ledger::Ledger& ledger) {
    return ledger::register_owner(ledger).value_or(0);
}

// Never refused either: what happened has to be reported. As many threads as block at once.
pipeline::WorkerPool::Options host_options(const RuntimeOptions& options) {
    pipeline::WorkerPool::Options host;
    host.threads = std::max<std::size_t>(1, options.callback_threads);
    host.max_threads = pipeline::WorkerPool::kUnlimited;
    return host;
}

// What an executor was given. It may keep it for longer than the runtime lives, or have kept it and thrown
// all the same: it is run once.
class HandedOver : public std::enable_shared_from_this<HandedOver> {
public:
    virtual ~HandedOver() = default;

    void hand_to(const Executor& executor, Runtime::Core& core) {
        core_ = core.weak_from_this();
        try {
            executor([self = shared_from_this()] { self->run(); });
        } catch (...) {
            core.counters.observer_faults.add();
            core.notify([self = shared_from_this()] { self->run(); });
        }
    }

protected:
    HandedOver() = default;

private:
    virtual void work() = 0;
    /// What work() needed goes on the executor, too.
    virtual void release() noexcept = 0;
    void run() {
        if (begun_.exchange(true)) return;
        try {
            work();
        } catch (...) {
            if (const auto core = core_.lock()) core->counters.observer_faults.add();
        }
        release();
    }

    std::weak_ptr<Runtime::Core> core_;
    std::atomic<bool> begun_{false};
};

class HandedWork final : public HandedOver {
public:
    explicit HandedWork(std::function<void()> work) : work_(std::move(work)) {}

private:
    void work() override { work_(); }
    void release() noexcept override { work_ = nullptr; }

    std::function<void()> work_;
};

// The end of a call, for a starter with an executor.
class HandedEnd final : public HandedOver {
public:
    HandedEnd(Completion completion, std::shared_ptr<base::StopRelay> relay)
        : completion_(std::move(completion)), relay_(std::move(relay)) {}

    const Completion& completion() const noexcept { return completion_; }
    void hand_over(pipeline::Call& ended) {
        if (!completion_.done) return;
        relay_ = nullptr;
        outcome_.emplace(ended.take_outcome());
        hand_to(completion_.executor, *ended.core);
    }

private:
    void work() override { completion_.done(*std::exchange(outcome_, std::nullopt)); }
    void release() noexcept override { completion_.done = nullptr; }

    Completion completion_;
    std::shared_ptr<base::StopRelay> relay_;  // until the call has ended
    std::optional<Outcome> outcome_;
};

// What a call does to report to its starter: with an executor it only hands over, which is ours.
pipeline::Call::Reports reports_to(Completion&& completion, std::shared_ptr<base::StopRelay> relay) {
    using pipeline::Call;
    Call::Reports reports;
    if (completion.executor) {
        const bool tells_of_record = completion.recorded != nullptr;
        const auto end = std::make_shared<HandedEnd>(std::move(completion), std::move(relay));
        reports.whose = Call::CodeIs::ours;
        // NOLINTBEGIN(clang-analyzer-cplusplus.NewDeleteLeaks): a function owns what it captured
        reports.done = [end](Call& ended) { end->hand_over(ended); };
        if (tells_of_record) {
            reports.recorded = [end](Call& call) {
                call.core->run_on(end->completion().executor,
                                  [end, id = call.recorded_id()] { end->completion().recorded(id); });
            };
        }
        // NOLINTEND(clang-analyzer-cplusplus.NewDeleteLeaks)
        return reports;
    }
    if (completion.recorded)
        reports.recorded = [recorded = std::move(completion.recorded)](Call& call) {
            recorded(call.recorded_id());
        };
    reports.done = [done = std::move(completion.done), relay = std::move(relay)](Call& ended) {
        if (done) done(ended.take_outcome());
    };
    return reports;
}

// What belongs to no call.
class HostWork final : public pipeline::PoolTask {
public:
    HostWork(std::shared_ptr<Runtime::Core> core, std::function<void()> work)
        : core_(std::move(core)), work_(std::move(work)) {}
    void run() override {
        const pipeline::Inside no_body(nullptr, pipeline::inside::lent);
        try {
            work_();
        } catch (...) {
            core_->counters.observer_faults.add();
        }
    }
    // The runtime has gone.
    void drop() override {
        const base::FreedThread freed;
        run();
    }

private:
    std::shared_ptr<Runtime::Core> core_;
    std::function<void()> work_;
};

class CoreDelivery final : public pipeline::PoolTask {
public:
    explicit CoreDelivery(std::shared_ptr<Runtime::Core> core) : core_(std::move(core)) {}
    void run() override { core_->notices.drain(core_->counters.observer_faults); }
    // The runtime has gone.
    void drop() override {
        const base::FreedThread freed;
        run();
    }

private:
    std::shared_ptr<Runtime::Core> core_;
};

}  // namespace

Runtime::Core::Core(RuntimeOptions the_options, pipeline::Parts the_parts)
    : options(kept_to_limits(std::move(the_options))),
      parts(std::move(the_parts)),
      ids(*parts.clock, *parts.rng),
      owner(register_with(*parts.ledger)),
      pool(pool_options(options)),
      turns(turns_options()),
      host(host_options(options)),
      stops(host_options(options)),
      ledger_has_thread(parts.ledger->has_own_thread()),
      hash_seed(parts.rng->next_u64()) {
    policy.state().clock = parts.clock.get();
    watch_tools(registry);
    approval_watch = std::make_shared<pipeline::ApprovalWatch>(*this);
    parts.ledger->watch_approvals(approval_watch);
    for (auto& observer : options.observers) observe(observer);
}

Runtime::Core::~Core() {
    approval_watch->close();  // a ledger that others share may still be about to tell it something
    parts.ledger->owner_gone(owner);
    delete spare_.load();
}

Registry& Runtime::Core::registry_of(std::string_view tenant) {
    if (!has_tenants_.load(std::memory_order_acquire)) return registry;
    const base::ReaderLock lock(tenants_mutex_);
    const auto found = tenants_.find(tenant);
    return found == tenants_.end() ? registry : *found->second;
}

Registry& Runtime::Core::make_registry(std::string_view tenant) {
    if (tenant.empty()) return registry;
    const base::WriterLock lock(tenants_mutex_);
    auto& made = tenants_[std::string(tenant)];
    if (!made) {
        Registry::Options of_tenant;
        of_tenant.name = std::string(tenant);
        made = std::make_unique<Registry>(of_tenant);
        watch_tools(*made);
        has_tenants_.store(true, std::memory_order_release);
    }
    return *made;
}

std::shared_ptr<pipeline::Call> Runtime::Core::make_call() {
    return std::allocate_shared<pipeline::Call>(base::RecyclingAllocator<pipeline::Call>(),
                                                shared_from_this());
}

Outcome Runtime::Core::run(pipeline::Request request) {
    const auto call = make_call();
    call->prepare(std::move(request));
    return pipeline::Call::run_to_end(call);
}

CallId Runtime::Core::start(pipeline::Request request, Completion completion, const std::stop_token& also) {
    std::shared_ptr<base::StopRelay> relay;  // lives as long as the call may be called off
    if (also.stop_possible() && CALLGATE_GUARD(slot_cancels)) {
        relay = std::make_shared<base::StopRelay>();
        relay->follow(request.context->cancel);
        relay->follow(also);
        Context context = *request.context;
        context.cancel = relay->token();
        request.context = pipeline::share(std::move(context));
    }
    const auto call = make_call();
    const CallId id = call->id;
    call->prepare(std::move(request));
    pipeline::Call::start(call, reports_to(std::move(completion), std::move(relay)));
    return id;
}

void Runtime::Core::run_on(const Executor& executor, std::function<void()> work) {
    std::make_shared<HandedWork>(std::move(work))->hand_to(executor, *this);
}

void Runtime::Core::wait_for(pipeline::Call& call) {
    CALLGATE_MAY_BLOCK("waiting for a call");
    if (wait_on_io_thread(call)) return;
    pipeline::WorkerPool::Waiting waiting;
    for (;;) {
        switch (call.wait()) {
            case pipeline::Call::Woken::over: return;
            case pipeline::Call::Woken::turn: waiting.interrupt([&] { call.run_turn(); }); break;
            case pipeline::Call::Woken::notices: waiting.interrupt([&] { call.deliver(); }); break;
        }
    }
}

void Runtime::Core::notify(pipeline::Notices::Notice notice) {
    if (!base::on_our_thread()) {
        try {
            notice();
        } catch (...) {
            counters.observer_faults.add();
        }
        return;
    }
    notify_elsewhere(std::move(notice));
}

void Runtime::Core::run_on_host(std::function<void()> work) {
    auto task = std::make_shared<HostWork>(shared_from_this(), std::move(work));
    if (host.submit(task) != pipeline::WorkerPool::Submitted::taken) task->drop();
}

void Runtime::Core::run_on_stops(std::function<void()> work) {
    auto task = std::make_shared<HostWork>(shared_from_this(), std::move(work));
    if (stops.submit(task) != pipeline::WorkerPool::Submitted::taken) task->drop();
}

void Runtime::Core::notify_elsewhere(pipeline::Notices::Notice notice) {
    if (notices.push(notice) != pipeline::Notices::Pushed::first) return;
    auto delivery = std::make_shared<CoreDelivery>(shared_from_this());
    if (host.submit(delivery) != pipeline::WorkerPool::Submitted::taken) delivery->drop();
}

std::unique_ptr<Runtime::Core::Workspace> Runtime::Core::lend() {
    if (auto* spare = spare_.exchange(nullptr, std::memory_order_acquire)) {
        return std::unique_ptr<Workspace>(spare);
    }
    {
        const base::MutexLock lock(workspaces_mutex_);
        if (!workspaces_.empty()) {
            auto last = std::move(workspaces_.back());
            workspaces_.pop_back();
            return last;
        }
    }
    return std::make_unique<Workspace>();
}

void Runtime::Core::give_back(std::unique_ptr<Workspace> workspace) {
    constexpr std::size_t kKept = 64;
    const std::uint64_t version = tools_version_.load();
    if (workspace->tools_seen != version) {
        workspace->tools.clear();
        workspace->tools_seen = version;
    }
    const Observers* const watched_by = watching();
    if (workspace->observers.get() != watched_by) [[unlikely]]
        workspace->observers = nullptr;
    Workspace* none = nullptr;
    if (spare_.compare_exchange_strong(none, workspace.get())) {
        (void)workspace.release();
    } else {
        const base::MutexLock lock(workspaces_mutex_);
        if (workspaces_.size() < kKept) workspaces_.push_back(std::move(workspace));
    }
    // Changed since it was looked at: whoever changed it may have seen no workspace here yet.
    if (tools_version_.load() != version || watching_.load() != watched_by) [[unlikely]]
        drop_idle_tools();
}

void Runtime::Core::watch_tools(Registry& of) {
    tool_watches_.push_back(of.on_change([this](const RegistryChange& change) {
        if (change.what == RegistryChange::What::health) return;
        tools_version_.fetch_add(1);
        drop_idle_tools();
    }));
}

const ToolEntry* Runtime::Core::find_tool(Workspace& workspace, const Registry& of, std::string_view name) {
    const std::uint64_t version = tools_version_.load();
    if (workspace.tools_seen != version) {
        workspace.tools.clear();
        workspace.tools_seen = version;
    }
    return workspace.tools.find(of, name);
}

// A tool that was removed goes when the calls that are under way have ended: no idle workspace may hold on to
// it.
void Runtime::Core::drop_idle_tools() {
    for (auto& workspace : take_idle()) give_back(std::move(workspace));
}

std::vector<std::unique_ptr<Runtime::Core::Workspace>> Runtime::Core::take_idle() {
    std::vector<std::unique_ptr<Workspace>> idle;
    if (auto* spare = spare_.exchange(nullptr)) idle.emplace_back(spare);
    {
        const base::MutexLock lock(workspaces_mutex_);
        for (auto& workspace : workspaces_) idle.push_back(std::move(workspace));
        workspaces_.clear();
    }
    return idle;
}

void Runtime::Core::observe(std::shared_ptr<Observer> observer) {
    if (!observer) return;
    const Observer& wants = *observer;
    Watcher watcher{std::move(observer), wants.wants_audit(), wants.wants_telemetry(), wants.wants_log()};
    const base::MutexLock lock(observers_mutex_);
    Observers next = observers_ ? *observers_ : Observers();
    next.push_back(std::move(watcher));
    watch_with(std::move(next));
}

bool Runtime::Core::unobserve(const Observer& observer) {
    std::shared_ptr<const Observers> before;  // goes after the lock
    {
        const base::MutexLock lock(observers_mutex_);
        before = observers_;
        Observers next = before ? *before : Observers();
        const auto gone =
            std::erase_if(next, [&](const Watcher& one) { return one.observer.get() == &observer; });
        if (gone == 0) return false;
        watch_with(std::move(next));
    }
    // No idle workspace may hold on to it. Nor one that comes back meanwhile: give_back() looks, too.
    for (auto& workspace : take_idle()) give_back(std::move(workspace));
    return true;
}

void Runtime::Core::watch_with(Observers next) {
    const auto anybody = [&](bool Watcher::* wish) {
        return std::ranges::any_of(next, [&](const Watcher& one) { return one.*wish; });
    };
    audit_wanted_ = anybody(&Watcher::audit);
    telemetry_wanted_ = anybody(&Watcher::telemetry);
    log_wanted_ = anybody(&Watcher::log);
    observers_ = next.empty() ? nullptr : std::make_shared<const Observers>(std::move(next));
    watching_.store(observers_.get());
}

std::shared_ptr<const Runtime::Core::Observers> Runtime::Core::current_observers() const {
    const base::MutexLock lock(observers_mutex_);
    return observers_;
}

bool Runtime::Core::still_watches(const Observer& observer) const {
    const auto now = current_observers();
    return now &&
           std::ranges::any_of(*now, [&](const Watcher& one) { return one.observer.get() == &observer; });
}

// Every call that began is counted before it looks whether it came too late, and counted again when it was
// refused for that or has ended: what is counted once is under way. Read in this order it is never too few.
std::size_t Runtime::Core::under_way() const noexcept {
    const std::size_t expected = expected_.load();
    std::uint64_t over = 0;
    for (const auto& state : counters.ended) over += state.get_ordered();
    over += late_begun_.get_ordered();
    over -= late_ended_.get_ordered();
    return expected + static_cast<std::size_t>(counters.calls.get_ordered() - over);
}

bool Runtime::Core::refuse_late() noexcept {
    late_begun_.add_ordered();
    if (options.strict_audit || !late_recorded_.exchange(true)) return false;
    late_unrecorded_.fetch_add(1);
    return true;
}

void Runtime::Core::expected_came(std::size_t count) noexcept {
    expected_.fetch_sub(count);
    if (ending() == Ending::draining) ended_while_draining();
}

void Runtime::Core::record_late_refusals() {
    const std::uint64_t count = late_unrecorded_.exchange(0);
    if (count == 0) return;
    const std::string detail =
        fmt::format("{} more calls were refused, because the runtime was about to end.", count);
    AuditFacts facts;
    facts.at = clock().wall_now();
    facts.type = "tool_call.refused";
    facts.outcome = "failure";
    facts.stage = "resolve";
    facts.detail = detail;
    pipeline::record_event(shared_from_this(), facts);
}

std::size_t Runtime::Core::drain(std::chrono::milliseconds at_most) {
    Ending none = Ending::no;
    ending_.compare_exchange_strong(none, Ending::draining);
    const pipeline::LentThread blocked(*this);
    const pipeline::WorkerPool::Waiting waiting;
    const auto until = base::later(std::chrono::steady_clock::now(), at_most);
    base::MutexLock lock(drain_mutex_);
    // Once there is none there is none: what is counted after that comes too late, and is about to end.
    for (;;) {
        const std::size_t left = under_way();
        if (left == 0 || std::chrono::steady_clock::now() >= until) {
            lock.unlock();
            record_late_refusals();
            return left;
        }
        (void)drained_.wait_until(lock, until);
    }
}

void Runtime::Core::ended_while_draining() {
    const base::MutexLock lock(drain_mutex_);
    drained_.notify_all();
}

void Runtime::Core::close() {
    ending_.store(Ending::closing);
    parts.operator_server = nullptr;
    for (const auto& call : waiting_calls.all()) call->cancel();
    approval_watch->close();
    record_late_refusals();
    wait_for_turns();
    const auto until = base::later(std::chrono::steady_clock::now(), options.shutdown_grace);
    pool.close(options.shutdown_grace);
    const auto left = [until] {
        const auto rest =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        return std::max(rest, std::chrono::milliseconds(0));
    };
    turns.close(left());
    stop_io();
    stops.close(left());
    host.close(left());
}

bool Runtime::Core::expect_turn() noexcept {
    if ((turns_expected_.fetch_add(1) & kNoMoreTurns) == 0) return true;
    turns_expected_.fetch_sub(1);
    return false;
}

void Runtime::Core::turn_came() noexcept {
    if (turns_expected_.fetch_sub(1) == 1) turns_expected_.notify_all();
}

void Runtime::Core::wait_for_turns() {
    const pipeline::WorkerPool::Waiting waiting;
    for (;;) {
        auto expected = turns_expected_.load();
        if ((expected & kNoMoreTurns) != 0) return;
        if (expected != 0) {
            turns_expected_.wait(expected);
        } else if (turns_expected_.compare_exchange_strong(expected, kNoMoreTurns)) {
            return;
        }
    }
}

}  // namespace callgate
