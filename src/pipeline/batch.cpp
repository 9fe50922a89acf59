// Several calls at once: bounded, in parallel where their tools allow it, each on its own.

#include <algorithm>
#include <memory>
#include <utility>

#include "base/guard.h"
#include "base/mutex.h"
#include "base/stop_relay.h"
#include "base/try.h"
#include "pipeline/attempt.h"
#include "pipeline/call.h"
#include "pipeline/core.h"
#include "pipeline/inside.h"
#include "pipeline/key.h"

namespace callgate {
namespace {

using pipeline::Call;
using pipeline::Origin;

// Rates and budgets are taken for all calls before the first begins: a batch cannot run half way into a
// limit. A ticket for each call; none at all if nothing limits them.
Result<std::vector<policy::Limiter::Ticket>> reserve(Runtime::Core& core,
                                                     const std::vector<CallRequest>& calls,
                                                     const std::vector<pipeline::SharedContext>& contexts) {
    const auto rules = core.policy.state().current();
    policy::Limiter& limiter = core.policy.state().limiter;
    std::vector<std::shared_ptr<const ToolEntry>> tools;
    std::vector<policy::Limiter::Ask> asks;
    std::vector<std::size_t> asked_by;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        auto tool = core.registry_of(contexts[i]->tenant).understand(calls[i].tool);
        if (!tool) continue;
        const policy::Limiter::Ask ask{tool.get(), contexts[i].get()};
        if (limiter.unlimited(*rules, ask)) continue;
        tools.push_back(std::move(tool));
        asks.push_back(ask);
        asked_by.push_back(i);
    }
    std::vector<policy::Limiter::Ticket> tickets;
    if (asks.empty()) return tickets;
    CALLGATE_TRY_ASSIGN(auto taken, limiter.reserve(*rules, asks, core.clock().monotonic_now()));
    tickets.resize(calls.size());
    for (std::size_t i = 0; i < asked_by.size(); ++i) tickets[asked_by[i]] = std::move(taken[i]);
    return tickets;
}

Error too_large(std::size_t limit) {
    return {ErrorCode::budget_exceeded,
            "A batch has at most " + std::to_string(limit) + " calls.",
            {{"reason", "batch_too_large"}, {"limit", limit}}};
}

bool has_own_key(const CallRequest& call) {
    return call.context || !call.idempotency_key.empty();
}

// One key cannot stand for several calls. And the calls' progress may come on several threads at once: each
// has a copy of the function, so that none is called by two of them at the same time.
pipeline::SharedContext for_one_of_many(const pipeline::SharedContext& shared, std::size_t number) {
    if (shared->idempotency_key.empty() && !shared->on_progress) return shared;
    Context own = *shared;
    if (!own.idempotency_key.empty()) own.idempotency_key += "#" + std::to_string(number);
    return pipeline::share(std::move(own));
}

std::vector<pipeline::SharedContext> contexts_of(const std::vector<CallRequest>& calls,
                                                 const pipeline::SharedContext& shared) {
    std::vector<pipeline::SharedContext> contexts;
    contexts.reserve(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
        if (has_own_key(calls[i])) {
            Context own = *shared;
            pipeline::use_context_of(calls[i], own);
            contexts.push_back(pipeline::share(std::move(own)));
        } else if (calls.size() > 1 || CALLGATE_GUARD(batch_suffix)) {
            contexts.push_back(for_one_of_many(shared, i));
        } else {
            contexts.push_back(shared);
        }
    }
    return contexts;
}

// The calls of a batch that are still to begin. Who drains the runtime waits for them, or they come too late.
class ToBegin {
public:
    ToBegin(Runtime::Core& core, std::size_t count) : core_(core), left_(count) {
        core_.expect_calls(left_);  // before it is looked: who drains sees them, or is seen
        taken_ = core_.ending() == Runtime::Core::Ending::no;
        if (!taken_) came(left_);
    }
    ~ToBegin() { came(left_); }
    ToBegin(const ToBegin&) = delete;
    ToBegin& operator=(const ToBegin&) = delete;

    bool taken() const noexcept { return taken_; }
    /// One is counted with the others now.
    void began() {
        if (taken_) came(1);
    }

private:
    void came(std::size_t count) {
        if (count == 0) return;
        left_ -= count;
        core_.expected_came(count);
    }

