#include "pipeline/key.h"

#include <utility>

#include "base/encoding.h"
#include "base/guard.h"
#include "base/ids.h"
#include "json/pointer.h"
#include "ledger/digest.h"
#include "schema/defaults.h"

namespace callgate::pipeline {

namespace {

// The call that has the key, which is not this one: it is what a person has to resolve.
std::string holder_of_key(const Call& call) {
    const ColdState* const cold = call.cold_if();
    if (cold == nullptr) return {};
    const CallId& claimed = cold->claimed.row.call_id;
    const CallId& holder = claimed != CallId{} ? claimed : cold->peek.row.call_id;
    return holder != CallId{} ? base::Uuid{holder}.to_string() : std::string();
}

std::string target_in(const Call& call, const Value& arguments) {
    if (!call.tool->target()) return {};
    const Value* const target = json::find(arguments, *call.tool->target());
    return target == nullptr ? std::string() : json::canonical(*target);
}

using Digest = base::Sha256Digest(const ledger::RequestIdentity&);

base::Sha256Digest fingerprint_of(const Call& call, const Value& arguments, Digest& digest,
                                  const base::Sha256Digest& definition) {
    const std::string target = target_in(call, arguments);
    return digest(
        ledger::RequestIdentity(call.tool->name(), definition, call.outcome.action, arguments, target));
}

base::Sha256Digest fingerprint_of(const Call& call, const Value& arguments) {
    return fingerprint_of(call, arguments, ledger::fingerprint, call.tool->definition_hash());
}

}  // namespace

ledger::KeyScope key_scope(const Call& call) {
    const Context& context = *call.request.context;
    const ColdState* const cold = call.cold_if();
    return {context.tenant, context.principal, call.outcome.tool,
            cold != nullptr && cold->by_plain_key ? call.request.origin->plain_key : context.idempotency_key};
}

std::optional<Error> key_fault(std::string_view key) {
    constexpr std::size_t kMaxKeyBytes = 255;
    if (key.size() > kMaxKeyBytes) {
        return Error(ErrorCode::invalid_arguments,
                     "The idempotency key is longer than 255 bytes; use a shorter one.",
                     {{"reason", "key_too_long"}});
    }
    const std::size_t mark = key.find_last_not_of("0123456789");
    if (mark != std::string_view::npos && mark + 1 < key.size() && key[mark] == '#' &&
        CALLGATE_GUARD(suffix_reserved)) {
        return Error(ErrorCode::invalid_arguments,
                     "The idempotency key ends in '#' and a number, as the keys of a batch's calls do; use "
                     "another ending.",
                     {{"reason", "key_suffix_reserved"}});
    }
    return std::nullopt;
}

std::string target_text(const Call& call) {
    return target_in(call, *call.arguments);
}

void need_fingerprint(Call& call) {
    if (call.has_fingerprint) return;
    call.has_fingerprint = true;
    call.fingerprint = fingerprint_of(call, *call.arguments);
    call.cold().request_hash = base::to_hex(call.fingerprint);
}

base::Sha256Digest fingerprint_without_defaults(const Call& call) {
    return fingerprint_of(call, schema::without(*call.arguments, call.cold_if()->filled));
}

std::optional<base::Sha256Digest> fingerprint_in(const Call& call, const ledger::CallRow& recorded) {
    const ColdState* const cold = call.cold_if();
    const bool filled = cold != nullptr && !cold->filled.empty();
    const Value bare = filled ? schema::without(*call.arguments, cold->filled) : *call.arguments;
    const bool is_same = (filled && fingerprint_of(call, bare) == recorded.fingerprint) ||
                         fingerprint_of(call, bare, ledger::earlier_fingerprint, recorded.definition_hash) ==
                             recorded.fingerprint;
    return is_same ? std::optional(recorded.fingerprint) : std::nullopt;
}

bool shows_not_applied(const Call& call, ledger::ClaimVerdict verdict, bool found,
                       const ledger::CallRow& recorded) noexcept {
    if (verdict == ledger::ClaimVerdict::key_reused)
        return recorded.definition_hash == call.tool->definition_hash();
    return verdict == ledger::ClaimVerdict::claimed && !found;
}

void KeyWaiter::wake() {
    std::shared_ptr<Call> waiting;
    {
        const base::MutexLock lock(mutex_);
        woken_ = true;
        if (call_ == nullptr) return;
        waiting = call_->self();
    }
    if (waiting) waiting->go_on();
}

void KeyWaiter::begin() {
    const base::MutexLock lock(mutex_);
    woken_ = false;
}

bool KeyWaiter::woken() const {
    const base::MutexLock lock(mutex_);
    return woken_;
}

void KeyWaiter::forget() {
    const base::MutexLock lock(mutex_);
    call_ = nullptr;
}

ledger::Io subscribe_to_end(Call& call) {
    call.arm();
    ColdState& cold = call.cold();
    if (!cold.key_waiter) cold.key_waiter = std::make_shared<KeyWaiter>(call);
    cold.key_waiter->begin();
    cold.key_wait = {};
    return call.core->ledger().wait_for_end(key_scope(call), cold.key_waiter, cold.key_wait, call);
}

// What came while the ledger was asked has woken nobody: it is looked at here.
Step wait_for_end(Call& call) {
    ColdState& cold = call.cold();
    if (cold.key_wait.error) return call.refuse(std::move(*cold.key_wait.error));
    if (call.expired() || call.cancel_wanted())
        return call.refuse(key_error(call, ledger::ClaimVerdict::in_progress));
    return cold.key_wait.runs && !cold.key_waiter->woken() ? Step::pending : Step::next;
}

void stop_waiting_for_key(Call& call) {
    const ColdState* const cold = call.cold_if();
    if (cold == nullptr || !cold->key_waiter) return;
    call.core->ledger().stop_waiting(key_scope(call), *cold->key_waiter);
    cold->key_waiter->forget();
}

Error key_error(const Call& call, ledger::ClaimVerdict verdict) {
    const std::string& key = call.request.context->idempotency_key;
    switch (verdict) {
        case ledger::ClaimVerdict::key_reused:
            return {ErrorCode::key_reused,
                    "The idempotency key '" + key + "' was used for a call with other arguments."};
        case ledger::ClaimVerdict::key_expired:
            return {ErrorCode::key_expired,
                    "The idempotency key '" + key + "' was used before; its outcome is no longer kept."};
        case ledger::ClaimVerdict::unknown:
            return {ErrorCode::outcome_unknown,
                    "The call with the idempotency key '" + key +
                        "' may or may not have taken effect, and is not run again until a person has "
                        "resolved it.",
                    {{"reason", "unresolved"}, {"call_id", holder_of_key(call)}}};
        default:
            return {ErrorCode::in_progress,
                    "The call with the idempotency key '" + key + "' is still running."};
    }
}

}  // namespace callgate::pipeline
