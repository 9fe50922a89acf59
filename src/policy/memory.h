// What the policy remembers between calls: what was done a moment ago (anti-flap), notifications of the last
// hour (storm), grants and their remaining uses, limits in use, resources held, and runs that repeat
// themselves.
//
// Everything here is bounded: old entries go first, and a flood of keys cannot grow it without end.
//
// Threads: may be used from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>
#include <callgate/policy.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "policy/decide.h"

namespace callgate::policy {

/// Anti-flap (the same tool, action and target again too soon; not for reads, nor for tools without a target)
/// and storm (too many calls of tools with the capability "notification" in an hour). Both count per tenant.
/// Replays of a key do not come here.
class Suppression {
public:
    Suppression();
    ~Suppression();

    struct Block {
        std::string_view kind;  ///< "antiflap" or "storm"
        std::string message;
        std::chrono::milliseconds wait{0};
    };
    /// Whether either of the two looks at calls like this one; if not, admit() need not be asked. Cheap.
    [[gnu::hot]] static bool concerns(const Compiled& policy, const Question& question);
    /// Nothing if the call may go on; it is then noted as done in the same step. A call that is blocked
    /// counts for nothing.
    std::optional<Block> admit(const Compiled& policy, const Question& question, base::MonotonicTime now);
    /// What admit would say, without noting anything.
    std::optional<Block> would_block(const Compiled& policy, const Question& question,
                                     base::MonotonicTime now) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Concurrency, rate and budget, per tool (its contract's limits and the policy's), per principal and per
/// run. A tool is one subject for all tenants; principals and runs belong to their tenant. Per-run limits
/// need a run id.
class Limiter {
public:
    Limiter();
    ~Limiter();

    /// What a call holds while it runs; concurrency is given back when it goes, rate and budget stay used. A
    /// reserved ticket that goes without enter() gives its budget back: its call never ran. May outlive the
    /// limiter.
    class Ticket {
    public:
        Ticket() = default;
        bool held() const noexcept { return state_ != nullptr; }
        /// In a queue for its places: not yet to run.
        bool waits() const;
        /// What it has a place of: for Ask::held of the calls that are made from inside.
        std::vector<std::string> places() const;

    private:
        friend class Limiter;
        struct Held;
        struct Release {
            void operator()(Held* held) const noexcept;
        };
        std::unique_ptr<Held, Release> state_;
    };

    struct Ask {
        const ToolEntry* tool;
        const Context* caller;
        /// Of the calls it is made from. They wait for it, so that it runs in their places of limits that
        /// queue: it could wait for those for ever.
        const std::vector<std::string>* held = nullptr;
    };
    /// Called once, from any thread and outside all locks, when a ticket that waits() no longer does. It
    /// should only wake or schedule the call and must not throw.
    using Ready = std::function<void()>;
    /// True when nothing limits this call, so that it needs no ticket. Cheap.
    [[gnu::hot]] bool unlimited(const Compiled& policy, const Ask& ask) const noexcept;
    /// rate_limited {reason, retry_after_ms, limit, subject} or budget_exceeded {reason, limit, subject}:
    /// nothing is taken then. `reason` is calls, concurrent, per_run or too_many_subjects. Where all places
    /// are taken and the limits on them queue, the ticket waits(): rate and budget are taken, and the places
    /// come in the order of asking. Dropping it leaves the queue.
    Result<Ticket> take(const Compiled& policy, const Ask& ask, base::MonotonicTime now, Ready ready = {});
    /// For a batch: every call's rate and budget at once, or none. Concurrency is not reserved (a batch
    /// larger than it runs in turns): use enter() when each begins. A batch larger than a limit can ever let
    /// through at once is refused with retryable false.
    Result<std::vector<Ticket>> reserve(const Compiled& policy, std::span<const Ask> asks,
                                        base::MonotonicTime now);
    /// Adds the concurrency part to a reserved ticket, which may wait for it; once is enough.
    Result<void> enter(const Compiled& policy, const Ask& ask, Ticket& ticket, Ready ready = {});

private:
    struct State;
    std::shared_ptr<State> state_;
};

/// Calls that name the same resource run one after the other, first come first served. Each one waiting is a
/// call in flight, so their number is bounded by what the runtime lets in.
class ResourceQueue {
public:
    ResourceQueue();
    ~ResourceQueue();

    class Hold {
    public:
        Hold() = default;
        bool held() const noexcept { return slot_ != nullptr; }

    private:
        friend class ResourceQueue;
        struct Slot;  // gives the resource on when it goes
        std::shared_ptr<Slot> slot_;
    };
    /// The resource, or nothing: then `ready` is called once, from any thread, when it is this caller's turn;
    /// calling acquire() again with the same `ticket` then succeeds. `ready` should only wake or schedule the
    /// call and must not throw. Whoever holds the resource already gets it again under the same ticket; it is
    /// free when all holds are gone. Dropping interest: forget(ticket), which a caller whose turn has come
    /// owes the others too.
    std::optional<Hold> acquire(const std::string& resource, std::uint64_t ticket,
                                std::function<void()> ready);
    void forget(const std::string& resource, std::uint64_t ticket);

private:
    struct State;
    std::shared_ptr<State> state_;
};

/// The same call with the same result, again and again in one run; also in turn with others that bring
/// nothing new either. Remembers the last 32 different calls of a run.
class LoopDetector {
public:
    LoopDetector();
    ~LoopDetector();

    /// True: this call has had the same result `limit` times, with nothing new in between. `limit` 0 and a
    /// run without a name are never looping.
    bool looping(std::string_view run, std::uint64_t call_hash, std::uint32_t limit) const;
    /// What came of it. Another result, or another call with a new result, starts the count at zero.
    void ended(std::string_view run, std::uint64_t call_hash, std::uint64_t result_hash);

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Grants in force. A grant never covers the calls of the one who gave it.
class Grants {
public:
    Grants();
    ~Grants();
    /// Its id. config_error {reason: bad_grant | too_many}; denied {reason: self_approval}.
    Result<std::string> add(Grant grant, base::WallTime now);
    bool revoke(std::string_view id);
    std::vector<Grant> list(base::WallTime now) const;  ///< with the uses that are left
    /// The id of a grant that covers the call.
    std::optional<std::string> covers(const Question& question) const;
    /// Uses it once. False: spent or expired in the meantime.
    bool use(std::string_view id, base::WallTime now);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace callgate::policy

namespace callgate {

struct Policy::State {
    State();

    std::shared_ptr<const policy::Compiled> current() const;
    /// Compiles the configuration as the next revision and puts it in place, or changes nothing.
    Result<void> replace(const PolicyConfig& config);
    std::uint64_t revision() const noexcept { return revision_.load(std::memory_order_acquire); }

    policy::Suppression suppression;
    policy::Limiter limiter;
    policy::ResourceQueue resources;
    policy::LoopDetector loops;
    policy::Grants grants;
    const base::Clock* clock = nullptr;  ///< for grants' expiry; the system's if null
    base::WallTime wall_now() const noexcept;
    base::MonotonicTime monotonic_now() const noexcept;

private:
    mutable base::Mutex mutex_;
    std::shared_ptr<const policy::Compiled> current_ CALLGATE_GUARDED_BY(mutex_);
    std::atomic<std::uint64_t> revision_{0};
};

}  // namespace callgate
