// Who wants to know what happens to a registry.
//
// Threads: may be used from any thread; listeners are called outside all locks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include <callgate/registry.h>

#include "base/mutex.h"

namespace callgate {

class RegistryListeners : public std::enable_shared_from_this<RegistryListeners> {
public:
    /// Unsubscribes it when the handle goes, which may outlive this.
    std::shared_ptr<void> subscribe(Registry::Listener listener);
    void tell(const RegistryChange& change) const;

private:
    class Subscription;
    void remove(std::uint64_t id);

    mutable base::Mutex mutex_;
    std::uint64_t last_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::map<std::uint64_t, std::shared_ptr<const Registry::Listener>> all_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate
