#include "base/sha256.h"

#include <stdexcept>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/encoding.h"

namespace callgate::base {
namespace {

// Threads may hash and sign until the process is gone: where it was not in use before, the library is told not
// to take itself apart as main() returns.
[[maybe_unused]] const int kStaysUntilTheEnd = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);

void require(bool ok) {
    if (!ok) {
        throw std::runtime_error("SHA-256 is not available from the crypto library");
    }
}

}  // namespace

struct Sha256::Context {
    Context() : handle(EVP_MD_CTX_new()) {
        // Looked up in the library once; never freed, since threads may run until the process is gone.
        static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
        require(handle != nullptr && algorithm != nullptr &&
                EVP_DigestInit_ex2(handle, algorithm, nullptr) == 1);
    }
    ~Context() { EVP_MD_CTX_free(handle); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    EVP_MD_CTX* handle;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::update(std::string_view bytes) {
    require(EVP_DigestUpdate(context_->handle, bytes.data(), bytes.size()) == 1);
    return *this;
}

Sha256Digest Sha256::finish() {
    Sha256Digest out;
    require(EVP_DigestFinal_ex(context_->handle, out.data(), nullptr) == 1);
    // Without naming the algorithm again the library keeps what it has looked up.
    require(EVP_DigestInit_ex(context_->handle, nullptr, nullptr) == 1);
    return out;
}

Sha256Digest sha256(std::string_view bytes) {
    return Sha256().update(bytes).finish();
}

std::string to_hex(const Sha256Digest& digest) {
    return hex_encode(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

std::string sha256_hex(std::string_view bytes) {
    return to_hex(sha256(bytes));
}

}  // namespace callgate::base
