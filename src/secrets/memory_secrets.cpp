#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include <callgate/secrets.h>

#include "base/locked_bytes.h"
#include "secrets/rules.h"

namespace callgate {

using Name = std::pair<std::string, std::string>;

struct MemorySecrets::State {
    mutable std::shared_mutex mutex;
    std::map<Name, base::LockedBytes> values;
};

MemorySecrets::MemorySecrets() : state_(std::make_unique<State>()) {}
MemorySecrets::~MemorySecrets() = default;

Result<void> MemorySecrets::set(std::string_view connector, std::string_view key, std::string_view value) {
    if (auto name = secrets::check_name(connector, key); !name) return name;
    if (auto fit = secrets::check_value(connector, key, value); !fit) return fit;
    base::LockedBytes bytes(value);
    const std::unique_lock lock(state_->mutex);
    Name name(connector, key);
    if (state_->values.size() >= secrets::kMaxSecrets && !state_->values.contains(name))
        return tl::unexpected(secrets::too_many_secrets());
    state_->values.insert_or_assign(std::move(name), std::move(bytes));
    return {};
}

Result<void> MemorySecrets::put(std::string_view connector, std::string_view key, std::string_view value) {
    return set(connector, key, value);
}

void MemorySecrets::remove(std::string_view connector, std::string_view key) {
    const std::unique_lock lock(state_->mutex);
    state_->values.erase(Name(connector, key));
}

Result<Secret> MemorySecrets::load(std::string_view connector, std::string_view key) const {
    const std::shared_lock lock(state_->mutex);
    const auto found = state_->values.find(Name(connector, key));
    if (found != state_->values.end()) return Secret(found->second.view());
    return tl::unexpected(secrets::no_such_secret(connector, key, "put it into the secrets store"));
}

}  // namespace callgate
