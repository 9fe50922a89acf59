#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "policy/memory.h"

namespace callgate::policy {

struct ResourceQueue::State {
    struct Waiter {
        std::uint64_t ticket;
        std::function<void()> ready;
    };
    // In the map while somebody holds it, was offered it, or waits for it.
    struct Resource {
        std::weak_ptr<Hold::Slot> slot;
        std::optional<std::uint64_t> owner;  // who holds it, or whose turn it is
        bool offered = false;                // their turn, but they have not come yet
        std::deque<Waiter> waiting;
    };

    base::Mutex mutex;
    std::unordered_map<std::string, Resource> resources CALLGATE_GUARDED_BY(mutex);

    // The next in the queue gets the turn. The caller runs what is returned, without the lock.
    std::function<void()> pass_on(std::unordered_map<std::string, Resource>::iterator at)
        CALLGATE_REQUIRES(mutex) {
        Resource& resource = at->second;
        if (resource.waiting.empty()) {
            resources.erase(at);
            return {};
        }
        Waiter next = std::move(resource.waiting.front());
        resource.waiting.pop_front();
        resource.owner = next.ticket;
        resource.offered = true;
        resource.slot.reset();
        return std::move(next.ready);
    }
};

struct ResourceQueue::Hold::Slot {
    std::shared_ptr<ResourceQueue::State> owner;
    std::string resource;

    Slot(std::shared_ptr<ResourceQueue::State> queue, std::string name)
        : owner(std::move(queue)), resource(std::move(name)) {}
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    ~Slot() {
        std::function<void()> ready;
        {
            const base::MutexLock lock(owner->mutex);
            ready = owner->pass_on(owner->resources.find(resource));
        }
        if (ready) ready();
    }
};

ResourceQueue::ResourceQueue() : state_(std::make_shared<State>()) {}
ResourceQueue::~ResourceQueue() = default;

std::optional<ResourceQueue::Hold> ResourceQueue::acquire(const std::string& resource, std::uint64_t ticket,
                                                          std::function<void()> ready) {
    const base::MutexLock lock(state_->mutex);
    const auto [at, fresh] = state_->resources.try_emplace(resource);
    State::Resource& found = at->second;
    Hold hold;
    if (fresh || (found.offered && found.owner == ticket)) {
        hold.slot_ = std::make_shared<Hold::Slot>(state_, resource);
        found.slot = hold.slot_;
        found.owner = ticket;
        found.offered = false;
        return hold;
    }
    if (found.owner == ticket) {
        // Null if the last hold is being released at this moment: then the others come first.
        hold.slot_ = found.slot.lock();
        if (hold.slot_) return hold;
    }
    const auto queued = std::ranges::find(found.waiting, ticket, &State::Waiter::ticket);
    if (queued != found.waiting.end()) {
        queued->ready = std::move(ready);
    } else {
        found.waiting.push_back({ticket, std::move(ready)});
    }
    return {};
}

void ResourceQueue::forget(const std::string& resource, std::uint64_t ticket) {
    std::function<void()> ready;
    {
        const base::MutexLock lock(state_->mutex);
        const auto at = state_->resources.find(resource);
        if (at == state_->resources.end()) return;
        State::Resource& found = at->second;
        std::erase_if(found.waiting, [&](const State::Waiter& waiter) { return waiter.ticket == ticket; });
        if (found.offered && found.owner == ticket) ready = state_->pass_on(at);
    }
    if (ready) ready();
}

}  // namespace callgate::policy
