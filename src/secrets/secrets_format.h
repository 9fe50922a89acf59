// The form of an encrypted secrets file (docs/formats/secrets.md): a head, sealed records, a sealed end.
//
// Names are sealed like values; a record is found by its slot, which only who has the key can compute from
// the names. The end seals the digest of everything before it, so records cannot be removed, doubled, mixed
// with older ones or moved between files.
//
// Threads: plain values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/seal.h"

namespace callgate::secrets {

inline constexpr std::size_t kMaxFileBytes = 64u << 20;

using Slot = std::array<std::uint8_t, 16>;

/// Where the secret of this name is found in a file under this key.
Slot slot_of(const base::SealKey& key, std::string_view connector, std::string_view name);

/// One version of one secret, still sealed.
struct SealedRecord {
    Slot slot{};
    std::uint32_t version = 0;  ///< from 1; of one slot, the highest is the current one
    std::string sealed;
};

/// What is inside a record. The names belong to it so that a file can be sealed again under another key.
struct OpenRecord {
    std::string connector;
    std::string key;
    base::WallTime set_at{};
    std::string_view value;  ///< in `memory`

    base::LockedBytes memory;
};

/// A file's content.
struct SecretsImage {
    std::uint64_t changes = 0;          ///< how often the file was written
    std::vector<SealedRecord> records;  ///< by slot, then version, no two with the same of both
};

SealedRecord seal_record(const base::SealKey& key, std::string_view connector, std::string_view name,
                         std::uint32_t version, base::WallTime set_at, std::string_view value);

/// config_error {reason: secrets_damaged}.
Result<OpenRecord> open_record(const base::SealKey& key, const SealedRecord& record);

/// The head alone, which is other after every write.
inline constexpr std::size_t kHeadBytes = 16 + 4 + 8 + 16 + 8 + 4;

/// The whole file. `image.records` may be in any order.
std::string write_image(const base::SealKey& key, base::Rng& rng, const SecretsImage& image);

/// config_error {reason}: not_a_secrets_file, secrets_version (a newer form), wrong_key {sealed_under, key},
/// secrets_damaged. No record has been opened yet, but none can be other than it was written.
Result<SecretsImage> read_image(const base::SealKey& key, std::string_view bytes);

}  // namespace callgate::secrets
