// What may be a secret, the same for every store: names of 1 to 255 bytes, values long enough to be masked.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include <callgate/error.h>

namespace callgate::secrets {

inline constexpr std::size_t kMaxSecrets = 10'000;
inline constexpr std::size_t kMaxNameBytes = 255;

/// invalid_arguments {reason: bad_name}.
Result<void> check_name(std::string_view connector, std::string_view key);

/// invalid_arguments {reason: secret_too_short, secret_too_long}. Says how long a value may be, nothing of
/// it.
Result<void> check_value(std::string_view connector, std::string_view key, std::string_view value);

/// invalid_arguments {reason: too_many_secrets}.
Error too_many_secrets();

/// config_error {reason: no_such_secret, connector, key}; `advice` says what to do about it.
Error no_such_secret(std::string_view connector, std::string_view key, std::string_view advice);

bool is_no_such_secret(const Error& error);

}  // namespace callgate::secrets
