#include "pipeline/core.h"

#include <algorithm>

#include "pipeline/call.h"
#include "policy/memory.h"

namespace callgate {
namespace {

pipeline::WorkerPool::Options pool_options(const RuntimeOptions& options) {
    pipeline::WorkerPool::Options pool;
    pool.threads = options.pool_threads != 0
                       ? options.pool_threads
                       : std::max<std::size_t>(4, 2 * std::thread::hardware_concurrency());
    pool.max_threads = pool.threads + options.max_abandoned + 256;
    return pool;
}

}  // namespace

Runtime::Core::Core(RuntimeOptions the_options, pipeline::Parts the_parts)
    : options(std::move(the_options)),
      parts(std::move(the_parts)),
      ids(*parts.clock, *parts.rng),
      owner(parts.ledger->register_owner()),
      pool(pool_options(options)),
      hash_seed(parts.rng->next_u64()) {
    policy.state().clock = parts.clock.get();
    for (auto& observer : options.observers) observe(observer);
}

Runtime::Core::~Core() {
    parts.ledger->owner_gone(owner);
}

Registry& Runtime::Core::registry_of(std::string_view tenant) {
    if (!has_tenants_.load(std::memory_order_acquire)) return registry;
    const std::shared_lock lock(tenants_mutex_);
    const auto found = tenants_.find(tenant);
    return found == tenants_.end() ? registry : *found->second;
}

Registry& Runtime::Core::make_registry(std::string_view tenant) {
    if (tenant.empty()) return registry;
    const std::unique_lock lock(tenants_mutex_);
    auto& made = tenants_[std::string(tenant)];
    if (!made) {
        Registry::Options of_tenant;
        of_tenant.name = std::string(tenant);
        made = std::make_unique<Registry>(of_tenant);
        has_tenants_.store(true, std::memory_order_release);
    }
    return *made;
}

std::shared_ptr<pipeline::Call> Runtime::Core::make_call(pipeline::Request request) {
    return std::make_shared<pipeline::Call>(shared_from_this(), std::move(request));
}

Outcome Runtime::Core::run(pipeline::Request request) {
    return make_call(std::move(request))->run_to_end();
}

void Runtime::Core::wait_for(pipeline::Call& call) {
    if (wait_on_io_thread(call)) return;
    const pipeline::WorkerPool::Waiting waiting(pool);
    call.wait();
}

Runtime::Core::ScratchLoan Runtime::Core::scratch() {
    {
        const std::lock_guard lock(scratch_mutex_);
        if (!scratch_.empty()) {
            schema::Scratch last = std::move(scratch_.back());
            scratch_.pop_back();
            return {*this, std::move(last)};
        }
    }
    return {*this, schema::Scratch()};
}

void Runtime::Core::return_scratch(schema::Scratch scratch) {
    constexpr std::size_t kKept = 64;
    const std::lock_guard lock(scratch_mutex_);
    if (scratch_.size() < kKept) scratch_.push_back(std::move(scratch));
}

std::shared_ptr<const Runtime::Core::Observers> Runtime::Core::observers() const {
    if (!audit_wanted() && !telemetry_wanted() && !log_wanted()) return nullptr;
    const std::lock_guard lock(observers_mutex_);
    return observers_;
}

void Runtime::Core::observe(std::shared_ptr<Observer> observer) {
    if (!observer) return;
    const std::lock_guard lock(observers_mutex_);
    auto next = observers_ ? std::make_shared<Observers>(*observers_) : std::make_shared<Observers>();
    if (observer->wants_audit()) audit_wanted_ = true;
    if (observer->wants_telemetry()) telemetry_wanted_ = true;
    if (observer->wants_log()) log_wanted_ = true;
    next->push_back(std::move(observer));
    observers_ = std::move(next);
}

void Runtime::Core::waiting(pipeline::Call& call) {
    const std::lock_guard lock(waiting_mutex_);
    waiting_.emplace(&call, call.weak_from_this());
}

void Runtime::Core::not_waiting(pipeline::Call& call) {
    const std::lock_guard lock(waiting_mutex_);
    waiting_.erase(&call);
}

void Runtime::Core::close() {
    closing_.store(true, std::memory_order_release);
    std::vector<std::shared_ptr<ledger::Waiter>> running;
    {
        const std::lock_guard lock(waiting_mutex_);
        for (const auto& [call, weak] : waiting_) {
            if (auto alive = weak.lock()) running.push_back(std::move(alive));
        }
    }
    for (const auto& call : running) static_cast<pipeline::Call&>(*call).cancel();
    running.clear();
    pool.close(options.shutdown_grace);
    stop_io();
}

}  // namespace callgate
