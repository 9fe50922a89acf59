#include "ledger/state_machine.h"

#include <utility>

#include "base/guard.h"

namespace callgate::ledger {

namespace {

/// A second dispatch can do no harm.
bool may_be_sent_again(EffectClass effect) noexcept {
    return effect == EffectClass::read || effect == EffectClass::keyed;
}

void end_as(CallRow& row, CallState state, std::shared_ptr<const StoredOutcome> outcome,
            base::WallTime now) noexcept {
    row.state = state;
    row.outcome = std::move(outcome);
    row.ended_at = now;
}

void run_again_as(CallRow& row, CallState state) noexcept {
    row.state = state;
    row.outcome = nullptr;
    row.ended_at = {};
}

CallRow as_new(CallRow row, base::WallTime now) noexcept {
    row.state = CallState::claimed;
    row.epoch = 1;
    row.attempt = 0;
    row.maybe_applied = false;
    row.outcome = nullptr;
    row.created_at = now;
    row.ended_at = {};
    row.expires_at = {};
    row.runs_as = {};
    return row;
}

ClaimVerdict judge(const Standing& standing, const base::Sha256Digest& fingerprint) noexcept {
    if (standing.row == nullptr && standing.spent) return ClaimVerdict::key_expired;
    const ClaimVerdict verdict = judge_claim(standing.row, fingerprint, standing.owner_alive);
    if (verdict != ClaimVerdict::dead_owner || !standing.stale) return verdict;
    const CallRow& row = *standing.row;
    const bool sent = row.state != CallState::claimed || row.maybe_applied;
    return sent && row.effect == EffectClass::keyed ? ClaimVerdict::unknown : verdict;
}

constexpr Settled kRefused{};
constexpr Settled kAccepted{.accepted = true};
constexpr Settled kLate{.accepted = true, .late = true};
constexpr Settled kReleased{.accepted = true, .released = true};

/// Nothing of this attempt remains. What an earlier one may have done decides whether the key is free.
Settled end_without_trace(CallRow& row, CallState state, std::shared_ptr<const StoredOutcome> outcome,
                          base::WallTime now) noexcept {
    if (row.maybe_applied) {
        end_as(row, CallState::unknown, std::move(outcome), now);
        return kAccepted;
    }
    end_as(row, state, std::move(outcome), now);
    return kReleased;
}

Settled settle_unsent(CallRow& row, AttemptEnd end, bool last, std::shared_ptr<const StoredOutcome> outcome,
                      base::WallTime now) noexcept {
    if (!last || end == AttemptEnd::succeeded || end == AttemptEnd::failed) return kRefused;
    const CallState state = end == AttemptEnd::cancelled ? CallState::cancelled : CallState::not_applied;
    return end_without_trace(row, state, std::move(outcome), now);
}

Settled settle_sent(CallRow& row, AttemptEnd end, bool last, std::shared_ptr<const StoredOutcome> outcome,
                    base::WallTime now) noexcept {
    switch (end) {
        case AttemptEnd::succeeded:
            end_as(row, CallState::succeeded, std::move(outcome), now);
            return kAccepted;
        case AttemptEnd::failed: end_as(row, CallState::failed, std::move(outcome), now); return kAccepted;
        case AttemptEnd::not_applied:
            if (last) return end_without_trace(row, CallState::not_applied, std::move(outcome), now);
            run_again_as(row, CallState::claimed);
            return kAccepted;
        case AttemptEnd::ambiguous:
            if (last && row.effect == EffectClass::read) {
                return end_without_trace(row, CallState::not_applied, std::move(outcome), now);
            }
            if (!last && may_be_sent_again(row.effect)) {
                row.maybe_applied = row.effect == EffectClass::keyed;
                run_again_as(row, CallState::claimed);
            } else if (!last && row.effect == EffectClass::verify) {
                run_again_as(row, CallState::reconciling);
            } else {
                end_as(row, CallState::unknown, std::move(outcome), now);
            }
            return kAccepted;
        case AttemptEnd::cancelled: return kRefused;
    }
    return kRefused;
}

Settled settle_late(CallRow& row, AttemptEnd end, std::shared_ptr<const StoredOutcome> outcome,
                    base::WallTime now) noexcept {
    switch (end) {
        case AttemptEnd::succeeded: end_as(row, CallState::succeeded, std::move(outcome), now); return kLate;
        case AttemptEnd::failed: end_as(row, CallState::failed, std::move(outcome), now); return kLate;
        case AttemptEnd::not_applied:
            if (row.maybe_applied) return kRefused;  // says nothing of the attempt before it
            end_as(row, CallState::not_applied, std::move(outcome), now);
            if (!CALLGATE_GUARD(late_no_frees_key)) return kLate;
            return {.accepted = true, .late = true, .released = true};
        case AttemptEnd::ambiguous:
        case AttemptEnd::cancelled: return kRefused;
    }
    return kRefused;
}

}  // namespace

std::string_view to_string(CallState state) noexcept {
    switch (state) {
        case CallState::claimed: return "claimed";
        case CallState::dispatched: return "dispatched";
        case CallState::reconciling: return "reconciling";
        case CallState::succeeded: return "succeeded";
        case CallState::failed: return "failed";
        case CallState::unknown: return "unknown";
        case CallState::cancelled: return "cancelled";
        case CallState::not_applied: return "not_applied";
    }
    return "unknown";
}

bool is_end(CallState state) noexcept {
    return state != CallState::claimed && state != CallState::dispatched && state != CallState::reconciling;
}

std::string_view to_string(ClaimVerdict verdict) noexcept {
    switch (verdict) {
        case ClaimVerdict::claimed: return "claimed";
        case ClaimVerdict::replay: return "replay";
        case ClaimVerdict::in_progress: return "in_progress";
        case ClaimVerdict::key_reused: return "key_reused";
        case ClaimVerdict::key_expired: return "key_expired";
        case ClaimVerdict::unknown: return "unknown";
        case ClaimVerdict::dead_owner: return "dead_owner";
    }
    return "unknown";
}

ClaimVerdict judge_claim(const CallRow* row, const base::Sha256Digest& fingerprint,
                         bool owner_alive) noexcept {
    if (row == nullptr) return ClaimVerdict::claimed;
    if (row->fingerprint != fingerprint && CALLGATE_GUARD(key_is_the_request))
        return ClaimVerdict::key_reused;
    if (!is_end(row->state)) return owner_alive ? ClaimVerdict::in_progress : ClaimVerdict::dead_owner;
    if (row->state != CallState::unknown) return ClaimVerdict::replay;
    const bool harmless =
        may_be_sent_again(row->effect) || (row->effect == EffectClass::verify && !owner_alive);
    return harmless ? ClaimVerdict::dead_owner : ClaimVerdict::unknown;
}

bool take_over(CallRow& row, OwnerId owner) noexcept {
    const bool was_sent = row.state != CallState::claimed;
    if (is_end(row.state)) {
        const bool may_go_on = may_be_sent_again(row.effect) || row.effect == EffectClass::verify;
        if (row.state != CallState::unknown || !may_go_on) return false;
    }
    ++row.epoch;
    row.owner = owner;
    if (!was_sent) return true;
    switch (row.effect) {
        case EffectClass::read: run_again_as(row, CallState::claimed); break;
        case EffectClass::keyed:
            row.maybe_applied = true;
            run_again_as(row, CallState::claimed);
            break;
        case EffectClass::verify: run_again_as(row, CallState::reconciling); break;
        case EffectClass::tx:
        case EffectClass::unsafe:
            if (CALLGATE_GUARD(never_resend_unsafe)) {
                row.state = CallState::unknown;
            } else {
                run_again_as(row, CallState::claimed);
            }
            break;
    }
    return true;
}

bool needs_probe(const CallRow& row, bool owner_alive) noexcept {
    const bool sent = row.state == CallState::dispatched || row.state == CallState::reconciling ||
                      row.state == CallState::unknown;
    return sent && !owner_alive && row.effect == EffectClass::verify;
}

Settled give_up(CallRow& row, base::WallTime now) noexcept {
    if (is_end(row.state)) return kRefused;
    const bool was_sent = row.state != CallState::claimed;
    ++row.epoch;
    row.owner = 0;
    if (was_sent && row.effect != EffectClass::read) {
        end_as(row, CallState::unknown, nullptr, now);
        return kAccepted;
    }
    return end_without_trace(row, was_sent ? CallState::not_applied : CallState::cancelled, nullptr, now);
}

ClaimVerdict verdict_after_take_over(const CallRow& row) noexcept {
    return row.state == CallState::unknown ? ClaimVerdict::unknown : ClaimVerdict::claimed;
}

ClaimDecision decide_claim(const Standing& standing, CallRow claimant, const ClaimTerms& terms,
                           base::WallTime now) {
    ClaimDecision decision;
    const bool by_recorded = standing.row != nullptr && terms.recorded_as == standing.row->fingerprint;
    decision.verdict = judge(standing, by_recorded ? *terms.recorded_as : claimant.fingerprint);
    const bool taking_over = decision.verdict == ClaimVerdict::dead_owner;
    if (!taking_over && decision.verdict != ClaimVerdict::claimed) return decision;

    const OwnerId owner = claimant.owner;
    const base::Sha256Digest definition_hash = claimant.definition_hash;
    CallRow row;
    if (taking_over) {
        row = *standing.row;
        take_over(row, owner);
        decision.verdict = verdict_after_take_over(row);
        if (decision.verdict == ClaimVerdict::unknown) {
            row.ended_at = now;
        } else {
            row.policy_rev = claimant.policy_rev;
            row.definition_hash = definition_hash;  // of what the claimant will run, as its fingerprint is
            row.fingerprint = claimant.fingerprint;
            row.runs_as = claimant.call_id;
        }
    } else {
        row = as_new(std::move(claimant), now);
    }
    if (terms.dispatch && row.state == CallState::claimed)
        ledger::dispatch(row, row.epoch, owner, definition_hash);
    decision.store = taking_over ? ClaimDecision::Store::update : ClaimDecision::Store::insert;
    decision.row = std::move(row);
    return decision;
}

ClaimVerdict foresee_claim(const Standing& standing, const base::Sha256Digest& fingerprint) {
    const ClaimVerdict verdict = judge(standing, fingerprint);
    if (verdict != ClaimVerdict::dead_owner) return verdict;
    CallRow after = *standing.row;
    take_over(after, 0);
    return verdict_after_take_over(after);
}

bool ends_with_its_owner(const CallRow& row) noexcept {
    if (is_end(row.state)) return false;
    const bool once = row.effect == EffectClass::unsafe || row.effect == EffectClass::tx;
    const bool may_go_on = row.state == CallState::claimed || !once || !CALLGATE_GUARD(never_resend_unsafe);
    return !may_go_on || row.key.key.empty();
}

bool dispatch(CallRow& row, std::uint32_t epoch, OwnerId owner,
              const base::Sha256Digest& definition_hash) noexcept {
    if (CALLGATE_GUARD(epoch_fence) && (row.epoch != epoch || row.owner != owner)) return false;
    if (row.state != CallState::claimed || row.definition_hash != definition_hash) return false;
    row.state = CallState::dispatched;
    ++row.attempt;
    return true;
}

Settled settle(CallRow& row, std::uint32_t epoch, std::uint32_t attempt, AttemptEnd end, bool last,
               std::shared_ptr<const StoredOutcome> outcome, base::WallTime now) noexcept {
    const bool fenced = CALLGATE_GUARD(epoch_fence);
    const bool same_epoch = !fenced || row.epoch == epoch;
    const bool same_attempt = !fenced || row.attempt == attempt;
    switch (row.state) {
        case CallState::claimed:
            return same_epoch ? settle_unsent(row, end, last, std::move(outcome), now) : kRefused;
        case CallState::dispatched:
            return same_epoch && same_attempt ? settle_sent(row, end, last, std::move(outcome), now)
                                              : kRefused;
        case CallState::reconciling:
        case CallState::unknown: {
            // The attempt's own epoch if its owner gave up, the next if another took over.
            const bool ours = same_epoch || row.epoch == epoch + 1;
            return ours && same_attempt ? settle_late(row, end, std::move(outcome), now) : kRefused;
        }
        case CallState::succeeded:
        case CallState::failed:
        case CallState::cancelled:
        case CallState::not_applied: return kRefused;
    }
    return kRefused;
}

bool conclude(CallRow& row, std::uint32_t epoch, Reconciliation::Verdict verdict,
              std::shared_ptr<const StoredOutcome> outcome, base::WallTime now) noexcept {
    if (row.state != CallState::reconciling || row.epoch != epoch) return false;
    switch (verdict) {
        case Reconciliation::Verdict::applied:
            end_as(row, CallState::succeeded, std::move(outcome), now);
            break;
        case Reconciliation::Verdict::not_applied:
            row.maybe_applied = false;
            run_again_as(row, CallState::claimed);
            break;
        case Reconciliation::Verdict::cannot_tell:
            end_as(row, CallState::unknown, std::move(outcome), now);
            break;
    }
    return true;
}

bool resolve(CallRow& row, bool applied, std::shared_ptr<const StoredOutcome> outcome,
             base::WallTime now) noexcept {
    if (row.state != CallState::unknown) return false;
    end_as(row, applied ? CallState::succeeded : CallState::not_applied, std::move(outcome), now);
    return true;
}

}  // namespace callgate::ledger
