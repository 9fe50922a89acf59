// The rules of the ledger as pure functions: what a request does to a row. Every ledger, in memory or
// durable, decides by these and only stores; an exhaustive test drives these and no copy of them.
//
//   C1 claim       a new key is claimed; a known one is replayed, refused, or waited for
//   C2 take_over   a dead owner's call: claimed again, unknown, or reconciling, by state and effect class
//   C3 dispatch    the fence: only the owner of the current epoch may touch the world
//   C4 settle      the outcome of that epoch, or the late truth about an attempt that others gave up on
//   C5 conclude    a probe's verdict
//
// I1 an unsafe call passes C3 at most once. I2 no effect without a dispatched row. I3 a stale owner passes
// neither C3 nor C4. I4 an end does not change, except unknown when it is resolved.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/result.h>

#include "ledger/call_row.h"

namespace callgate::ledger {

enum class ClaimVerdict : std::uint8_t {
    claimed,      ///< it is ours
    replay,       ///< finished: take its outcome
    in_progress,  ///< somebody runs it
    key_reused,   ///< the same key with another request
    key_expired,  ///< used long ago; its outcome is gone
    unknown,      ///< its outcome is unknown, and it may not be sent again
    dead_owner,   ///< nobody runs it any more, and it may be taken over
};
std::string_view to_string(ClaimVerdict verdict) noexcept;

/// What became of an end that was reported.
struct Settled {
    bool accepted = false;
    bool late = false;      ///< it settled what had been given up as unknown
    bool released = false;  ///< the row goes: the key is free again
};

/// C1, without a take-over. `row` is what stands under the key, or null. An unknown outcome may be taken over
/// where that cannot repeat an effect: read and keyed at any time, verify once its owner, and so whatever it
/// had running, is gone.
ClaimVerdict judge_claim(const CallRow* row, const base::Sha256Digest& fingerprint,
                         bool owner_alive) noexcept;

/// C2: a row that judge_claim calls dead_owner passes to `owner`. Claimed, or dispatched and may be sent
/// again: claimed. Verify: reconciling. Unsafe and tx: unknown. False, and nothing changes, if it has ended.
bool take_over(CallRow& row, OwnerId owner) noexcept;

/// A call in doubt, which only its probe can settle without a person: verify, sent, without an outcome, and
/// its owner gone. C2 makes it reconciling.
bool needs_probe(const CallRow& row, bool owner_alive) noexcept;

/// C2 for a call of a gone owner that nobody can or may go on with: unknown, or released if nothing can have
/// happened.
Settled give_up(CallRow& row, base::WallTime now) noexcept;

/// The verdict on a claim after a take-over.
ClaimVerdict verdict_after_take_over(const CallRow& row) noexcept;

/// What stands under the key of a claim. Where a keyed call was sent and is stale, whoever knew its key then
/// may not know it now: it is not sent again, its outcome stays unknown.
struct Standing {
    const CallRow* row = nullptr;  ///< null: none
    bool owner_alive = false;      ///< the row's
    bool spent = false;            ///< none, but a tombstone: used long ago
    bool stale = false;            ///< begun so long ago that others may have forgotten its key
};

/// The approval that a claim uses up.
struct ApprovalUse {
    std::string id;
    std::string digest;
};

/// What a claim says beside its row.
struct ClaimTerms {
    std::optional<ApprovalUse> approval{};
    /// The fingerprint under which this same request is on record, where that is not the row's own. A
    /// take-over that goes on writes the row's own in its place.
    std::optional<base::Sha256Digest> recorded_as{};
    bool dispatch = true;  ///< pass C3 in the same step
};

/// What a claim does: C1, C2 and, where it is asked for, C3, as one decision that a ledger stores as a whole.
/// What is stored has an event beside it: the claimant's own if it is claimed, the ledger's if a dead owner's
/// call was found that may never be sent again.
struct ClaimDecision {
    enum class Store : std::uint8_t {
        nothing,  ///< `row` is empty; what stands in the way stays as it is
        insert,   ///< a new row
        update    ///< taken over: instead of the row that stands there
    };
    ClaimVerdict verdict = ClaimVerdict::claimed;  ///< never dead_owner
    Store store = Store::nothing;
    CallRow row;
};

/// `claimant` is what ClaimRequest carries: key, call id, fingerprint, effect, owner, definition, arguments.
/// C3 is passed in the same step where the terms say so, unless a probe has to be asked first.
ClaimDecision decide_claim(const Standing& standing, CallRow claimant, const ClaimTerms& terms,
                           base::WallTime now);

/// The verdict that a claim with this fingerprint would get now.
ClaimVerdict foresee_claim(const Standing& standing, const base::Sha256Digest& fingerprint);

/// Whether a call is given up as soon as its owner is gone: it may never be sent again, or it has no key
/// under which another could find it. What does not is left to the claim that takes it over.
bool ends_with_its_owner(const CallRow& row) noexcept;

/// C3. False: fenced, nothing may be sent.
bool dispatch(CallRow& row, std::uint32_t epoch, OwnerId owner,
              const base::Sha256Digest& definition_hash) noexcept;

/// How an attempt ended.
enum class AttemptEnd : std::uint8_t {
    succeeded,
    failed,       ///< definite: the tool told so
    not_applied,  ///< proven: back to claimed, or released if there is no further attempt
    ambiguous,    ///< sent, and no answer: unknown, unless the effect class lets it be sent again
    cancelled     ///< before anything was sent
};

/// C4. `last` is false where the caller goes on: not_applied, or ambiguous for read and keyed: back to
/// claimed; ambiguous for verify: reconciling, and the caller asks the probe. What ends without a trace
/// (not_applied, cancelled, an ambiguous read) is released, unless an earlier attempt may have had its
/// effect: that is unknown. From claimed, where nothing was sent, only cancelled, not_applied and ambiguous
/// are taken, and only as the last. An answer that arrives after its attempt was given up is sent with `last`
/// false: it settles what is unknown and disturbs nothing else.
Settled settle(CallRow& row, std::uint32_t epoch, std::uint32_t attempt, AttemptEnd end, bool last,
               std::shared_ptr<const StoredOutcome> outcome, base::WallTime now) noexcept;

/// C5. applied: succeeded. not_applied: claimed, to be dispatched again or settled. cannot_tell: unknown.
/// False if the epoch has passed or it is not reconciling.
bool conclude(CallRow& row, std::uint32_t epoch, Reconciliation::Verdict verdict,
              std::shared_ptr<const StoredOutcome> outcome, base::WallTime now) noexcept;

/// A person's finding about an unknown outcome. False if it is not unknown.
bool resolve(CallRow& row, bool applied, std::shared_ptr<const StoredOutcome> outcome,
             base::WallTime now) noexcept;

}  // namespace callgate::ledger
