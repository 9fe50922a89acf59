// The idempotency key of a call: whose it is, and the fingerprint of the request that it stands for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "ledger/ledger.h"
#include "pipeline/call.h"

namespace callgate::pipeline {

ledger::KeyScope key_scope(const Call& call);

/// What is wrong with a key as a caller may give it, if anything: too long, or with the suffix "#N" that the
/// calls of a batch have.
std::optional<Error> key_fault(std::string_view key);

/// Computes the fingerprint, once. Only calls with a key or an approval need it.
void need_fingerprint(Call& call);
/// The fingerprint it would have without the schema's defaults: on record is that one where they were not
/// filled in, or where the parameter is newer than the record (docs/decisions/0022).
base::Sha256Digest fingerprint_without_defaults(const Call& call);
/// Another fingerprint under which `recorded` is this same request, if there is one.
std::optional<base::Sha256Digest> fingerprint_in(const Call& call, const ledger::CallRow& recorded);

/// What the contract's target argument names, as text; "" where there is none.
std::string target_text(const Call& call);

/// Stands for a call that waits for another one with its key. The ledger may hold on to it for longer than
/// the call lives.
class KeyWaiter final : public ledger::Waiter {
public:
    explicit KeyWaiter(Call& call) : call_(&call) {}
    void wake() override;
    /// It is about to wait, perhaps again.
    void begin();
    /// Since begin(). An end that comes while the call still asks whether there is one to wait for does not
    /// move it: it looks here once it has its answer.
    bool woken() const;
    /// The call goes: it is not touched any more once this returns.
    void forget();

private:
    mutable base::Mutex mutex_;
    Call* call_ CALLGATE_GUARDED_BY(mutex_);
    bool woken_ CALLGATE_GUARDED_BY(mutex_) = false;
};

/// Whether this word of the ledger's shows that the key is free, or that this call, which is another than the
/// key stands for, was not applied. What may be sent again under its key (`found`, and could be claimed) is
/// not free: it may have happened. Neither is anything shown where `recorded` is of another definition of the
/// tool, under which the same arguments may have become others.
bool shows_not_applied(const Call& call, ledger::ClaimVerdict verdict, bool found,
                       const ledger::CallRow& recorded) noexcept;

/// Asks to be woken when the call that has this one's key has ended.
ledger::Io subscribe_to_end(Call& call);
/// After the answer. `pending`: it waits, and is woken. `next`: there may be nothing to wait for any more,
/// look again. `end`: it could not be asked, or this call has no more time.
Step wait_for_end(Call& call);
/// At the end of a call, whether it has waited or not.
void stop_waiting_for_key(Call& call);

/// The error for a key that cannot be claimed: in_progress, key_reused, key_expired or outcome_unknown.
Error key_error(const Call& call, ledger::ClaimVerdict verdict);

}  // namespace callgate::pipeline
