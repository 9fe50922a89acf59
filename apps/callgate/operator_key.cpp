#include "operator_key.h"

#include "base/try.h"
#include "error_report.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/seal.h"
#include "ledger/operators.h"
#include "os/files.h"
#include "os/state_directory.h"
#include "os/system_error.h"

namespace callgate::cli {

namespace {

constexpr std::uint64_t kCost = std::uint64_t{1} << 16;  // 64 MiB with blocks of 8
constexpr std::uint64_t kMostCost = std::uint64_t{1} << 20;
constexpr std::uint32_t kBlocks = 8;
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kMaxFileBytes = 16u << 10;
constexpr std::string_view kPurpose = "operator-key";

void require(bool ok) {
    if (!ok) throw std::runtime_error("scrypt is not available from the crypto library");
}

base::SealKey key_from(std::string_view passphrase, std::string_view salt, std::uint64_t cost) {
    struct FreeKdf {
        void operator()(EVP_KDF* kdf) const noexcept { EVP_KDF_free(kdf); }
        void operator()(EVP_KDF_CTX* context) const noexcept { EVP_KDF_CTX_free(context); }
    };
    const std::unique_ptr<EVP_KDF, FreeKdf> kdf(EVP_KDF_fetch(nullptr, "SCRYPT", nullptr));
    require(kdf != nullptr);
    const std::unique_ptr<EVP_KDF_CTX, FreeKdf> context(EVP_KDF_CTX_new(kdf.get()));
    require(context != nullptr);
    std::uint64_t n = cost;
    std::uint32_t r = kBlocks;
    std::uint32_t p = 1;
    std::uint64_t most = 256 * kBlocks * cost;
    std::array<OSSL_PARAM, 7> parameters{
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PASSWORD, const_cast<char*>(passphrase.data()),
                                          passphrase.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, const_cast<char*>(salt.data()), salt.size()),
        OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_N, &n),
        OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_R, &r),
        OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_P, &p),
        OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_MAXMEM, &most),
        OSSL_PARAM_construct_end()};
    base::LockedBytes derived(base::SealKey::kBytes);
    require(EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(derived.bytes().data()),
                           derived.size(), parameters.data()) == 1);
    auto key = base::SealKey::from_bytes(std::move(derived));
    require(key.has_value());
    return std::move(*key);
}

std::string text_in(const Object& object, std::string_view name) {
    const Value* found = object.if_contains(name);
    return found != nullptr && found->is_string()
               ? std::string(found->get_string().data(), found->get_string().size())
               : std::string();
}

std::string in_base64(const ledger::Signature& signature) {
    return base::base64_encode({reinterpret_cast<const char*>(signature.data()), signature.size()});
}

}  // namespace

Result<std::string> operator_key_path() {
    const auto set = [](const char* name) {
        const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
        return std::string(value == nullptr ? "" : value);
    };
    if (const std::string config = set("XDG_CONFIG_HOME"); config.starts_with('/'))
        return config + "/callgate/operator.key";
    if (const std::string home = os::home_directory(); !home.empty())
        return home + "/.config/callgate/operator.key";
    return unusable("no_home",
                    "It is not known where your operator key is: you have no home directory. Set "
                    "XDG_CONFIG_HOME.");
}

OperatorKeyFile OperatorKeyFile::make_next(base::Rng& rng, std::string_view passphrase,
                                           const OperatorKeyFile& before,
                                           const ledger::SigningKey& key_before) {
    OperatorKeyFile file = make(rng, passphrase);
    file.succession_ = before.succession_;
    if (file.succession_.size() >= ledger::kMostSuccessions) file.succession_.erase(file.succession_.begin());
    file.succession_.push_back(Value(
        file.vkey_ + " " + in_base64(key_before.sign(ledger::succession_statement(::getuid(), file.vkey_)))));
    return file;
}

