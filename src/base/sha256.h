// SHA-256, whole or piece by piece.
//
// Threads: sha256() may be called from any thread; a Sha256 belongs to one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace callgate::base {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// The crypto library's own state, held here: what every call hashes many times takes no memory and looks up
/// no algorithm (decision 11). A copy goes on from where the original is. Wiped when it goes.
class Sha256 {
public:
    Sha256() noexcept;
    ~Sha256();
    Sha256(const Sha256&) noexcept = default;
    Sha256& operator=(const Sha256&) noexcept = default;

    Sha256& update(std::string_view bytes) noexcept;
    /// The digest of all bytes since the start or the last finish(); the object is then ready for the next.
    Sha256Digest finish() noexcept;

private:
    struct State {
        alignas(std::uint64_t) std::array<std::byte, 112> bytes;
    } state_;
};

Sha256Digest sha256(std::string_view bytes) noexcept;
/// 64 lower-case digits.
std::string to_hex(const Sha256Digest& digest);
std::string sha256_hex(std::string_view bytes);

}  // namespace callgate::base
