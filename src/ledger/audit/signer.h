// Who signs the audit's checkpoints: the key in force, kept in a file of its own, and how it is changed.
//
// Changing the key survives a crash at any point:
//   1. prepare_rotation()   the new key is durable in <path>.next
//   2. the event audit.key_rotated, which names both keys, is committed; rotated(): the new key is in force
//   3. the next checkpoint, which sign() signs with both keys, is committed
//   4. checkpointed()       the new key's file takes the old one's place
// After a crash open() asks which key the log says is in force, and goes on from there.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <callgate/error.h>

#include "base/rng.h"
#include "ledger/audit/checkpoint.h"
#include "ledger/audit/signing_key.h"
#include "os/file_ops.h"

namespace callgate::ledger {

class AuditSigner {
public:
    /// `in_force` is the vkey that the log's last key event names, "" for a log that has none yet: then the
    /// key is made if there is no file. `files` and `rng` must outlive this. config_error {reason, path}:
    /// key_missing, key_mismatch (the log names a key that is in neither file), key_permissions (others can
    /// read it), bad_key, and those of os::read_file.
    static Result<AuditSigner> open(os::FileOps& files, base::Rng& rng, std::string path,
                                    std::string_view chain_id, std::string_view in_force);

    /// The key in force.
    const VerifyingKey& key() const noexcept { return key_.verifying_key(); }
    /// A note for the log as it is: signed by the key in force, and by the one before it until
    /// checkpointed().
    std::string sign(std::uint64_t size, const Sha256Digest& root) const;

    struct Rotation {
        std::string old_key;  ///< vkeys, for KeyNames
        std::string key;
    };
    Result<Rotation> prepare_rotation();
    /// The event is committed. Only after prepare_rotation().
    void rotated();
    /// A note that sign() made is committed. Does nothing unless a rotation is under way.
    Result<void> checkpointed();

private:
    AuditSigner(os::FileOps& files, base::Rng& rng, std::string path, std::string origin, SigningKey key);

    os::FileOps* files_;
    base::Rng* rng_;
    std::string path_;
    std::string origin_;
    SigningKey key_;                  // in force
    std::optional<SigningKey> old_;   // while it has to sign, too
    std::optional<SigningKey> next_;  // prepared
};

}  // namespace callgate::ledger
