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
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <callgate/observer.h>
#include <callgate/policy.h>
#include <callgate/registry.h>
#include <callgate/runtime.h>
#include <callgate/secrets.h>

#include "base/clock.h"
#include "base/ids.h"
#include "base/rng.h"
#include "ledger/ledger.h"
#include "pipeline/counters.h"
#include "pipeline/timers.h"
#include "pipeline/worker_pool.h"

namespace callgate {

namespace pipeline {
class Call;
class IoThread;
struct Request;

/// The parts that are made once; wire_core.cpp makes the real ones.
struct Parts {
    std::shared_ptr<base::Clock> clock;
    std::shared_ptr<base::Rng> rng;
    std::shared_ptr<Timers> timers;
    std::shared_ptr<ledger::Ledger> ledger;
};
Parts real_parts(const RuntimeOptions& options);
}  // namespace pipeline

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
    pipeline::WorkerPool pool;
    pipeline::Counters counters;

    base::Clock& clock() const noexcept { return *parts.clock; }
    ledger::Ledger& ledger() const noexcept { return *parts.ledger; }
    pipeline::Timers& timers() const noexcept { return *parts.timers; }

    Registry& registry_of(std::string_view tenant);
    Registry& make_registry(std::string_view tenant);

    std::shared_ptr<pipeline::Call> make_call(pipeline::Request request);
    Outcome run(pipeline::Request request);
    /// Blocks until the call is over. On a thread that others may need meanwhile, it makes room for them.
    void wait_for(pipeline::Call& call);
    std::vector<Outcome> run_batch(std::vector<CallRequest> calls, Context context);

    /// Memory for schema checks, on loan.
    class ScratchLoan {
    public:
        ScratchLoan(Core& core, schema::Scratch scratch) : core_(core), scratch_(std::move(scratch)) {}
        ~ScratchLoan() { core_.return_scratch(std::move(scratch_)); }
        ScratchLoan(const ScratchLoan&) = delete;
        ScratchLoan& operator=(const ScratchLoan&) = delete;
        schema::Scratch& operator*() const noexcept { return scratch_; }

    private:
        Core& core_;
        mutable schema::Scratch scratch_;
    };
    ScratchLoan scratch();
    std::uint64_t hash_seed;

    // Who watches.
    using Observers = std::vector<std::shared_ptr<Observer>>;
    std::shared_ptr<const Observers> observers() const;
    void observe(std::shared_ptr<Observer> observer);
    bool audit_wanted() const noexcept { return audit_wanted_.load(std::memory_order_relaxed); }
    bool telemetry_wanted() const noexcept { return telemetry_wanted_.load(std::memory_order_relaxed); }
    bool log_wanted() const noexcept { return log_wanted_.load(std::memory_order_relaxed); }

    /// The runtime goes: no new calls, the running ones are cancelled, threads get their grace.
    void close();
    bool closing() const noexcept { return closing_.load(std::memory_order_acquire); }

    /// Calls that wait for something; they are the ones to cancel at the end.
    void waiting(pipeline::Call& call);
    void not_waiting(pipeline::Call& call);

    /// The io context for coroutine tools; made when first asked for.
    IoHost& io();
    void set_io(std::shared_ptr<pipeline::IoThread> io);

private:
    bool wait_on_io_thread(pipeline::Call& call);
    void stop_io();
    void return_scratch(schema::Scratch scratch);

    std::mutex scratch_mutex_;
    std::vector<schema::Scratch> scratch_;

    mutable std::shared_mutex tenants_mutex_;
    std::map<std::string, std::unique_ptr<Registry>, std::less<>> tenants_;
    std::atomic<bool> has_tenants_{false};

    mutable std::mutex observers_mutex_;
    std::shared_ptr<const Observers> observers_;
    std::atomic<bool> audit_wanted_{false};
    std::atomic<bool> telemetry_wanted_{false};
    std::atomic<bool> log_wanted_{false};

    std::mutex waiting_mutex_;
    std::unordered_map<pipeline::Call*, std::weak_ptr<ledger::Waiter>> waiting_;
    std::atomic<bool> closing_{false};

    mutable std::mutex io_mutex_;
    std::shared_ptr<pipeline::IoThread> io_;
};

}  // namespace callgate
