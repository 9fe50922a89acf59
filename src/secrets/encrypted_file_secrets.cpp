#include <utility>

#include <fmt/format.h>

#include <callgate/secret_stores.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/try.h"
#include "os/file_ops.h"
#include "secrets/key_source.h"
#include "secrets/secrets_file.h"

namespace callgate {

struct EncryptedFileSecrets::State {
    State(std::string path, base::SealKey key) : file(files, rng, clock, std::move(path), std::move(key)) {}

    os::RealFileOps files;
    base::SystemRng rng;
    base::SystemClock clock;
    secrets::SecretsFile file;
};

EncryptedFileSecrets::EncryptedFileSecrets(std::unique_ptr<State> state) : state_(std::move(state)) {}
EncryptedFileSecrets::~EncryptedFileSecrets() = default;

Result<std::unique_ptr<EncryptedFileSecrets>> EncryptedFileSecrets::open(std::string path,
                                                                         const KeySource& key) {
    os::RealFileOps files;
    CALLGATE_TRY_ASSIGN(auto sealing_key, secrets::load_key(files, key));
    auto state = std::make_unique<State>(std::move(path), std::move(sealing_key));
    // A wrong key or a damaged file is reported now, not when the first tool asks.
    CALLGATE_TRY(state->file.probe());
    return std::unique_ptr<EncryptedFileSecrets>(new EncryptedFileSecrets(std::move(state)));
}

Result<std::uint32_t> EncryptedFileSecrets::set(std::string_view connector, std::string_view key,
                                                std::string_view value) {
    return state_->file.set(connector, key, value);
}

Result<void> EncryptedFileSecrets::put(std::string_view connector, std::string_view key,
                                       std::string_view value) {
    return state_->file.set(connector, key, value).map([](std::uint32_t) {});
}

Result<std::uint32_t> EncryptedFileSecrets::rotate(std::string_view connector, std::string_view key,
                                                   std::string_view value) {
    return state_->file.rotate(connector, key, value);
}

Result<void> EncryptedFileSecrets::remove(std::string_view connector, std::string_view key,
                                          std::optional<std::uint32_t> version) {
    return state_->file.remove(connector, key, version);
}

Result<std::optional<SecretInfo>> EncryptedFileSecrets::check(std::string_view connector,
                                                              std::string_view key) const {
    return state_->file.check(connector, key);
}

Result<SecretsFileInfo> EncryptedFileSecrets::check() const {
    return state_->file.check();
}

Result<void> EncryptedFileSecrets::rotate_key(const KeySource& to) {
    CALLGATE_TRY_ASSIGN(auto key, secrets::load_key(state_->files, to));
    CALLGATE_TRY_ASSIGN(const auto now, check());
    if (key.id() == now.key_id)
        return fail(ErrorCode::config_error,
                    fmt::format("The secrets are sealed with this key, {}, already. Name another, or a file "
                                "that is not there: it is made.",
                                now.key_id),
                    {{"reason", "same_key"}, {"key_id", now.key_id}});
    return state_->file.rotate_key(std::move(key));
}

Result<Secret> EncryptedFileSecrets::load(std::string_view connector, std::string_view key) const {
    CALLGATE_TRY_ASSIGN(const auto found, state_->file.open(connector, key));
    return Secret(found.record.value);
}

Result<void> make_key_file(const std::string& path) {
    os::RealFileOps files;
    base::SystemRng rng;
    return secrets::load_or_create_key(files, rng, path).map([](const base::SealKey&) {});
}

}  // namespace callgate
