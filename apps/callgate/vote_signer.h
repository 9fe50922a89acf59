// Signs a person's yes where it needs a signature: asks for the passphrase of their operator key at the
// terminal, once, and keeps the key for as long as this lives.
//
// Threads: one thread.
#pragma once

#include <optional>

#include <callgate/error.h>
#include <callgate/json.h>

#include "ledger/audit/signing_key.h"
#include "operator_key.h"
#include "operator_verb.h"

namespace callgate::cli {

class VoteSigner {
public:
    explicit VoteSigner(OperatorRun& run) : run_(run) {}

    /// Adds a signature to the vote `request`, if what `shown` (approvals.show) tells needs one that counts
    /// more than this user's word, and there is a key to sign with. Without one, the owner says what to do.
    Result<void> sign(Object& request, const Value& shown);

private:
    OperatorRun& run_;
    std::optional<OperatorKeyFile> file_;
    std::optional<ledger::SigningKey> key_;
};

}  // namespace callgate::cli
