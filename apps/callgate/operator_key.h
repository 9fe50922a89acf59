// An operator's own key: Ed25519, one per user, sealed by a passphrase.
//
// A vote that it signed shows that somebody who knows the passphrase decided, and not only some program that
// runs as this user. It stands in $XDG_CONFIG_HOME/callgate/operator.key, else ~/.config/callgate, readable
// by its user alone; the key that seals it comes from the passphrase by scrypt. A key that takes another's
// place carries that one's signature, so that ledgers which know the old one take the new one
// (docs/formats/operator.md).
//
// Threads: one thread.
#pragma once

#include <string>
#include <string_view>

#include <callgate/error.h>
#include <callgate/json.h>

#include "base/locked_bytes.h"
#include "base/rng.h"
#include "ledger/audit/signing_key.h"
#include "os/file_ops.h"

namespace callgate::cli {

/// config_error {reason: no_home}.
Result<std::string> operator_key_path();

class OperatorKeyFile {
public:
    /// config_error {reason: no_operator_key | bad_operator_key | not_private}.
    static Result<OperatorKeyFile> read(os::FileOps& files, const std::string& path);
    /// A new key, sealed. Nothing is written yet.
    static OperatorKeyFile make(base::Rng& rng, std::string_view passphrase);
    /// The same in place of an older one, whose key signs it.
    static OperatorKeyFile make_next(base::Rng& rng, std::string_view passphrase,
                                     const OperatorKeyFile& before, const ledger::SigningKey& key_before);
    /// In place of what is there, readable by this user alone.
    Result<void> write(os::FileOps& files, base::Rng& rng, const std::string& path) const;

    const std::string& vkey() const noexcept { return vkey_; }
    /// "VKEY SIGNATURE" of each key after the first, signed by the one before; this one is the last.
    const Array& succession() const noexcept { return succession_; }
    /// config_error {reason: wrong_passphrase}. Takes a moment, on purpose.
    Result<ledger::SigningKey> open(std::string_view passphrase) const;

private:
    std::string vkey_;
    Array succession_;
    std::string salt_;
    std::string sealed_;
    std::uint64_t cost_ = 0;
};

/// A vote with its signature: the members that go with it.
void sign_vote(Object& request, const OperatorKeyFile& file, const ledger::SigningKey& key,
               std::string_view approval_id, std::string_view digest);

}  // namespace callgate::cli
