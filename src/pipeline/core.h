// What the calls of one runtime share: the registries, the policy, the ledger, the threads and clocks, and
// who watches.
//
// Everything in it was put there by wire_core.cpp; tests put other parts in. It outlives the Runtime for as
// long as a call or an abandoned tool still needs it.
//
// Threads: may be used from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/calls.h>
#include <callgate/observer.h>
#include <callgate/policy.h>
#include <callgate/registry.h>
#include <callgate/runtime.h>
#include <callgate/secrets.h>

#include "base/clock.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/rng.h"
#include "ledger/ledger.h"
#include "ledger/operations.h"
#include "pipeline/counters.h"
#include "pipeline/log_line_text.h"
#include "pipeline/notices.h"
#include "pipeline/timers.h"
#include "pipeline/tool_cache.h"
#include "pipeline/waiting_calls.h"
#include "pipeline/worker_pool.h"

namespace callgate {

namespace pipeline {
class ApprovalWatch;
class AttemptState;
class Call;
class IoThread;
struct Request;

/// The parts that are made once; wire_core.cpp makes the real ones.
struct Parts {
    std::shared_ptr<base::Clock> clock;
    std::shared_ptr<base::Rng> rng;
    std::shared_ptr<Timers> timers;
    std::shared_ptr<ledger::Ledger> ledger;
    std::shared_ptr<ledger::Operations> operations;  ///< of a durable ledger; null: there is none
    std::shared_ptr<void> operator_server;           ///< answers operators; ends before the ledger
};
Result<Parts> real_parts(const RuntimeOptions& options);
}  // namespace pipeline

namespace policy {
class Compiled;
}

class Runtime::Core : public std::enable_shared_from_this<Runtime::Core> {
public:
    Core(RuntimeOptions options, pipeline::Parts parts);
    ~Core();

    RuntimeOptions options;
    pipeline::Parts parts;
    base::IdGenerator ids;
    ledger::OwnerId owner;
    Registry registry;
    Policy policy;
    /// For tools that are plain functions.
    pipeline::WorkerPool pool;
    /// Runs stages of calls that no thread waits for. Not the pool's threads: those may all be busy with
    /// tools that do not answer.
    pipeline::WorkerPool turns;
    /// For all other foreign code that has no thread of its caller's to run on: observers, `done`, progress
    /// functions, hooks.
    pipeline::WorkerPool host;
    /// For stop callbacks: a stop request arrives although others' callbacks block.
    pipeline::WorkerPool stops;
    /// What hosts are to be notified of that belongs to no call under way.
    pipeline::Notices notices;
    pipeline::Counters counters;
    /// Who waits for approvals, and who is notified of what happens to them.
    std::shared_ptr<pipeline::ApprovalWatch> approval_watch;
    const bool ledger_has_thread;

    base::Clock& clock() const noexcept { return *parts.clock; }
    ledger::Ledger& ledger() const noexcept { return *parts.ledger; }
    pipeline::Timers& timers() const noexcept { return *parts.timers; }

    [[gnu::hot]] Registry& registry_of(std::string_view tenant);
    Registry& make_registry(std::string_view tenant);

    /// A call whose request is still to be filled in.
    [[gnu::hot]] std::shared_ptr<pipeline::Call> make_call();
    Outcome run(pipeline::Request request);
    /// Begins a call; `also` calls it off as its context's signal does.
    CallId start(pipeline::Request request, Completion completion, const std::stop_token& also);
    /// Gives work to a host's executor; where that throws, it is run as other code of the host's is.
    void run_on(const Executor& executor, std::function<void()> work);
    /// Blocks until the call is over. On a thread that others may need meanwhile, it makes room for them.
    void wait_for(pipeline::Call& call);
    std::vector<Outcome> run_batch(std::vector<CallRequest> calls, Context context);
    /// The same, and waits for nothing.
    void start_batch(std::vector<CallRequest> calls, Context context,
                     std::function<void(std::vector<Outcome>)> done, Executor executor,
                     const std::stop_token& also);
    CallExplanation explain(pipeline::Request request, std::optional<base::WallTime> at);

    // Who watches.
    struct Watcher {
        std::shared_ptr<Observer> observer;
        bool audit;
        bool telemetry;
        bool log;
    };

