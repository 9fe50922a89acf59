#include "secrets/rules.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include <callgate/json.h>

#include "redact/secret_set.h"

namespace callgate::secrets {
namespace {

using redact::SecretSet;

Error refused(std::string_view reason, std::string message) {
    return Error(ErrorCode::invalid_arguments, std::move(message), {{"reason", reason}});
}

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxNameBytes;
}

}  // namespace

Result<void> check_name(std::string_view connector, std::string_view key) {
    if (is_name(connector) && is_name(key)) return {};
    return tl::unexpected(
        refused("bad_name",
                fmt::format("A secret needs a connector and a key of 1 to {} bytes each.", kMaxNameBytes)));
}

Result<void> check_value(std::string_view connector, std::string_view key, std::string_view value) {
    if (value.size() < SecretSet::kMinBytes)
        return tl::unexpected(refused(
            "secret_too_short",
            fmt::format("The secret '{}' of connector '{}' has fewer than {} bytes and could not be masked "
                        "without shredding other text; use a longer one.",
                        key, connector, SecretSet::kMinBytes)));
    if (value.size() > SecretSet::kMaxBytes)
        return tl::unexpected(refused(
            "secret_too_long", fmt::format("The secret '{}' of connector '{}' has more than {} bytes.", key,
                                           connector, SecretSet::kMaxBytes)));
    return {};
}

Error too_many_secrets() {
    return refused("too_many_secrets", fmt::format("No more than {} secrets are kept.", kMaxSecrets));
}

Error no_such_secret(std::string_view connector, std::string_view key, std::string_view advice) {
    return Error(ErrorCode::config_error,
                 fmt::format("There is no secret '{}' for connector '{}'; {}.", key, connector, advice),
                 {{"reason", "no_such_secret"}, {"connector", connector}, {"key", key}});
}

bool is_no_such_secret(const Error& error) {
    const boost::json::value* const reason = error.details.if_contains("reason");
    return reason != nullptr && *reason == "no_such_secret";
}

}  // namespace callgate::secrets