    Runtime::Core& core_;
    std::size_t left_;
    bool taken_ = false;
};

// The calls of a batch, checked as a whole; each is then made ready in its turn.
class BatchCalls {
public:
    BatchCalls(Runtime::Core& core, std::vector<CallRequest> calls, Context context)
        : calls_(std::move(calls)),
          shared_(pipeline::share(std::move(context))),
          contexts_(contexts_of(calls_, shared_)),
          to_begin_(core, calls_.size()) {
        if (calls_.size() > core.options.max_batch) {
            refused_ = too_large(core.options.max_batch);
        } else if (auto reserved = reserve(core, calls_, contexts_)) {
            tickets_ = std::move(*reserved);
        } else {
            refused_ = std::move(reserved.error());
        }
    }

    std::size_t size() const noexcept { return calls_.size(); }

    /// Once for each place.
    std::shared_ptr<Call> make(Runtime::Core& core, std::size_t place) {
        const auto call = core.make_call();
        CallRequest& asked = calls_[place];
        call->outcome.tool = std::move(asked.tool);
        call->outcome.action = std::move(asked.action);
        pipeline::CallSpec& request = call->request;
        request.arguments = std::move(asked.arguments);
        request.timeout = asked.timeout;
        request.taken = to_begin_.taken();
        request.context = std::move(contexts_[place]);
        if (!shared_->idempotency_key.empty() && !has_own_key(asked)) {
            Origin& from = request.from();
            if (auto why = pipeline::key_fault(shared_->idempotency_key)) from.refused = std::move(why);
            from.key_as_it_is = true;
            if (calls_.size() == 1) from.plain_key = shared_->idempotency_key;
        }
        if (!tickets_.empty()) request.from().ticket = std::move(tickets_[place]);
        if (refused_) request.from().refused = refused_;
        return call;
    }
    /// What was made.
    void start(const std::shared_ptr<Call>& call, Call::Reports reports) {
        Call::start(call, std::move(reports));
        to_begin_.began();
    }

private:
    std::vector<CallRequest> calls_;
    pipeline::SharedContext shared_;
    std::vector<pipeline::SharedContext> contexts_;
    std::optional<Error> refused_;
    std::vector<policy::Limiter::Ticket> tickets_;
    ToBegin to_begin_;
};

struct BatchProgress {
    base::Mutex mutex;
    base::CondVar changed;
    std::size_t running CALLGATE_GUARDED_BY(mutex) = 0;

    void begin() {
        const base::MutexLock lock(mutex);
        ++running;
    }
    void end() {
        // The last one may end the batch, and with it this object, as soon as the lock is free.
        const base::MutexLock lock(mutex);
        --running;
        changed.notify_all();
    }
};

// Blocks until fewer than `limit` run; on the io thread, which the calls may need, it does that thread's
// other work meanwhile.
void wait_until_fewer(Runtime::Core& core, BatchProgress& progress, std::size_t limit) {
    const auto look = [&] {
        const base::MutexLock lock(progress.mutex);
        return progress.running < limit;
    };
    if (look() || core.work_on_io_thread(look)) return;
    const pipeline::WorkerPool::Waiting waiting;
    base::MutexLock lock(progress.mutex);
    while (progress.running >= limit) progress.changed.wait(lock);
}

// A batch that nobody waits for: each call that ends begins the next one.
class BatchAlone final : public std::enable_shared_from_this<BatchAlone> {
public:
    BatchAlone(std::shared_ptr<Runtime::Core> core, std::vector<CallRequest> calls, Context context,
               std::function<void(std::vector<Outcome>)> done, Executor executor, const std::stop_token& also)
        : core_(std::move(core)),
          calls_(*core_, std::move(calls), with_signal(std::move(context), also)),
          limit_(std::max<std::size_t>(1, core_->options.batch_concurrency)),
          done_(std::move(done)),
          executor_(std::move(executor)),
          outcomes_(calls_.size()) {
        // Those that begin later, on other threads, are calls of the same body.
        if (pipeline::inside::body != nullptr && pipeline::inside::body->core() == core_) {
            parent_.emplace();
            pipeline::inside::body->adopt(*parent_);
            parent_alive_ = pipeline::inside::body->call_for_later();
        }
    }