    /// What calls use again and again, on loan: memory, and the policy as it was last looked up.
    struct Workspace {
        schema::Scratch scratch;
        pipeline::LineText line;
        std::shared_ptr<const policy::Compiled> rules;
        std::shared_ptr<const std::vector<Watcher>> observers;  ///< of when they were last looked up
        pipeline::ToolCache tools;
        std::uint64_t tools_seen = 0;  ///< the version of the registries that `tools` is from
    };
    /// Valid while the workspace is on loan.
    [[gnu::hot]] const ToolEntry* find_tool(Workspace& workspace, const Registry& registry,
                                            std::string_view name);
    [[gnu::hot]] std::unique_ptr<Workspace> lend();
    [[gnu::hot]] void give_back(std::unique_ptr<Workspace> workspace);
    std::uint64_t hash_seed;

    using Observers = std::vector<Watcher>;
    /// Those who watch now; null: nobody does. Only to compare with, and to see whether there are any.
    const Observers* watching() const noexcept { return watching_.load(std::memory_order_acquire); }
    /// The same, for a call: valid while the workspace is on loan.
    [[gnu::hot]] const Observers* observers(Workspace& workspace) {
        const Observers* const now = watching();
        if (workspace.observers.get() != now) [[unlikely]]
            workspace.observers = current_observers();
        return workspace.observers.get();
    }
    std::shared_ptr<const Observers> current_observers() const;
    bool still_watches(const Observer& observer) const;
    void observe(std::shared_ptr<Observer> observer);
    bool unobserve(const Observer& observer);
    bool audit_wanted() const noexcept { return audit_wanted_.load(std::memory_order_relaxed); }
    bool telemetry_wanted() const noexcept { return telemetry_wanted_.load(std::memory_order_relaxed); }
    /// Foreign code that belongs to no call under way: here, or in order on `host` where this thread is ours.
    void notify(pipeline::Notices::Notice notice);
    /// Finds an answer where that may block, on a thread of `host`, and reports it: `find(core)`,
    /// `done(answer)`.
    template <class Answer, class Find>
    void answer_later(Find find, std::function<void(Answer)> done, Executor executor) {
        run_on_host([self = shared_from_this(), find = std::move(find), done = std::move(done),
                     executor = std::move(executor)] {
            Answer answer = find(self);
            if (!done) return;
            auto report = [done, answer = std::move(answer)] { done(answer); };
            executor ? self->run_on(executor, std::move(report)) : report();
        });
    }
    void run_on_host(std::function<void()> work);
    /// What somebody has to learn although others' code blocks.
    void run_on_stops(std::function<void()> work);
    /// The same, never here.
    void notify_elsewhere(pipeline::Notices::Notice notice);
    bool log_wanted() const noexcept { return log_wanted_.load(std::memory_order_relaxed); }

    /// The runtime goes: no new calls, the running ones are cancelled, threads get their grace.
    void close();
    enum class Ending : std::uint8_t {
        no,
        draining,  ///< takes no new calls, except from tools of those under way
        closing    ///< takes none, and has called off all others
    };
    Ending ending() const noexcept { return ending_.load(); }
    bool closing() const noexcept { return ending_.load(std::memory_order_acquire) == Ending::closing; }
    /// Takes no new calls from now on, and waits until those under way have ended. How many have not.
    std::size_t drain(std::chrono::milliseconds at_most);
    /// A call has ended, and somebody waits for the last of them.
    [[gnu::cold]] void ended_while_draining();
    /// This call came too late for a runtime that drains: it is not waited for. True: the record has one
    /// event for many of them, so that it does not fill with what is refused.
    [[gnu::cold]] bool refuse_late() noexcept;
    /// One of them has ended; before it is counted as ended.
    void late_call_ended() noexcept { late_ended_.add_ordered(); }
    /// So many calls of a batch that has begun are still to begin: they are waited for, too.
    void expect_calls(std::size_t count) noexcept { expected_.fetch_add(count); }
    void expected_came(std::size_t count) noexcept;

    /// Calls whose tools have open questions to their callers.
    std::atomic<std::size_t> suspended{0};
    /// Threads of the pool whose tools wait for the answers.
    std::atomic<std::size_t> input_threads{0};
    /// Calls that wait for something: those that others can find.
    pipeline::WaitingCalls waiting_calls;

    /// Something that the ledger is to answer will go on as a turn; the runtime does not go before it came.
    /// False: it has gone, and there are no turns any more.
    bool expect_turn() noexcept;
    void turn_came() noexcept;

