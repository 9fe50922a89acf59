// An encrypted secrets file at work: looked up, changed, checked, sealed under a new key.
//
// Every change reads the file, and replaces it whole, under the file's lock: of two writers at once neither
// loses its change, and a crash leaves the old file or the new one. Readers see a change by any process at
// their next look. Values are in locked memory while they are open and sealed otherwise.
//
// Threads: may be used from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/secret_stores.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/rng.h"
#include "base/seal.h"
#include "os/file_ops.h"
#include "secrets/secrets_format.h"

namespace callgate::secrets {

/// A secret's current version, open.
struct FoundSecret {
    OpenRecord record;
    SecretInfo info;
};

class SecretsFile {
public:
    /// The seams must outlive this. The file need not exist yet.
    SecretsFile(os::FileOps& files, base::Rng& rng, const base::Clock& clock, std::string path,
                base::SealKey key);

    const std::string& path() const noexcept { return path_; }

    /// Whether the file, if there is one, is whole and under this key. Opens no record.
    Result<void> probe() const;

    /// The current version. config_error no_such_secret, or what is wrong with the file {reason, path}: see
    /// read_image() and os::read_file.
    Result<FoundSecret> open(std::string_view connector, std::string_view key) const;

    /// What EncryptedFileSecrets promises.
    Result<std::uint32_t> set(std::string_view connector, std::string_view key, std::string_view value);
    Result<std::uint32_t> rotate(std::string_view connector, std::string_view key, std::string_view value);
    Result<void> remove(std::string_view connector, std::string_view key,
                        std::optional<std::uint32_t> version);
    Result<std::optional<SecretInfo>> check(std::string_view connector, std::string_view key) const;
    Result<SecretsFileInfo> check() const;
    Result<void> rotate_key(base::SealKey key);

private:
    struct Snapshot {
        std::string head;  ///< empty where there is no file
        SecretsImage image;
    };
    using Records = std::vector<SealedRecord>;
    enum class Before : bool { drop, keep };

    Result<std::shared_ptr<const Snapshot>> look() const CALLGATE_REQUIRES(mutex_);
    Result<Snapshot> read() const CALLGATE_REQUIRES(mutex_);
    bool is_current(const Snapshot& snapshot) const;
    /// `change` gets the records and the key they are under; what it makes of both becomes the file.
    template <class Change>
    Result<void> change(Change change);
    Result<std::uint32_t> add(std::string_view connector, std::string_view key, std::string_view value,
                              Before before);
    Error about(Error error) const;
    Error missing(std::string_view connector, std::string_view key) const;

    os::FileOps& files_;
    base::Rng& rng_;
    const base::Clock& clock_;
    const std::string path_;

    mutable base::Mutex mutex_;
    std::shared_ptr<const base::SealKey> key_ CALLGATE_GUARDED_BY(mutex_);
    mutable std::shared_ptr<const Snapshot> seen_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate::secrets