    /// Begins as many as may run. One thread at a time does, so that calls that end at once do not nest.
    void begin_some(bool in_start = false) {
        {
            base::MutexLock lock(mutex_);
            if (beginning_) return;
            beginning_ = true;
            while (next_ < outcomes_.size() && running_ < limit_) {
                ++running_;
                const std::size_t place = next_++;
                lock.unlock();
                begin(place);
                lock.lock();
            }
            beginning_ = false;
            if (running_ != 0 || next_ < outcomes_.size() || std::exchange(reported_, true)) return;
        }
        report(in_start);
    }

private:
    Context with_signal(Context context, const std::stop_token& also) {
        if (!also.stop_possible()) return context;
        relay_ = std::make_shared<base::StopRelay>();
        relay_->follow(context.cancel);
        relay_->follow(also);
        context.cancel = relay_->token();
        return context;
    }

    void begin(std::size_t place) {
        const pipeline::Inside no_body(nullptr, pipeline::inside::lent);
        const auto call = calls_.make(*core_, place);
        if (parent_) become_child(call->request.from());
        Call::Reports reports;
        reports.whose = Call::CodeIs::ours;
        reports.done = [self = shared_from_this(), place](Call& over) {
            self->ended(place, over.take_outcome());
        };
        calls_.start(call, std::move(reports));
    }

    void become_child(Origin& from) const {
        const auto parent = parent_alive_.lock();
        from.parent = parent_->parent;
        from.depth = parent_->depth;
        from.secrets = parent_->secrets;
        if (parent == nullptr || parent->has_ended()) {
            from.refused = Error(ErrorCode::cancelled, "The call that asked for this one has ended.");
            return;
        }
        from.held_resources = parent_->held_resources;
        from.held_places = parent_->held_places;
    }

    void ended(std::size_t place, Outcome outcome) {
        {
            const base::MutexLock lock(mutex_);
            outcomes_[place] = std::move(outcome);
            --running_;
        }
        begin_some();
    }

    void report(bool in_start) {
        if (!done_) return;
        auto work = [done = std::move(done_), outcomes = std::move(outcomes_)] { done(outcomes); };
        if (executor_) {
            core_->run_on(executor_, std::move(work));
        } else if (in_start) {
            core_->notify(std::move(work));
        } else {
            core_->notify_elsewhere(std::move(work));
        }
    }

    const std::shared_ptr<Runtime::Core> core_;
    std::shared_ptr<base::StopRelay> relay_;
    BatchCalls calls_;
    const std::size_t limit_;
    std::function<void(std::vector<Outcome>)> done_;
    Executor executor_;
    std::optional<Origin> parent_;
    std::weak_ptr<Call> parent_alive_;
    base::Mutex mutex_;
    std::vector<Outcome> outcomes_;  // each written by the one who ends that call
    std::size_t next_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::size_t running_ CALLGATE_GUARDED_BY(mutex_) = 0;
    bool beginning_ CALLGATE_GUARDED_BY(mutex_) = false;
    bool reported_ CALLGATE_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::vector<Outcome> Runtime::Core::run_batch(std::vector<CallRequest> calls, Context context) {
    BatchCalls batch(*this, std::move(calls), std::move(context));
    std::vector<Outcome> outcomes(batch.size());
    BatchProgress progress;
    const pipeline::LentThread blocked(*this);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        wait_until_fewer(*this, progress, options.batch_concurrency);
        progress.begin();
        const auto call = batch.make(*this, i);
        if (blocked.was_last()) call->request.from().keeps_lent_thread = true;
        Call::Reports reports;
        reports.whose = Call::CodeIs::ours;
        reports.done = [&outcome = outcomes[i], &progress](Call& ended) {
            outcome = ended.take_outcome();
            const auto core = ended.core;
            progress.end();
            core->wake_io();
        };
        batch.start(call, std::move(reports));
    }
    wait_until_fewer(*this, progress, 1);
    return outcomes;
}

void Runtime::Core::start_batch(std::vector<CallRequest> calls, Context context,
                                std::function<void(std::vector<Outcome>)> done, Executor executor,
                                const std::stop_token& also) {
    std::make_shared<BatchAlone>(shared_from_this(), std::move(calls), std::move(context), std::move(done),
                                 std::move(executor), also)
        ->begin_some(true);
}

}  // namespace callgate