OperatorKeyFile OperatorKeyFile::make(base::Rng& rng, std::string_view passphrase) {
    const ledger::SigningKey key = ledger::SigningKey::generate(fmt::format("operator-{}", ::getuid()), rng);
    OperatorKeyFile file;
    file.vkey_ = key.verifying_key().vkey();
    std::array<std::byte, kSaltBytes> salt{};
    rng.fill(salt);
    file.salt_.assign(reinterpret_cast<const char*>(salt.data()), salt.size());
    file.cost_ = kCost;
    std::string plain = key.private_text();
    file.sealed_ = base::seal(key_from(passphrase, file.salt_, file.cost_), kPurpose, file.vkey_, plain);
    OPENSSL_cleanse(plain.data(), plain.size());
    return file;
}

Result<OperatorKeyFile> OperatorKeyFile::read(os::FileOps& files, const std::string& path) {
    const auto there = files.stat(path);
    if (!there) {
        if (os::error_number(there.error()) != ENOENT) return tl::unexpected(there.error());
        return unusable("no_operator_key",
                        fmt::format("There is no operator key in {}. Make one with `callgate "
                                    "operator enroll`.",
                                    path));
    }
    if ((there->permissions & 0077) != 0)
        return unusable("key_permission",
                        fmt::format("Others may read or write your operator key {} (mode {:04o}). If nobody "
                                    "did, take that away: chmod 600 '{}'",
                                    path, there->permissions, path));
    CALLGATE_TRY_ASSIGN(auto text, os::read_file(files, path, kMaxFileBytes));
    const auto parsed = json::parse(text);
    OperatorKeyFile file;
    if (parsed && parsed->is_object()) {
        const Object& object = parsed->get_object();
        file.vkey_ = text_in(object, "key");
        const Value* succession = object.if_contains("succession");
        if (succession != nullptr && succession->is_array()) file.succession_ = succession->get_array();
        file.salt_ = base::base64_decode(text_in(object, "salt")).value_or("");
        file.sealed_ = base::base64_decode(text_in(object, "sealed")).value_or("");
        const Value* cost = object.if_contains("scrypt_n");
        if (cost != nullptr && cost->is_int64() && cost->get_int64() > 1)
            file.cost_ = static_cast<std::uint64_t>(cost->get_int64());
    }
    const bool power = file.cost_ != 0 && (file.cost_ & (file.cost_ - 1)) == 0;
    if (!ledger::VerifyingKey::parse(file.vkey_) || file.salt_.size() != kSaltBytes || file.sealed_.empty() ||
        !power || file.cost_ > kMostCost) {
        return unusable("bad_operator_key",
                        fmt::format("{} is not an operator key. Put the right file back.", path));
    }
    return file;
}

Result<void> OperatorKeyFile::write(os::FileOps& files, base::Rng& rng, const std::string& path) const {
    std::error_code fault;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::filesystem::create_directories(folder, fault);
    if (!fault) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, fault);
    if (fault) {
        return unusable("not_writable",
                        fmt::format("{} cannot be made: {}.", folder.string(), fault.message()));
    }
    Object out{{"v", 1},
               {"key", vkey_},
               {"scrypt_n", cost_},
               {"scrypt_r", kBlocks},
               {"salt", base::base64_encode(salt_)},
               {"sealed", base::base64_encode(sealed_)}};
    if (!succession_.empty()) out["succession"] = succession_;
    return os::write_file_atomically(files, rng, path, json::write_pretty(out) + "\n");
}

Result<ledger::SigningKey> OperatorKeyFile::open(std::string_view passphrase) const {
    auto plain = base::unseal_locked(key_from(passphrase, salt_, cost_), kPurpose, vkey_, sealed_);
    if (!plain) return unusable("wrong_passphrase", "The passphrase is not the one of your operator key.");
    return ledger::SigningKey::parse(plain->view());
}

void sign_vote(Object& request, const OperatorKeyFile& file, const ledger::SigningKey& key,
               std::string_view approval_id, std::string_view digest) {
    request["key"] = file.vkey();
    request["signature"] = in_base64(key.sign(ledger::vote_statement(approval_id, digest, true)));
    if (!file.succession().empty()) request["succession"] = file.succession();
}

}  // namespace callgate::cli
