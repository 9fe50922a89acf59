// The idempotency key of a call: whose it is, and the fingerprint of the request that it stands for.
#pragma once

#include <string>

#include "ledger/ledger.h"
#include "pipeline/call.h"

namespace callgate::pipeline {

ledger::KeyScope key_scope(const Call& call);

/// Computes the fingerprint, once. Only calls with a key or an approval need it.
void need_fingerprint(Call& call);

/// What the contract's target argument names, as text; "" where there is none.
std::string target_text(const Call& call);

/// The error for a key that cannot be claimed: in_progress, key_reused, key_expired or outcome_unknown.
Error key_error(const Call& call, ledger::ClaimVerdict verdict);

}  // namespace callgate::pipeline
