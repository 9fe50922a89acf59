#include "base/hkdf.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <openssl/crypto.h>

namespace callgate::base {
namespace {

constexpr std::size_t kBlock = 64;  // of SHA-256
constexpr char kInner = 0x36;
constexpr char kOuter = 0x5c;

std::string_view view(const Sha256Digest& digest) noexcept {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

struct WipedDigest {
    ~WipedDigest() { OPENSSL_cleanse(value.data(), value.size()); }
    Sha256Digest value{};
};

/// The key as a block of its own: filled up with zeros, or its digest where it is longer.
class KeyBlock {
public:
    explicit KeyBlock(std::string_view key) noexcept {
        WipedDigest digest;
        if (key.size() > kBlock) {
            digest.value = sha256(key);
            key = view(digest.value);
        }
        std::ranges::copy(key, bytes_.begin());
    }
    ~KeyBlock() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
    KeyBlock(const KeyBlock&) = delete;
    KeyBlock& operator=(const KeyBlock&) = delete;

    void begin(Sha256& hash, char pad) noexcept {
        for (char& byte : bytes_) byte = static_cast<char>(byte ^ pad);
        hash.update({bytes_.data(), bytes_.size()});
        for (char& byte : bytes_) byte = static_cast<char>(byte ^ pad);
    }

private:
    std::array<char, kBlock> bytes_{};
};

}  // namespace

HmacSha256::HmacSha256(std::string_view key) noexcept {
    KeyBlock block(key);
    block.begin(inner_, kInner);
    block.begin(outer_, kOuter);
}

Sha256Digest HmacSha256::of(std::initializer_list<std::string_view> texts) const noexcept {
    Sha256 inner = inner_;
    for (const std::string_view text : texts) inner.update(text);
    Sha256 outer = outer_;
    return outer.update(view(inner.finish())).finish();
}

Sha256Digest hmac_sha256(std::string_view key, std::string_view text) noexcept {
    return HmacSha256(key).of(text);
}

void hkdf_sha256(std::string_view key, std::string_view salt, std::string_view info,
                 std::span<std::uint8_t> out) {
    if (out.size() > 255 * Sha256Digest().size()) throw std::length_error("HKDF gives at most 255 digests");
    WipedDigest extracted;
    extracted.value = hmac_sha256(salt, key);
    const HmacSha256 hmac(view(extracted.value));
    WipedDigest block;
    for (std::uint8_t number = 1; !out.empty(); ++number) {
        const std::string_view before = number > 1 ? view(block.value) : std::string_view();
        const char last = static_cast<char>(number);
        block.value = hmac.of({before, info, {&last, 1}});
        const std::size_t take = std::min(out.size(), block.value.size());
        std::copy_n(block.value.begin(), take, out.begin());
        out = out.subspan(take);
    }
}

}  // namespace callgate::base
