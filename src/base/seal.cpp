#include "base/seal.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/encoding.h"
#include "base/hkdf.h"
#include "base/thread_role.h"
#include "base/try.h"

namespace callgate::base {

/// The one way to a key's bytes.
class SealAccess {
public:
    static std::string_view bytes(const SealKey& key) { return key.bytes_.view().substr(0, SealKey::kBytes); }
    static std::string_view root(const SealKey& key) { return key.bytes_.view().substr(SealKey::kBytes); }
    static std::string_view id(const SealKey& key) { return {key.id_.data(), key.id_.size()}; }
};

namespace {

constexpr char kVersion = 1;
constexpr std::string_view kLabel = "callgate-seal-v1";
constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kHeadBytes = 1 + kIdBytes + kSaltBytes;
static_assert(kSealOverhead == kHeadBytes + kTagBytes);

void require(bool ok) {
    if (!ok) throw std::runtime_error("AES-256-GCM is not available from the crypto library");
}

unsigned char* raw(char* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* raw(std::string_view bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// The key of one record. No other record has it, so that the nonce need not differ.
class RecordKey {
public:
    // HKDF-Expand for one block; the salt has a fixed length, so that no purpose reaches into it.
    RecordKey(const SealKey& key, std::string_view purpose, std::string_view salt)
        : bytes_(HmacSha256(SealAccess::root(key)).of({kLabel, purpose, salt, "\x01"})) {}
    ~RecordKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
    RecordKey(const RecordKey&) = delete;
    RecordKey& operator=(const RecordKey&) = delete;

    const unsigned char* key() const { return bytes_.data(); }
    static const unsigned char* nonce() {
        static constexpr std::array<unsigned char, 12> kZeros{};
        return kZeros.data();
    }

private:
    Sha256Digest bytes_;
};

// Each with its length before it, so that nothing can be moved from one to the other.
std::string authenticated(std::string_view purpose, std::string_view record) {
    std::string out;
    out.reserve(16 + purpose.size() + record.size());
    for (const std::string_view part : {purpose, record}) {
        for (int shift = 56; shift >= 0; shift -= 8) {
            out.push_back(static_cast<char>(static_cast<std::uint64_t>(part.size()) >> shift & 0xff));
        }
        out.append(part);
    }
    return out;
}

struct FreeContext {
    void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
};

enum class Direction : int { open = 0, seal = 1 };

/// AES-256-GCM at work on one record.
class Gcm {
public:
    Gcm(const RecordKey& key, Direction direction) : context_(EVP_CIPHER_CTX_new()) {
        // Looked up in the library once; never freed, since threads may run until the process is gone.
        static const EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
        require(cipher != nullptr && context_ != nullptr &&
                EVP_CipherInit_ex2(context_.get(), cipher, key.key(), key.nonce(),
                                   static_cast<int>(direction), nullptr) == 1);
    }

    void authenticate(std::string_view text) { update(nullptr, text); }
    void update(char* out, std::string_view in) {
        // Without input the library would take an absent output for "no more to come".
        if (in.empty()) return;
        int moved = 0;
        require(EVP_CipherUpdate(context_.get(), out == nullptr ? nullptr : raw(out), &moved, raw(in),
                                 static_cast<int>(in.size())) == 1 &&
                static_cast<std::size_t>(moved) == in.size());
    }

    void finish(char* tag) {
        require(end());
        require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag) == 1);
    }
    bool verify(std::string_view tag) {
        std::array<char, kTagBytes> copy{};
        std::ranges::copy(tag, copy.begin());
        require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, copy.data()) == 1);
        return end();
    }

private:
    bool end() {
        std::array<unsigned char, 16> none{};
        int moved = 0;
        return EVP_CipherFinal_ex(context_.get(), none.data(), &moved) == 1;
    }

    std::unique_ptr<EVP_CIPHER_CTX, FreeContext> context_;
};

tl::unexpected<Error> unusable(std::string_view reason, std::string message,
                               boost::json::object details = {}) {
    details["reason"] = reason;
    return fail(ErrorCode::config_error, std::move(message), std::move(details));
}

tl::unexpected<Error> damaged() {
    return unusable("sealed_damaged",
                    "The sealed data cannot be opened: it was changed, cut short, or sealed as something "
                    "else. Restore it from a backup.");
}

Result<void> check_head(const SealKey& key, std::string_view sealed) {
    if (sealed.empty() || sealed.size() > kMaxSealedBytes) return damaged();
    if (sealed.front() != kVersion) {
        return unusable("sealed_version",
                        fmt::format("The sealed data has the form {}, and this version knows only form {}. A "
                                    "newer version may have written it, or it is something else.",
                                    static_cast<unsigned char>(sealed.front()), int{kVersion}));
    }
    if (sealed.size() < kSealOverhead) return damaged();
    const std::string_view sealed_under = sealed.substr(1, kIdBytes);
    if (sealed_under != SealAccess::id(key)) {
        const std::string other = hex_encode(sealed_under);
        return unusable("wrong_key",
                        fmt::format("The data was sealed with the key {}, but the key given is {}. Give the "
                                    "key it was sealed with.",
                                    other, key.id()),
                        {{"sealed_under", other}, {"key", key.id()}});
    }
    return {};
}

