#include <optional>
#include <utility>

#include <callgate/secret_stores.h>

#include "secrets/rules.h"

namespace callgate {
namespace {

bool only_reads(const Error& error) {
    const boost::json::value* const reason = error.details.if_contains("reason");
    return reason != nullptr && *reason == "read_only_store";
}

}  // namespace

SecretsChain::SecretsChain(std::vector<std::shared_ptr<SecretsStore>> stores) : stores_(std::move(stores)) {
    std::erase(stores_, nullptr);
}

Result<void> SecretsChain::put(std::string_view connector, std::string_view key, std::string_view value) {
    for (const auto& store : stores_) {
        auto kept = store->put(connector, key, value);
        if (kept || !only_reads(kept.error())) return kept;
    }
    return SecretsStore::put(connector, key, value);
}

Result<Secret> SecretsChain::load(std::string_view connector, std::string_view key) const {
    Error last = secrets::no_such_secret(connector, key, "there is no store that could have it");
    for (const auto& store : stores_) {
        std::optional<Secret> found;
        auto used =
            store->with_secret(connector, key, [&](const Secret& secret) { found.emplace(secret.expose()); });
        if (found) return std::move(*found);
        if (!used && !secrets::is_no_such_secret(used.error()))
            return tl::unexpected(std::move(used.error()));
        if (!used) last = std::move(used.error());
    }
    return tl::unexpected(std::move(last));
}

}  // namespace callgate
