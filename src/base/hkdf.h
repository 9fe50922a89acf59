// Keys from a key: HMAC (RFC 2104) and HKDF (RFC 5869), both with SHA-256, by the crypto library.
//
// Threads: all functions may be called from any thread. All throw std::runtime_error only where the crypto
// library itself refuses to work.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/sha256.h"

namespace callgate::base {

Sha256Digest hmac_sha256(std::string_view key, std::string_view text);

/// The same for many texts: what depends on the key alone is computed once. One thread at a time.
class HmacSha256 {
public:
    explicit HmacSha256(std::string_view key);
    ~HmacSha256();
    HmacSha256(const HmacSha256&) = delete;
    HmacSha256& operator=(const HmacSha256&) = delete;

    Sha256Digest of(std::string_view text);

private:
    struct Keyed;
    std::unique_ptr<Keyed> keyed_;
};

/// Fills `out`, at most 255 digests' worth (std::length_error), from `key`. Other salts and other infos give
/// keys that tell nothing of each other.
void hkdf_sha256(std::string_view key, std::string_view salt, std::string_view info,
                 std::span<std::uint8_t> out);

}  // namespace callgate::base
