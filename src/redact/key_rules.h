// Which member names announce a secret.
//
// A name is cut into segments at everything that is no letter or digit and at camelCase borders; segments
// match whole words, singular or plural, in any case: `auth`, `secret_value`, `accessToken`, `X-Api-Key`
// announce a secret; `author`, `monkey`, `keyboard`, `max_tokens` do not. `key` counts only as the last
// segment, and not in names such as `idempotency_key` or `public_key`.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace callgate::redact {

enum class KeyKind : std::uint8_t {
    plain,
    sensitive,
    quantity,  ///< sensitive, but a number under it is an amount: `prompt_tokens`, `password_count`
};

[[gnu::hot]] KeyKind classify_key(std::string_view name);
/// The same without the quick look that spares most names the rest: what the quick look is tested against.
KeyKind classify_key_in_full(std::string_view name);

}  // namespace callgate::redact
