// Bytes sealed at rest: nobody without the key reads them, changes them, or moves them to another place.
//
// AES-256-GCM under a key of its own for every record, derived by HKDF-SHA256 from the SealKey and a fresh
// random salt, so that no key is ever used twice and any number of records may be sealed. `purpose` (what
// kind of thing, part of the derivation) and `record` (which one) are authenticated with it: what was sealed
// as one thing cannot be opened as another. docs/formats/sealed.md has the layout.
//
// Threads: a SealKey is immutable; all functions may be called from any thread. They throw only
// std::bad_alloc, std::length_error above kMaxSealedBytes, and std::runtime_error where the crypto library
// itself refuses to work.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <callgate/error.h>

#include "base/locked_bytes.h"
#include "base/rng.h"
#include "base/sha256.h"

namespace callgate::base {

/// 32 secret bytes: in locked memory, wiped when it goes; cannot be copied or printed.
class SealKey {
public:
    static constexpr std::size_t kBytes = 32;

    /// config_error {reason: key_size} if they are not 32.
    static Result<SealKey> from_bytes(std::string_view bytes);
    static Result<SealKey> from_bytes(LockedBytes bytes);
    /// From OpenSSL's generator.
    static SealKey random();

    /// 16 hexadecimal digits that tell keys apart and nothing else about them.
    std::string id() const;

    /// Whether the kernel keeps it off the swap device.
    bool locked() const noexcept { return bytes_.locked(); }

private:
    friend class SealAccess;
    static constexpr std::size_t kIdBytes = 8;

    explicit SealKey(const LockedBytes& key);

    LockedBytes bytes_;
    std::array<char, kIdBytes> id_{};
};

/// By how much a sealed text is longer than the plain one.
inline constexpr std::size_t kSealOverhead = 1 + 8 + 16 + 16;
inline constexpr std::size_t kMaxSealedBytes = std::size_t{1} << 30;

std::string seal(const SealKey& key, std::string_view purpose, std::string_view record,
                 std::string_view plain);
/// The same, where there is an Rng at hand, fit for keys.
std::string seal(const SealKey& key, std::string_view purpose, std::string_view record,
                 std::string_view plain, Rng& rng);

/// config_error {reason}: wrong_key (sealed under another one; {sealed_under, key} are ids), sealed_version
/// (not in a form this version knows), sealed_damaged (too short, changed, or sealed as something else).
Result<std::string> unseal(const SealKey& key, std::string_view purpose, std::string_view record,
                           std::string_view sealed);
/// The same for what must not lie about in ordinary memory.
Result<LockedBytes> unseal_locked(const SealKey& key, std::string_view purpose, std::string_view record,
                                  std::string_view sealed);

/// A name for `text` that only who has the key can compute or check: for finding sealed records without
/// writing down what they are about.
Sha256Digest keyed_hash(const SealKey& key, std::string_view purpose, std::string_view text);

}  // namespace callgate::base
