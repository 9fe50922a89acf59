#include <callgate/policy.h>

#include <stdexcept>
#include <utility>

#include "base/try.h"
#include "policy/memory.h"

namespace callgate {

std::string_view to_string(Gate gate) noexcept {
    switch (gate) {
        case Gate::allow: return "allow";
        case Gate::preview: return "preview";
        case Gate::confirm: return "confirm";
        case Gate::deny: break;
    }
    return "deny";
}

Policy::State::State() {
    if (const auto made = replace(PolicyConfig()); !made) throw std::logic_error(made.error().message);
}

std::shared_ptr<const policy::Compiled> Policy::State::current() const {
    const base::MutexLock lock(mutex_);
    return current_;
}

Result<void> Policy::State::replace(const PolicyConfig& config) {
    // Compiled under a revision that is ours only if nobody was faster; then again.
    for (;;) {
        const std::uint64_t before = revision();
        CALLGATE_TRY_ASSIGN(auto next, policy::Compiled::make(config, before + 1));
        std::shared_ptr<const policy::Compiled> old;
        const base::MutexLock lock(mutex_);
        if (revision() != before) continue;
        old = std::exchange(current_, std::move(next));
        revision_.store(before + 1, std::memory_order_release);
        return {};
    }
}

base::WallTime Policy::State::wall_now() const noexcept {
    return clock != nullptr ? clock->wall_now() : base::SystemClock().wall_now();
}

base::MonotonicTime Policy::State::monotonic_now() const noexcept {
    return clock != nullptr ? clock->monotonic_now() : base::SystemClock().monotonic_now();
}

Policy::Policy() : state_(std::make_unique<State>()) {}
Policy::~Policy() = default;

Result<void> Policy::set(const PolicyConfig& config) {
    return state_->replace(config);
}

PolicyConfig Policy::get() const {
    return state_->current()->config();
}

std::uint64_t Policy::revision() const noexcept {
    return state_->revision();
}

Result<std::string> Policy::add_grant(Grant grant) {
    if (grant.granted_by.empty()) grant.granted_by = kLocalPrincipal;
    return state_->grants.add(std::move(grant), state_->wall_now());
}

bool Policy::revoke_grant(std::string_view id) {
    return state_->grants.revoke(id);
}

std::vector<Grant> Policy::grants() const {
    return state_->grants.list(state_->wall_now());
}

}  // namespace callgate
