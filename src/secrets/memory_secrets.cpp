#include <map>
#include <string>
#include <utility>

#include <callgate/secrets.h>

#include "base/locked_bytes.h"
#include "base/mutex.h"
#include "base/try.h"
#include "secrets/rules.h"

namespace callgate {

using Name = std::pair<std::string, std::string>;

struct MemorySecrets::State {
    mutable base::SharedMutex mutex;
    std::map<Name, base::LockedBytes> values CALLGATE_GUARDED_BY(mutex);
};

MemorySecrets::MemorySecrets() : state_(std::make_unique<State>()) {}
MemorySecrets::~MemorySecrets() = default;

Result<void> MemorySecrets::set(std::string_view connector, std::string_view key, std::string_view value) {
    CALLGATE_TRY(secrets::check_name(connector, key));
    CALLGATE_TRY(secrets::check_value(connector, key, value));
    base::LockedBytes bytes(value);
    const base::WriterLock lock(state_->mutex);
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
    const base::WriterLock lock(state_->mutex);
    state_->values.erase(Name(connector, key));
}

Result<Secret> MemorySecrets::load(std::string_view connector, std::string_view key) const {
    const base::ReaderLock lock(state_->mutex);
    const auto found = state_->values.find(Name(connector, key));
    if (found != state_->values.end()) return Secret(found->second.view());
    return tl::unexpected(secrets::no_such_secret(connector, key, "put it into the secrets store"));
}

}  // namespace callgate
