// A vote that came with an operator's signature: whose key it is, and whether it signed exactly this.
//
// The first key that comes with a user's vote is taken for theirs and pinned in the ledger, on the record
// (`operator.enrolled`): trust on first use. From then on another one is taken only if the pinned one signed
// it, directly or through keys between (`operator.key_changed`); any other is refused. So a program that runs
// as the same user can bring a key of its own only where the person has never signed anything.
//
// Threads: may be called from any thread; blocks.
#pragma once

#include <string>
#include <vector>

#include <callgate/approvals.h>
#include <callgate/error.h>

#include "ledger/control/control_user.h"
#include "ledger/decisions.h"
#include "ledger/operations.h"

namespace callgate::ledger {

struct SignedVote {
    std::string key;        ///< vkey
    std::string signature;  ///< base64, over vote_statement()
    /// "VKEY SIGNATURE", oldest first: each key after the first, signed by the one before.
    std::vector<std::string> succession;
};

/// denied {reason: bad_signature | key_changed}, invalid_arguments {reason: bad_key}.
Result<void> check_signature(Operations& operations, const ControlUser& user, const Approval& approval,
                             bool approve, const SignedVote& given, const EventSink& sink);

}  // namespace callgate::ledger
