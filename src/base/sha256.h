// SHA-256, whole or piece by piece.
//
// Threads: sha256() may be called from any thread; a Sha256 belongs to one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace callgate::base {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// Throws std::runtime_error only where the crypto library itself refuses to work.
class Sha256 {
public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;

    Sha256& update(std::string_view bytes);
    /// The digest of all bytes since the start or the last finish(); the object is then ready for the next.
    Sha256Digest finish();

private:
    struct Context;
    std::unique_ptr<Context> context_;
};

Sha256Digest sha256(std::string_view bytes);
/// 64 lower-case digits.
std::string to_hex(const Sha256Digest& digest);
std::string sha256_hex(std::string_view bytes);

}  // namespace callgate::base
