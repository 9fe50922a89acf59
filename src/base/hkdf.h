// Keys from a key: HMAC (RFC 2104) and HKDF (RFC 5869), both with SHA-256, by the crypto library.
//
// Threads: all functions may be called from any thread. They throw std::runtime_error only where the crypto
// library itself refuses to work.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/sha256.h"

namespace callgate::base {

Sha256Digest hmac_sha256(std::string_view key, std::string_view text);

/// Fills `out`, at most 255 digests' worth (std::length_error), from `key`. Other salts and other infos give
/// keys that tell nothing of each other.
void hkdf_sha256(std::string_view key, std::string_view salt, std::string_view info,
                 std::span<std::uint8_t> out);

}  // namespace callgate::base
