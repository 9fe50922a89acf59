// Keys from a key: HMAC (RFC 2104) and HKDF (RFC 5869), both with SHA-256.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/sha256.h"

namespace callgate::base {

Sha256Digest hmac_sha256(std::string_view key, std::string_view text) noexcept;

/// The same for many texts: what depends on the key alone is computed once. of() may be called from any
/// thread.
class HmacSha256 {
public:
    explicit HmacSha256(std::string_view key) noexcept;

    Sha256Digest of(std::string_view text) const noexcept { return of({text}); }
    /// Of all of them, one after the other.
    Sha256Digest of(std::initializer_list<std::string_view> texts) const noexcept;

private:
    Sha256 inner_;  // both have hashed their half of the key
    Sha256 outer_;
};

/// Fills `out`, at most 255 digests' worth (std::length_error), from `key`. Other salts and other infos give
/// keys that tell nothing of each other.
void hkdf_sha256(std::string_view key, std::string_view salt, std::string_view info,
                 std::span<std::uint8_t> out);

}  // namespace callgate::base
