#include "ledger/audit/signing_key.h"

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/encoding.h"
#include "base/locked_bytes.h"
#include "base/sha256.h"

namespace callgate::ledger {
namespace {

constexpr std::string_view kPrivatePrefix = "PRIVATE+KEY+";
constexpr char kEd25519 = 1;  // the algorithm's number in signed notes
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kMaxName = 128;

using KeyHandle = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using DigestHandle = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

std::string_view view_of_key(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void require(bool ok) {
    if (!ok) throw std::runtime_error("Ed25519 is not available from the crypto library");
}

std::uint32_t key_id(std::string_view name, std::string_view key) {
    const auto hash =
        base::Sha256().update(name).update("\n").update(std::string_view(&kEd25519, 1)).update(key).finish();
    return std::uint32_t{hash[0]} << 24 | std::uint32_t{hash[1]} << 16 | std::uint32_t{hash[2]} << 8 |
           hash[3];
}

/// name+id+base64(algorithm || key), taken apart.
struct KeyText {
    std::string_view name;
    std::string_view id;
    std::string key;  // with the algorithm's byte
};

std::optional<KeyText> take_apart(std::string_view text) {
    const std::size_t first = text.find('+');
    if (first == std::string_view::npos) return std::nullopt;
    const std::size_t second = text.find('+', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    auto key = base::base64_decode(text.substr(second + 1));
    if (!key || key->size() != kKeyBytes + 1 || key->front() != kEd25519) return std::nullopt;
    return KeyText{text.substr(0, first), text.substr(first + 1, second - first - 1), std::move(*key)};
}

std::string put_together(std::string_view name, std::uint32_t id, std::string_view key) {
    std::string bytes;
    bytes.reserve(1 + key.size());
    bytes += kEd25519;
    bytes += key;
    std::string encoded = base::base64_encode(bytes);
    OPENSSL_cleanse(bytes.data(), bytes.size());
    std::string text;
    text.reserve(name.size() + 16 + encoded.size());
    text.append(name).append(fmt::format("+{:08x}+", id)).append(encoded);
    OPENSSL_cleanse(encoded.data(), encoded.size());
    return text;
}

tl::unexpected<Error> bad_key(std::string_view what, std::string_view form) {
    return fail(ErrorCode::invalid_arguments,
                fmt::format("This is not {}: it must be one line of the form {}.", what, form),
                {{"reason", "bad_key"}});
}

}  // namespace

struct VerifyingKey::Handle {
    KeyHandle key;
};

/// The seed alone, where no core dump and no swap device gets it: what the crypto library makes of it lives
/// in the usual heap, so it is made for each signature and wiped after it.
struct SigningKey::Secret {
    base::LockedBytes seed;

    KeyHandle key() const {
        KeyHandle made(
            EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(seed.view()), seed.size()),
            EVP_PKEY_free);
        require(made != nullptr);
        return made;
    }
};

bool is_key_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= kMaxName &&
           std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~' && c != '+'; });
}

VerifyingKey::VerifyingKey(std::string name, const Bytes& key)
    : name_(std::move(name)), key_(key), id_(key_id(name_, view_of_key(key_))) {
    KeyHandle handle(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key_.data(), key_.size()),
                     EVP_PKEY_free);
    if (handle) handle_ = std::make_shared<Handle>(std::move(handle));
}

Result<VerifyingKey> VerifyingKey::parse(std::string_view vkey) {
    const auto parts = take_apart(vkey);
    if (parts && is_key_name(parts->name)) {
        Bytes bytes{};
        std::transform(parts->key.begin() + 1, parts->key.end(), bytes.begin(),
                       [](char c) { return static_cast<std::uint8_t>(c); });
        VerifyingKey key{std::string(parts->name), bytes};
        if (key.vkey() == vkey) return key;
    }
    return bad_key("a public key of the audit", "name+1234abcd+AbCd…, as `callgate audit key` prints it");
}

std::string VerifyingKey::vkey() const {
    return put_together(name_, id_, view_of_key(key_));
}

bool VerifyingKey::verifies(std::string_view text, const Signature& signature) const {
    if (!handle_) return false;
    const DigestHandle context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    require(context &&
            EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, handle_->key.get()) == 1);
    return EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes_of(text), text.size()) ==
           1;
}

SigningKey::SigningKey(std::shared_ptr<const Secret> secret, VerifyingKey key)
    : secret_(std::move(secret)), public_(std::move(key)) {}

SigningKey SigningKey::from_seed(std::string name, std::string_view seed) {
    auto secret = std::make_shared<Secret>(Secret{base::LockedBytes(seed)});
    VerifyingKey::Bytes key{};
    std::size_t size = key.size();
    require(EVP_PKEY_get_raw_public_key(secret->key().get(), key.data(), &size) == 1 && size == key.size());
    return {std::move(secret), VerifyingKey(std::move(name), key)};
}

SigningKey SigningKey::generate(std::string name, base::Rng& rng) {
    if (!is_key_name(name)) throw std::invalid_argument("this is no key name");
    std::array<std::uint8_t, kKeyBytes> seed{};
    rng.fill(std::as_writable_bytes(std::span(seed)));
    SigningKey key = from_seed(std::move(name), view_of_key(seed));
    OPENSSL_cleanse(seed.data(), seed.size());
    return key;
}

Result<SigningKey> SigningKey::parse(std::string_view private_text) {
    constexpr std::string_view kForm = "PRIVATE+KEY+name+1234abcd+AbCd…";
    if (private_text.starts_with(kPrivatePrefix)) {
        auto parts = take_apart(private_text.substr(kPrivatePrefix.size()));
        if (parts && is_key_name(parts->name)) {
            SigningKey key = from_seed(std::string(parts->name), std::string_view(parts->key).substr(1));
            OPENSSL_cleanse(parts->key.data(), parts->key.size());
            if (fmt::format("{:08x}", key.public_.id()) == parts->id) return key;
        }
    }
    return bad_key("a private key of the audit", kForm);
}

Signature SigningKey::sign(std::string_view text) const {
    const DigestHandle context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    const KeyHandle key = secret_->key();
    Signature signature{};
    std::size_t size = signature.size();
    require(context && EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1);
    require(EVP_DigestSign(context.get(), signature.data(), &size, bytes_of(text), text.size()) == 1 &&
            size == signature.size());
    return signature;
}

std::string SigningKey::private_text() const {
    std::string rest = put_together(public_.name(), public_.id(), secret_->seed.view());
    std::string text(kPrivatePrefix);
    text.reserve(text.size() + rest.size() + 1);  // no copy is left behind where it grows by a line's end
    text += rest;
    OPENSSL_cleanse(rest.data(), rest.size());
    return text;
}

}  // namespace callgate::ledger
