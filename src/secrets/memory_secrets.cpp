#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <callgate/json.h>
#include <callgate/secrets.h>

#include "base/cleansing.h"
#include "redact/secret_set.h"

namespace callgate {
namespace {

constexpr std::size_t kMaxSecrets = 10'000;
constexpr std::size_t kMaxNameBytes = 255;

using Name = std::pair<std::string, std::string>;

/// Neither message nor details may ever say the value; its length is as far as they go.
tl::unexpected<Error> refused(std::string_view reason, std::string message) {
    Object details;
    details.emplace("reason", reason);
    return fail(ErrorCode::invalid_arguments, std::move(message), std::move(details));
}

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxNameBytes;
}

}  // namespace

struct MemorySecrets::State {
    mutable std::shared_mutex mutex;
    std::map<Name, base::SecretBytes> values;
};

MemorySecrets::MemorySecrets() : state_(std::make_unique<State>()) {}
MemorySecrets::~MemorySecrets() = default;

Result<void> MemorySecrets::set(std::string_view connector, std::string_view key, std::string_view value) {
    using redact::SecretSet;
    if (!is_name(connector) || !is_name(key)) {
        return refused("bad_name", fmt::format("A secret needs a connector and a key of 1 to {} bytes each.",
                                               kMaxNameBytes));
    }
    if (value.size() < SecretSet::kMinBytes) {
        return refused(
            "secret_too_short",
            fmt::format("The secret '{}' of connector '{}' has fewer than {} bytes and could not be masked "
                        "without shredding other text; use a longer one.",
                        key, connector, SecretSet::kMinBytes));
    }
    if (value.size() > SecretSet::kMaxBytes) {
        return refused("secret_too_long",
                       fmt::format("The secret '{}' of connector '{}' has more than {} bytes.", key,
                                   connector, SecretSet::kMaxBytes));
    }
    auto bytes = base::to_secret(value);
    const std::unique_lock lock(state_->mutex);
    Name name(connector, key);
    if (state_->values.size() >= kMaxSecrets && !state_->values.contains(name)) {
        return refused("too_many_secrets", fmt::format("No more than {} secrets are kept.", kMaxSecrets));
    }
    state_->values.insert_or_assign(std::move(name), std::move(bytes));
    return {};
}

void MemorySecrets::remove(std::string_view connector, std::string_view key) {
    const std::unique_lock lock(state_->mutex);
    state_->values.erase(Name(connector, key));
}

Result<Secret> MemorySecrets::load(std::string_view connector, std::string_view key) const {
    const std::shared_lock lock(state_->mutex);
    const auto found = state_->values.find(Name(connector, key));
    if (found != state_->values.end()) return Secret(base::view(found->second));
    Object details;
    details.emplace("reason", "no_such_secret");
    details.emplace("connector", connector);
    details.emplace("key", key);
    return fail(ErrorCode::config_error,
                fmt::format("There is no secret '{}' for connector '{}'; put it into the secrets store.", key,
                            connector),
                std::move(details));
}

}  // namespace callgate
