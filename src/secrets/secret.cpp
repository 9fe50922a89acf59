#include <callgate/secrets.h>

#include <utility>

#include "base/cleansing.h"

namespace callgate {

struct Secret::Bytes {
    base::SecretBytes value;
};

Secret::Secret(std::string_view value) : bytes_(std::make_unique<Bytes>(Bytes{base::to_secret(value)})) {}
Secret::~Secret() = default;
Secret::Secret(Secret&&) noexcept = default;
Secret& Secret::operator=(Secret&&) noexcept = default;

std::string_view Secret::expose() const noexcept {
    return bytes_ ? base::view(bytes_->value) : std::string_view();
}

std::size_t Secret::size() const noexcept {
    return expose().size();
}

Result<void> SecretsStore::with_secret(std::string_view connector, std::string_view key,
                                       const std::function<void(const Secret&)>& use) const {
    const Result<Secret> secret = load(connector, key);
    if (!secret) return tl::unexpected(secret.error());
    use(*secret);
    return {};
}

}  // namespace callgate
