#include "tool/registry_listeners.h"

#include <utility>
#include <vector>

namespace callgate {

class RegistryListeners::Subscription {
public:
    Subscription(std::weak_ptr<RegistryListeners> listeners, std::uint64_t id)
        : listeners_(std::move(listeners)), id_(id) {}
    ~Subscription() {
        if (const auto listeners = listeners_.lock()) listeners->remove(id_);
    }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

private:
    std::weak_ptr<RegistryListeners> listeners_;
    std::uint64_t id_;
};

std::shared_ptr<void> RegistryListeners::subscribe(Registry::Listener listener) {
    auto shared = std::make_shared<const Registry::Listener>(std::move(listener));
    std::uint64_t id = 0;
    {
        const base::MutexLock lock(mutex_);
        id = ++last_;
        all_.emplace(id, std::move(shared));
    }
    return std::make_shared<Subscription>(weak_from_this(), id);
}

void RegistryListeners::remove(std::uint64_t id) {
    std::shared_ptr<const Registry::Listener> gone;  // destroyed outside the lock
    const base::MutexLock lock(mutex_);
    if (const auto found = all_.find(id); found != all_.end()) {
        gone = std::move(found->second);
        all_.erase(found);
    }
}

void RegistryListeners::tell(const RegistryChange& change) const {
    std::vector<std::shared_ptr<const Registry::Listener>> now;
    {
        const base::MutexLock lock(mutex_);
        for (const auto& [id, listener] : all_) now.push_back(listener);
    }
    for (const auto& listener : now) {
        try {
            (*listener)(change);
            // The change is made; a listener cannot undo it.
        } catch (...) {  // NOLINT(bugprone-empty-catch)
        }
    }
}

}  // namespace callgate
