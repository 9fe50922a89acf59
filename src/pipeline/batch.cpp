// Several calls at once: bounded, in parallel where their tools allow it, each on its own.
#include <condition_variable>
#include <mutex>

#include "pipeline/call.h"
#include "pipeline/core.h"

namespace callgate {
namespace {

using pipeline::Call;
using pipeline::Request;

// Rates and budgets are taken for all calls before the first begins: a batch cannot run half way into a
// limit.
std::optional<Error> reserve(Runtime::Core& core, std::vector<Request>& requests) {
    const auto rules = core.policy.state().current();
    std::vector<std::shared_ptr<const ToolEntry>> tools;
    std::vector<policy::Limiter::Ask> asks;
    std::vector<std::size_t> asked_by;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        auto tool = core.registry_of(requests[i].context.tenant).find(requests[i].tool);
        if (!tool) continue;
        const policy::Limiter::Ask ask{tool.get(), &requests[i].context};
        if (core.policy.state().limiter.unlimited(*rules, ask)) continue;
        tools.push_back(std::move(tool));
        asks.push_back(ask);
        asked_by.push_back(i);
    }
    if (asks.empty()) return std::nullopt;
    auto tickets = core.policy.state().limiter.reserve(*rules, asks, core.clock().monotonic_now());
    if (!tickets) return std::move(tickets.error());
    for (std::size_t i = 0; i < asked_by.size(); ++i) requests[asked_by[i]].ticket = std::move((*tickets)[i]);
    return std::nullopt;
}

struct BatchProgress {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t running = 0;
};

}  // namespace

std::vector<Outcome> Runtime::Core::run_batch(std::vector<CallRequest> calls, Context context) {
    std::vector<Request> requests(calls.size());
    const bool too_many = calls.size() > options.max_batch;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        requests[i].tool = std::move(calls[i].tool);
        requests[i].action = std::move(calls[i].action);
        requests[i].arguments = std::move(calls[i].arguments);
        requests[i].timeout = calls[i].timeout;
        requests[i].context = context;
        // One key cannot stand for several calls.
        if (calls.size() > 1 && !context.idempotency_key.empty()) {
            requests[i].context.idempotency_key += "#" + std::to_string(i);
        }
        if (too_many) {
            requests[i].refused =
                Error(ErrorCode::budget_exceeded,
                      "A batch has at most " + std::to_string(options.max_batch) + " calls.",
                      {{"reason", "batch_too_large"}, {"limit", options.max_batch}});
        }
    }
    if (!too_many) {
        if (const auto error = reserve(*this, requests)) {
            for (Request& request : requests) request.refused = *error;
        }
    }

    std::vector<Outcome> outcomes(requests.size());
    BatchProgress progress;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        {
            std::unique_lock lock(progress.mutex);
            if (progress.running >= options.batch_concurrency) {
                const pipeline::WorkerPool::Waiting waiting(pool);
                progress.changed.wait(lock, [&] { return progress.running < options.batch_concurrency; });
            }
            ++progress.running;
        }
        const auto call = make_call();
        call->request = std::move(requests[i]);
        call->start([&outcome = outcomes[i], &progress](Call& ended) {
            outcome = Outcome(ended.told);
            // The last one may end the batch, and with it `progress`, as soon as the lock is free.
            const std::lock_guard lock(progress.mutex);
            --progress.running;
            progress.changed.notify_all();
        });
    }
    std::unique_lock lock(progress.mutex);
    if (progress.running > 0) {
        const pipeline::WorkerPool::Waiting waiting(pool);
        progress.changed.wait(lock, [&] { return progress.running == 0; });
    }
    return outcomes;
}

}  // namespace callgate
