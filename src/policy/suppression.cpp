#include <algorithm>
#include <deque>
#include <list>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"
#include "base/sha256.h"
#include "json/pointer.h"
#include "policy/memory.h"

namespace callgate::policy {

namespace {

using base::MonotonicTime;
using std::chrono::milliseconds;

constexpr std::size_t kMostTargets = 20'000;
constexpr std::size_t kMostTenants = 1'024;
constexpr std::chrono::hours kHour{1};

// Rounded up: whoever waits that long is let through.
milliseconds wait_until(MonotonicTime then, MonotonicTime now) {
    return std::max(milliseconds(1), std::chrono::ceil<milliseconds>(then - now));
}

bool may_flap(const Compiled& policy, const Question& question) noexcept {
    return policy.config().antiflap.count() > 0 && question.effect != EffectClass::read &&
           question.tool.target().has_value();
}

bool notifies(const Compiled& policy, const Question& question) noexcept {
    return question.tool.notifies() && policy.config().notifications_per_hour > 0;
}

// Of fixed size, since a target may be as long as a message. A call that names no target acts on the tool's
// usual one, which is a target like any other.
std::string flap_key(const Question& question) {
    const Value* target = json::find(question.arguments, *question.tool.target());
    Array key{question.caller.tenant, question.tool.name(), question.action};
    if (target != nullptr) key.emplace_back(*target);
    const base::Sha256Digest digest = base::sha256(json::canonical(key));
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

struct Suppression::State {
    struct Done {
        std::string key;
        MonotonicTime at;
    };
    struct Tenant {
        std::deque<MonotonicTime> notified;  // oldest first
        std::list<std::string>::iterator place;
    };

    base::Mutex mutex;
    std::list<Done> done CALLGATE_GUARDED_BY(mutex);  // oldest first
    std::unordered_map<std::string, std::list<Done>::iterator> done_by_key CALLGATE_GUARDED_BY(mutex);
    std::list<std::string> tenant_order CALLGATE_GUARDED_BY(mutex);  // least recently notified first
    std::unordered_map<std::string, Tenant> tenants CALLGATE_GUARDED_BY(mutex);

    std::optional<Block> flap_block(const Compiled& policy, const Question& question, const std::string& key,
                                    MonotonicTime now) const CALLGATE_REQUIRES(mutex) {
        const auto found = done_by_key.find(key);
        if (found == done_by_key.end()) return {};
        const MonotonicTime over = found->second->at + policy.config().antiflap;
        if (now >= over) return {};
        const milliseconds wait = wait_until(over, now);
        return Block{
            "antiflap",
            fmt::format("'{}' did the same to this target a moment ago; if it is really meant, call again in "
                        "{} ms.",
                        question.tool.name(), wait.count()),
            wait};
    }

    std::optional<Block> storm_block(const Compiled& policy, const Question& question,
                                     MonotonicTime now) const CALLGATE_REQUIRES(mutex) {
        const auto found = tenants.find(question.caller.tenant);
        if (found == tenants.end()) return {};
        const std::deque<MonotonicTime>& notified = found->second.notified;
        const std::size_t allowed = policy.config().notifications_per_hour;
        if (notified.size() < allowed) return {};
        // The one that has to grow an hour old before another may go.
        const MonotonicTime over = notified[notified.size() - allowed] + kHour;
        if (now >= over) return {};
        const milliseconds wait = wait_until(over, now);
        return Block{
            "storm",
            fmt::format(
                "{} notifications went out in the last hour, which is the limit; '{}' may send the next "
                "one in {} s.",
                allowed, question.tool.name(), std::chrono::ceil<std::chrono::seconds>(wait).count()),
            wait};
    }

    void note_flap(const Compiled& policy, std::string key, MonotonicTime now) CALLGATE_REQUIRES(mutex) {
        const auto forget_oldest = [this]() CALLGATE_REQUIRES(mutex) {
            done_by_key.erase(done.front().key);
            done.pop_front();
        };
        if (const auto known = done_by_key.find(key); known != done_by_key.end()) {
            known->second->at = now;
            done.splice(done.end(), done, known->second);
        } else {
            done.push_back({key, now});
            done_by_key.emplace(std::move(key), std::prev(done.end()));
        }
        while (done.size() > kMostTargets || now >= done.front().at + policy.config().antiflap)
            forget_oldest();
    }

    void note_notification(const Compiled& policy, const std::string& tenant, MonotonicTime now)
        CALLGATE_REQUIRES(mutex) {
        auto found = tenants.find(tenant);
        if (found == tenants.end()) {
            if (tenants.size() >= kMostTenants) {
                tenants.erase(tenant_order.front());
                tenant_order.pop_front();
            }
            tenant_order.push_back(tenant);
            found = tenants.emplace(tenant, Tenant{{}, std::prev(tenant_order.end())}).first;
        } else {
            tenant_order.splice(tenant_order.end(), tenant_order, found->second.place);
        }
        std::deque<MonotonicTime>& notified = found->second.notified;
        notified.push_back(now);
        while (notified.size() > policy.config().notifications_per_hour || now >= notified.front() + kHour) {
            notified.pop_front();
        }
    }
};

Suppression::Suppression() : state_(std::make_unique<State>()) {}
Suppression::~Suppression() = default;

bool Suppression::concerns(const Compiled& policy, const Question& question) {
    return may_flap(policy, question) || notifies(policy, question);
}

std::optional<Suppression::Block> Suppression::admit(const Compiled& policy, const Question& question,
                                                     MonotonicTime now) {
    const bool flap = may_flap(policy, question);
    const bool storm = notifies(policy, question);
    if (!flap && !storm) return {};
    std::string key = flap ? flap_key(question) : std::string();
    const base::MutexLock lock(state_->mutex);
    if (flap) {
        if (auto block = state_->flap_block(policy, question, key, now)) return block;
    }
    if (storm) {
        if (auto block = state_->storm_block(policy, question, now)) return block;
    }
    if (flap) state_->note_flap(policy, std::move(key), now);
    if (storm) state_->note_notification(policy, question.caller.tenant, now);
    return {};
}

std::optional<Suppression::Block> Suppression::would_block(const Compiled& policy, const Question& question,
                                                           MonotonicTime now) const {
    const bool flap = may_flap(policy, question);
    const bool storm = notifies(policy, question);
    const std::string key = flap ? flap_key(question) : std::string();
    const base::MutexLock lock(state_->mutex);
    std::optional<Block> block;
    if (flap) block = state_->flap_block(policy, question, key, now);
    if (!block && storm) block = state_->storm_block(policy, question, now);
    return block;
}

}  // namespace callgate::policy
