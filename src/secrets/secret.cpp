#include <callgate/secrets.h>

#include <utility>

#include <fmt/format.h>

#include "base/locked_bytes.h"
#include "base/try.h"

namespace callgate {

struct Secret::Bytes {
    base::LockedBytes value;
};

Secret::Secret(std::string_view value) : bytes_(std::make_unique<Bytes>(Bytes{base::LockedBytes(value)})) {}
Secret::~Secret() = default;
Secret::Secret(Secret&&) noexcept = default;
Secret& Secret::operator=(Secret&&) noexcept = default;

std::string_view Secret::expose() const noexcept {
    return bytes_ ? bytes_->value.view() : std::string_view();
}

std::size_t Secret::size() const noexcept {
    return expose().size();
}

Result<void> SecretsStore::with_secret(std::string_view connector, std::string_view key,
                                       const std::function<void(const Secret&)>& use) const {
    CALLGATE_TRY_ASSIGN(const auto secret, load(connector, key));
    use(secret);
    return {};
}

Result<void> SecretsStore::put(std::string_view connector, std::string_view key, std::string_view) {
    return fail(ErrorCode::config_error,
                fmt::format("The secret '{}' of connector '{}' cannot be kept: this store only reads values "
                            "that come from elsewhere.",
                            key, connector),
                {{"reason", "read_only_store"}, {"connector", connector}, {"key", key}});
}

}  // namespace callgate
