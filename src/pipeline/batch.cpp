// Several calls at once: bounded, in parallel where their tools allow it, each on its own.

#include "base/guard.h"
#include "base/mutex.h"
#include "base/try.h"
#include "pipeline/call.h"
#include "pipeline/core.h"
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
            contexts.push_back(pipeline::share(pipeline::context_of(calls[i], *shared)));
        } else if (calls.size() > 1 || CALLGATE_GUARD(batch_suffix)) {
            contexts.push_back(for_one_of_many(shared, i));
        } else {
            contexts.push_back(shared);
        }
    }
    return contexts;
}

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

}  // namespace

std::vector<Outcome> Runtime::Core::run_batch(std::vector<CallRequest> calls, Context context) {
    const pipeline::SharedContext shared = pipeline::share(std::move(context));
    std::vector<pipeline::SharedContext> contexts = contexts_of(calls, shared);
    std::optional<Error> refused;
    std::vector<policy::Limiter::Ticket> tickets;
    if (calls.size() > options.max_batch) {
        refused = too_large(options.max_batch);
    } else if (auto reserved = reserve(*this, calls, contexts)) {
        tickets = std::move(*reserved);
    } else {
        refused = std::move(reserved.error());
    }

    std::vector<Outcome> outcomes(calls.size());
    BatchProgress progress;
    const pipeline::LentThread blocked(*this);
    for (std::size_t i = 0; i < calls.size(); ++i) {
        wait_until_fewer(*this, progress, options.batch_concurrency);
        progress.begin();
        const auto call = make_call();
        call->outcome.tool = std::move(calls[i].tool);
        call->outcome.action = std::move(calls[i].action);
        pipeline::CallSpec& request = call->request;
        request.arguments = std::move(calls[i].arguments);
        request.timeout = calls[i].timeout;
        request.context = std::move(contexts[i]);
        if (!shared->idempotency_key.empty() && !has_own_key(calls[i])) {
            Origin& from = request.from();
            if (auto why = pipeline::key_fault(shared->idempotency_key)) from.refused = std::move(why);
            from.key_as_it_is = true;
            if (calls.size() == 1) from.plain_key = shared->idempotency_key;
        }
        if (!tickets.empty()) request.from().ticket = std::move(tickets[i]);
        if (refused) request.from().refused = refused;
        if (blocked.was_last()) request.from().keeps_lent_thread = true;
        Call::start(
            call,
            [&outcome = outcomes[i], &progress](Call& ended) {
                outcome = ended.take_outcome();
                const auto core = ended.core;
                progress.end();
                core->wake_io();
            },
            Call::DoneIs::ours);
    }
    wait_until_fewer(*this, progress, 1);
    return outcomes;
}

}  // namespace callgate