// Into `out`, which has room for all of it; wiped again if it is not what was sealed.
bool decrypt(const SealKey& key, std::string_view purpose, std::string_view record, std::string_view sealed,
             std::span<char> out) {
    const RecordKey record_key(key, purpose, sealed.substr(1 + kIdBytes, kSaltBytes));
    Gcm gcm(record_key, Direction::open);
    gcm.authenticate(authenticated(purpose, record));
    gcm.update(out.data(), sealed.substr(kHeadBytes, out.size()));
    if (gcm.verify(sealed.substr(sealed.size() - kTagBytes))) return true;
    OPENSSL_cleanse(out.data(), out.size());
    return false;
}

}  // namespace

// Beside the key stands what every record's key is derived from (HKDF-Extract).
SealKey::SealKey(const LockedBytes& key) : bytes_(2 * kBytes) {
    auto root = hmac_sha256(kLabel, key.view());
    std::ranges::copy(key.view(), bytes_.bytes().begin());
    std::memcpy(bytes_.bytes().data() + kBytes, root.data(), root.size());
    OPENSSL_cleanse(root.data(), root.size());
    const auto digest = Sha256().update("callgate-key-id-v1").update(key.view()).finish();
    std::transform(digest.begin(), digest.begin() + kIdBytes, id_.begin(),
                   [](std::uint8_t byte) { return static_cast<char>(byte); });
}

Result<SealKey> SealKey::from_bytes(LockedBytes bytes) {
    if (bytes.size() == kBytes) return SealKey(bytes);
    return unusable("key_size", fmt::format("A key has {} bytes, not {}.", kBytes, bytes.size()));
}

Result<SealKey> SealKey::from_bytes(std::string_view bytes) {
    return from_bytes(LockedBytes(bytes));
}

SealKey SealKey::random() {
    LockedBytes bytes(kBytes);
    require(RAND_priv_bytes(raw(bytes.bytes().data()), kBytes) == 1);
    return SealKey(bytes);
}

std::string SealKey::id() const {
    return hex_encode({id_.data(), id_.size()});
}

std::string seal(const SealKey& key, std::string_view purpose, std::string_view record,
                 std::string_view plain) {
    SystemRng rng;
    return seal(key, purpose, record, plain, rng);
}

std::string seal(const SealKey& key, std::string_view purpose, std::string_view record,
                 std::string_view plain, Rng& rng) {
    if (plain.size() > kMaxSealedBytes - kSealOverhead) throw std::length_error("too much to seal at once");
    if (plain.size() > 2 * kMostOnALoop) CALLGATE_MAY_BLOCK("sealing much");
    std::string out(plain.size() + kSealOverhead, '\0');
    char* const id = out.data() + 1;
    char* const salt = id + kIdBytes;
    char* const text = out.data() + kHeadBytes;
    out.front() = kVersion;
    std::ranges::copy(SealAccess::id(key), id);
    rng.fill(std::as_writable_bytes(std::span(salt, kSaltBytes)));

    const RecordKey record_key(key, purpose, {salt, kSaltBytes});
    Gcm gcm(record_key, Direction::seal);
    gcm.authenticate(authenticated(purpose, record));
    gcm.update(text, plain);
    gcm.finish(text + plain.size());
    return out;
}

Result<std::string> unseal(const SealKey& key, std::string_view purpose, std::string_view record,
                           std::string_view sealed) {
    CALLGATE_TRY(check_head(key, sealed));
    std::string out(sealed.size() - kSealOverhead, '\0');
    if (!decrypt(key, purpose, record, sealed, out)) return damaged();
    return out;
}

Result<LockedBytes> unseal_locked(const SealKey& key, std::string_view purpose, std::string_view record,
                                  std::string_view sealed) {
    CALLGATE_TRY(check_head(key, sealed));
    LockedBytes out(sealed.size() - kSealOverhead);
    if (!decrypt(key, purpose, record, sealed, out.bytes())) return damaged();
    return out;
}

Sha256Digest keyed_hash(const SealKey& key, std::string_view purpose, std::string_view text) {
    std::array<std::uint8_t, 32> subkey;
    hkdf_sha256(SealAccess::bytes(key), {}, std::string("callgate-keyed-hash-v1").append(purpose), subkey);
    const auto out = hmac_sha256({reinterpret_cast<const char*>(subkey.data()), subkey.size()}, text);
    OPENSSL_cleanse(subkey.data(), subkey.size());
    return out;
}

}  // namespace callgate::base
