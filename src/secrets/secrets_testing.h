// What the tests of secrets share: short ways to ask a store, and to see why it refused.
#pragma once

#include <string>
#include <string_view>

#include <callgate/result.h>
#include <callgate/secrets.h>

namespace callgate {

/// A store that could be asked what it holds.
template <class T>
concept Listable = requires(const T& store) { store.begin(); } || requires(const T& store) {
    store.list();
} || requires(const T& store) { store.keys(); } || requires(const T& store) { store.size(); };

/// "none" where there is none.
inline std::string value_of(const SecretsStore& store, std::string_view connector, std::string_view key) {
    std::string out = "none";
    (void)store.with_secret(connector, key, [&](const Secret& secret) { out = secret.expose(); });
    return out;
}

/// "fine" of a success.
template <class T>
std::string reason_of(const Result<T>& result) {
    return result ? "fine" : std::string(result.error().details.at("reason").as_string());
}

}  // namespace callgate
