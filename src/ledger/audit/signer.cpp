#include "ledger/audit/signer.h"

#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "base/failpoint.h"
#include "base/try.h"
#include "os/files.h"

namespace callgate::ledger {
namespace {

constexpr std::size_t kMaxKeyFile = 1'024;

tl::unexpected<Error> unusable_key(std::string_view reason, const std::string& path, std::string sentence) {
    return fail(ErrorCode::config_error, std::move(sentence), {{"reason", reason}, {"path", path}});
}

std::string next_path(const std::string& path) {
    return path + ".next";
}

bool is_missing(const Error& error) {
    const auto* const reason = error.details.if_contains("reason");
    return reason != nullptr && *reason == "file_missing";
}

/// Nothing where there is no file.
Result<std::optional<SigningKey>> load(os::FileOps& files, const std::string& path,
                                       const std::string& origin) {
    auto text = os::read_file(files, path, kMaxKeyFile);
    if (!text && is_missing(text.error())) return std::nullopt;
    if (!text) return tl::unexpected(text.error());
    CALLGATE_TRY_ASSIGN(const auto info, files.stat(path));
    if ((info.permissions & 077) != 0) {
        OPENSSL_cleanse(text->data(), text->size());
        return unusable_key(
            "key_permissions", path,
            fmt::format("The audit's signing key {} can be read by others. Run `chmod 600 {}`, and "
                        "rotate the key if somebody may have read it.",
                        path, path));
    }
    std::string_view line = *text;
    if (line.ends_with('\n')) line.remove_suffix(1);
    auto key = SigningKey::parse(line);
    OPENSSL_cleanse(text->data(), text->size());
    if (!key)
        return unusable_key(
            "bad_key", path,
            fmt::format("The file {} does not hold a signing key of the audit. Restore it from a "
                        "backup.",
                        path));
    if (key->verifying_key().name() != origin)
        return unusable_key(
            "key_mismatch", path,
            fmt::format("The signing key {} belongs to the log {}, not to {}. Restore the right file.", path,
                        key->verifying_key().name(), origin));
    return std::optional(std::move(*key));
}

Result<void> store(os::FileOps& files, base::Rng& rng, const std::string& path, const SigningKey& key) {
    CALLGATE_FAILPOINT_RETURN("audit.before_key_write");
    std::string text = key.private_text();
    text += '\n';
    auto written = os::write_file_atomically(files, rng, path, text, 0600);
    OPENSSL_cleanse(text.data(), text.size());
    if (!written) return written;
    CALLGATE_FAILPOINT_RETURN("audit.after_key_write");
    return {};
}

}  // namespace

AuditSigner::AuditSigner(os::FileOps& files, base::Rng& rng, std::string path, std::string origin,
                         SigningKey key)
    : files_(&files), rng_(&rng), path_(std::move(path)), origin_(std::move(origin)), key_(std::move(key)) {}

Result<AuditSigner> AuditSigner::open(os::FileOps& files, base::Rng& rng, std::string path,
                                      std::string_view chain_id, std::string_view in_force) {
    std::string origin = audit_origin(chain_id);
    CALLGATE_TRY_ASSIGN(auto current, load(files, path, origin));
    if (in_force.empty() && !current) {
        SigningKey made = SigningKey::generate(origin, rng);
        CALLGATE_TRY(store(files, rng, path, made));
        return AuditSigner(files, rng, std::move(path), std::move(origin), std::move(made));
    }
    if (!current)
        return unusable_key("key_missing", path,
                            fmt::format("The audit's signing key {} is missing. "
                                        "Restore it from a backup: without it "
                                        "no checkpoint of this log can be signed.",
                                        path));
    AuditSigner signer(files, rng, std::move(path), std::move(origin), std::move(*current));
    if (in_force.empty() || signer.key().vkey() == in_force) return signer;

    CALLGATE_TRY_ASSIGN(auto next, load(files, next_path(signer.path_), signer.origin_));
    if (!next || next->verifying_key().vkey() != in_force)
        return unusable_key("key_mismatch", signer.path_,
                            fmt::format("The signing key {} is not the one that the "
                                        "log says is in force. Restore the "
                                        "right file.",
                                        signer.path_));
    signer.next_ = std::move(*next);
    signer.rotated();
    return signer;
}

std::string AuditSigner::sign(std::uint64_t size, const Sha256Digest& root) const {
    std::vector<SigningKey> keys;
    if (old_) keys.push_back(*old_);
    keys.push_back(key_);
    return sign_checkpoint({origin_, size, root}, keys);
}

Result<AuditSigner::Rotation> AuditSigner::prepare_rotation() {
    if (old_)
        return fail(ErrorCode::in_progress,
                    "The audit's key has just been changed, and the checkpoint that hands over to it is not "
                    "written yet. Try again in a few seconds.",
                    {{"reason", "rotation_in_progress"}});
    SigningKey made = SigningKey::generate(origin_, *rng_);
    CALLGATE_TRY(store(*files_, *rng_, next_path(path_), made));
    next_ = std::move(made);
    return Rotation{key().vkey(), next_->verifying_key().vkey()};
}

void AuditSigner::rotated() {
    if (!next_) throw std::logic_error("no rotation was prepared");
    old_ = std::move(key_);
    key_ = std::move(*next_);
    next_.reset();
}

Result<void> AuditSigner::checkpointed() {
    if (!old_) return {};
    CALLGATE_TRY(store(*files_, *rng_, path_, key_));
    old_.reset();
    // What is left of the second file does no harm: it holds the key in force, or the next rotation's.
    static_cast<void>(files_->unlink(next_path(path_)));
    return {};
}

}  // namespace callgate::ledger