    /// The io context for coroutine tools; made when first asked for.
    IoHost& io();
    /// The same for one body: its threads know whose code they run.
    std::shared_ptr<IoHost> io_for(std::weak_ptr<pipeline::AttemptState> body);
    bool has_lent_io() const noexcept { return has_lent_io_.load(std::memory_order_relaxed); }
    /// For a thread that is about to block: false where it does not belong to the executor that the host
    /// lent, or others are left that run it. Undone by lent_thread_returns().
    bool block_lent_thread(bool& counted) noexcept;
    void lent_thread_returns() noexcept { lent_blocked_.fetch_sub(1); }
    /// On the runtime's own io thread: does its other work until `over`. False on any other thread, and where
    /// that ended before.
    bool work_on_io_thread(const std::function<bool()>& over);
    void set_io(std::shared_ptr<pipeline::IoThread> io);
    /// A call has ended on another thread than it began on: the io thread may be waiting for it.
    void wake_io() noexcept;

private:
    bool wait_on_io_thread(pipeline::Call& call);
    void wait_for_turns();
    void stop_io();

    void watch_tools(Registry& registry);
    void drop_idle_tools();
    std::vector<std::unique_ptr<Workspace>> take_idle();

    std::atomic<std::uint64_t> tools_version_{0};  // of all registries together
    std::vector<std::shared_ptr<void>> tool_watches_;
    std::atomic<Workspace*> spare_{nullptr};  // the usual case: one at a time
    base::Mutex workspaces_mutex_;
    std::vector<std::unique_ptr<Workspace>> workspaces_ CALLGATE_GUARDED_BY(workspaces_mutex_);

    mutable base::SharedMutex tenants_mutex_;
    std::map<std::string, std::unique_ptr<Registry>, std::less<>> tenants_
        CALLGATE_GUARDED_BY(tenants_mutex_);
    std::atomic<bool> has_tenants_{false};

    void watch_with(Observers next) CALLGATE_REQUIRES(observers_mutex_);

    mutable base::Mutex observers_mutex_;
    // A call under way may still hold an earlier one.
    std::shared_ptr<const Observers> observers_ CALLGATE_GUARDED_BY(observers_mutex_);
    std::atomic<const Observers*> watching_{nullptr};
    std::atomic<bool> audit_wanted_{false};
    std::atomic<bool> telemetry_wanted_{false};
    std::atomic<bool> log_wanted_{false};

    std::size_t under_way() const noexcept;
    void record_late_refusals();

    std::atomic<Ending> ending_{Ending::no};
    base::Mutex drain_mutex_;
    base::CondVar drained_;
    std::atomic<std::size_t> expected_{0};
    pipeline::Counter late_begun_;
    pipeline::Counter late_ended_;
    std::atomic<bool> late_recorded_{false};         // the first has an event of its own
    std::atomic<std::uint64_t> late_unrecorded_{0};  // those behind it
    static constexpr std::uint32_t kNoMoreTurns = 1u << 31;
    std::atomic<std::uint32_t> turns_expected_{0};

    mutable base::Mutex io_mutex_;
    std::shared_ptr<pipeline::IoThread> io_ CALLGATE_GUARDED_BY(io_mutex_);
    bool io_stopped_ CALLGATE_GUARDED_BY(io_mutex_) = false;
    std::atomic<int> io_waits_{0};  // calls that the io thread waits for while it does other work
    std::atomic<bool> has_lent_io_{false};
    std::atomic<std::size_t> lent_blocked_{0};
};

namespace pipeline {

/// While it lives, this thread blocks; if it is one of the host's executor, that is counted.
class LentThread {
public:
    explicit LentThread(Runtime::Core& core) noexcept : core_(core) {
        if (core_.has_lent_io()) [[unlikely]]
            last_ = core_.block_lent_thread(counted_);
    }
    ~LentThread() {
        if (counted_) core_.lent_thread_returns();
    }
    LentThread(const LentThread&) = delete;
    LentThread& operator=(const LentThread&) = delete;

    /// Nobody is left to run what this thread waits for on that executor, as far as is known.
    bool was_last() const noexcept { return last_; }

private:
    Runtime::Core& core_;
    bool counted_ = false;
    bool last_ = false;
};

}  // namespace pipeline
}  // namespace callgate
