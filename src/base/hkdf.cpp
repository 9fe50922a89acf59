#include "base/hkdf.h"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

namespace callgate::base {
namespace {

void require(bool ok) {
    if (!ok) throw std::runtime_error("HMAC with SHA-256 is not available from the crypto library");
}

struct FreeContext {
    void operator()(EVP_MAC_CTX* context) const noexcept { EVP_MAC_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MAC_CTX, FreeContext>;

Context make_pattern() {
    EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
    require(mac != nullptr);
    Context context(EVP_MAC_CTX_new(mac));
    EVP_MAC_free(mac);
    require(context != nullptr);
    std::array<char, 7> digest{"SHA256"};
    const std::array<OSSL_PARAM, 2> parameters{
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
        OSSL_PARAM_construct_end()};
    require(EVP_MAC_CTX_set_params(context.get(), parameters.data()) == 1);
    return context;
}

/// One after the other under different keys.
class Hmac {
public:
    Hmac() {
        // Looked up in the library once; never freed, since threads may run until the process is gone.
        static const EVP_MAC_CTX* const pattern = make_pattern().release();
        context_.reset(EVP_MAC_CTX_dup(pattern));
        require(context_ != nullptr);
    }

    Hmac& start(std::string_view key) {
        // An empty key is one of zeros; the library would take it for "the one before".
        static constexpr std::array<char, 32> kZeros{};
        if (key.empty()) key = {kZeros.data(), kZeros.size()};
        require(EVP_MAC_init(context_.get(), bytes(key), key.size(), nullptr) == 1);
        return *this;
    }

    /// Under the key of before.
    Hmac& start_again() {
        require(EVP_MAC_init(context_.get(), nullptr, 0, nullptr) == 1);
        return *this;
    }

    Hmac& update(std::string_view text) {
        require(EVP_MAC_update(context_.get(), bytes(text), text.size()) == 1);
        return *this;
    }

    void finish(Sha256Digest& out) {
        std::size_t size = 0;
        require(EVP_MAC_final(context_.get(), out.data(), &size, out.size()) == 1 && size == out.size());
    }

private:
    static const unsigned char* bytes(std::string_view text) {
        return reinterpret_cast<const unsigned char*>(text.data());
    }

    Context context_;
};

std::string_view view(const Sha256Digest& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

struct WipedDigest {
    ~WipedDigest() { OPENSSL_cleanse(value.data(), value.size()); }
    Sha256Digest value{};
};

}  // namespace

Sha256Digest hmac_sha256(std::string_view key, std::string_view text) {
    Sha256Digest out;
    Hmac().start(key).update(text).finish(out);
    return out;
}

struct HmacSha256::Keyed {
    Hmac hmac;
};

HmacSha256::HmacSha256(std::string_view key) : keyed_(std::make_unique<Keyed>()) {
    keyed_->hmac.start(key);
}

HmacSha256::~HmacSha256() = default;

Sha256Digest HmacSha256::of(std::string_view text) {
    Sha256Digest out;
    keyed_->hmac.start_again().update(text).finish(out);
    return out;
}

void hkdf_sha256(std::string_view key, std::string_view salt, std::string_view info,
                 std::span<std::uint8_t> out) {
    if (out.size() > 255 * Sha256Digest().size()) throw std::length_error("HKDF gives at most 255 digests");
    Hmac hmac;
    WipedDigest extracted;
    hmac.start(salt).update(key).finish(extracted.value);
    WipedDigest block;
    for (std::uint8_t number = 1; !out.empty(); ++number) {
        hmac.start(view(extracted.value));
        if (number > 1) hmac.update(view(block.value));
        const char last = static_cast<char>(number);
        hmac.update(info).update({&last, 1}).finish(block.value);
        const std::size_t take = std::min(out.size(), block.value.size());
        std::copy_n(block.value.begin(), take, out.begin());
        out = out.subspan(take);
    }
}

}  // namespace callgate::base
