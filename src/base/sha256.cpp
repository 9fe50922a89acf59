#include "base/sha256.h"

#include <type_traits>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/encoding.h"

namespace callgate::base {
namespace {

// Threads may hash and sign until the process is gone, so the library must not free its tables as main()
// returns. This has no effect where the library was in use before.
[[maybe_unused]] const int kStaysUntilTheEnd = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);

template <class State>
SHA256_CTX* raw(State& state) noexcept {
    static_assert(sizeof(State) == sizeof(SHA256_CTX) && alignof(State) >= alignof(SHA256_CTX));
    static_assert(std::is_trivially_copyable_v<SHA256_CTX>);
    return reinterpret_cast<SHA256_CTX*>(&state);
}

}  // namespace

// OpenSSL advises to fetch the algorithm by its name instead, which costs more than hashing what we hash.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

Sha256::Sha256() noexcept {
    SHA256_Init(raw(state_));
}

Sha256::~Sha256() {
    OPENSSL_cleanse(&state_, sizeof(state_));
}

Sha256& Sha256::update(std::string_view bytes) noexcept {
    SHA256_Update(raw(state_), bytes.data(), bytes.size());
    return *this;
}

Sha256Digest Sha256::finish() noexcept {
    Sha256Digest out;
    SHA256_Final(out.data(), raw(state_));
    SHA256_Init(raw(state_));
    return out;
}

#pragma GCC diagnostic pop

Sha256Digest sha256(std::string_view bytes) noexcept {
    return Sha256().update(bytes).finish();
}

std::string to_hex(const Sha256Digest& digest) {
    return hex_encode(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

std::string sha256_hex(std::string_view bytes) {
    return to_hex(sha256(bytes));
}

}  // namespace callgate::base
