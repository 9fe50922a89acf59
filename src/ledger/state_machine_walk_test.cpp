// Random walks over the rules: three owners that die, come back as zombies and answer late, two keys of each
// effect class, probes, retries and people. A ghost beside each row knows what really happened in the world;
// after every step the invariants of state_machine.h must hold.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/guard.h"
#include "base/rng.h"
#include "ledger/state_machine.h"

namespace callgate::ledger {
namespace {

constexpr base::WallTime kNow{std::chrono::sys_days{std::chrono::January / 2 / 2026}};
constexpr std::size_t kOwners = 3;
constexpr std::size_t kKeys = 2;

/// One step, as random numbers; what they mean depends on the state they meet.
struct Step {
    std::uint8_t action;
    std::uint8_t who;
    std::uint8_t how;
};

/// What an owner believes about a key. It is never told that it was declared dead: that makes it a zombie.
struct Belief {
    std::uint64_t row = 0;  // which row of the key, 0 is none
    std::uint32_t epoch = 0;
    std::uint32_t attempt = 0;  // of its dispatch under way, 0 is none
    bool applied = false;       // what that attempt did
};

/// An attempt that its owner gave up, and that may still answer.
struct GivenUp {
    std::uint64_t row = 0;
    std::uint32_t epoch = 0;
    std::uint32_t attempt = 0;
    bool applied = false;
};

class World {
public:
    explicit World(EffectClass effect) : effect_(effect) {}

    /// The broken invariant, if one is.
    std::optional<std::string> take(const Step& step) {
        const std::size_t owner = step.who % kOwners;
        const std::size_t key = step.who / kOwners % kKeys;
        switch (step.action % 10) {
            case 0: claim(owner, key); break;
            case 1: dispatch(owner, key, step.how); break;
            case 2:
            case 3: settle(owner, key, step.how); break;
            case 4: alive_[owner] = false; break;  // or so the others think
            case 5: alive_[owner] = true; break;
            case 6: crash(owner, key); break;
            case 7: probe(owner, key, step.how); break;
            case 8: resolve(key); break;
            case 9: answer_late(owner, key, step.how); break;
        }
        return broken_;
    }

    std::map<std::string, int> seen;

private:
    struct Key {
        std::optional<CallRow> row;
        std::uint64_t number = 0;  // of the row under this key
        int effects = 0;           // what the world saw, over all rows of the key
    };

    OwnerId id(std::size_t owner) const { return owner + 1; }

    void check(bool holds, std::string_view invariant) {
        if (!holds && !broken_) broken_ = invariant;
    }

    /// After a change of the row from `before`.
    void check_transition(CallState before, const CallRow& row) {
        check(!is_end(before) || before == CallState::unknown, "I4: an end changed");
        ++seen[std::string(to_string(row.state))];
    }

    void claim(std::size_t owner, std::size_t k) {
        Key& key = keys_[k];
        if (!alive_[owner]) return;
        const CallRow* standing = key.row ? &*key.row : nullptr;
        const bool owner_alive = standing != nullptr && standing->owner > 0 && alive_[standing->owner - 1];
        const ClaimVerdict verdict = judge_claim(standing, {}, owner_alive);
        if (verdict == ClaimVerdict::claimed) {
            key.row.emplace();
            key.row->effect = effect_;
            key.row->owner = id(owner);
            ++key.number;
            beliefs_[owner][k] = {key.number, 1, 0, false};
        } else if (verdict == ClaimVerdict::dead_owner) {
            const CallState before = key.row->state;
            ++seen["take-over"];
            check(take_over(*key.row, id(owner)), "a dead owner's call cannot be taken over");
            check_transition(before, *key.row);
            if (key.row->state != CallState::unknown)
                beliefs_[owner][k] = {key.number, key.row->epoch, 0, false};
        }
    }

    /// The row that an owner means, if it is still there.
    CallRow* meant(std::size_t owner, std::size_t k) {
        Key& key = keys_[k];
        const Belief& belief = beliefs_[owner][k];
        return key.row && belief.row == key.number && belief.row != 0 ? &*key.row : nullptr;
    }

    void dispatch(std::size_t owner, std::size_t k, std::uint8_t how) {
        CallRow* row = meant(owner, k);
        Belief& belief = beliefs_[owner][k];
        if (row == nullptr || belief.attempt != 0) return;
        const bool stale = row->epoch != belief.epoch || row->owner != id(owner);
        const CallState before = row->state;
        if (!ledger::dispatch(*row, belief.epoch, id(owner), {})) {
            seen["fenced"] += stale ? 1 : 0;
            return;
        }
        check_transition(before, *row);
        check(!stale, "I3: a stale owner dispatched");
        check(row->state == CallState::dispatched, "I2: an effect without a dispatched row");
        belief.attempt = row->attempt;
        belief.applied = how % 2 == 0;
        if (belief.applied) {
            ++keys_[k].effects;
            const bool once = effect_ == EffectClass::unsafe || effect_ == EffectClass::tx ||
                              effect_ == EffectClass::verify;
            check(!once || keys_[k].effects <= 1, "I1: an effect happened twice");
        }
    }

    void settle(std::size_t owner, std::size_t k, std::uint8_t how) {
        CallRow* row = meant(owner, k);
        Belief& belief = beliefs_[owner][k];
        if (row == nullptr) return;
        const bool last = how % 2 == 0;
        AttemptEnd end = AttemptEnd::cancelled;
        if (belief.attempt != 0) {
            switch (how / 2 % 4) {
                case 0: end = AttemptEnd::ambiguous; break;
                case 1: end = belief.applied ? AttemptEnd::succeeded : AttemptEnd::not_applied; break;
                case 2: end = belief.applied ? AttemptEnd::ambiguous : AttemptEnd::failed; break;
                case 3: end = belief.applied ? AttemptEnd::succeeded : AttemptEnd::not_applied; break;
            }
        }
        const Belief was = belief;
        if (end == AttemptEnd::ambiguous)
            given_up_[owner][k] = {was.row, was.epoch, was.attempt, was.applied};
        belief.attempt = 0;
        report(k, *row, was.epoch, was.attempt, end, last);
    }

    /// The truth about an attempt that was given up.
    void answer_late(std::size_t owner, std::size_t k, std::uint8_t how) {
        const GivenUp& old = given_up_[owner][k];
        if (!keys_[k].row || old.row != keys_[k].number || old.attempt == 0) return;
        const AttemptEnd no = how % 2 == 0 ? AttemptEnd::failed : AttemptEnd::not_applied;
        report(k, *keys_[k].row, old.epoch, old.attempt, old.applied ? AttemptEnd::succeeded : no, false);
    }

    void report(std::size_t k, CallRow& reported, std::uint32_t epoch, std::uint32_t attempt, AttemptEnd end,
                bool last) {
        CallRow* const row = &reported;
        const CallState before = row->state;
        const bool mine = row->epoch == epoch && (before == CallState::claimed || row->attempt == attempt);
        const bool last_attempt = row->attempt == attempt && attempt != 0;
        const Settled settled = ledger::settle(*row, epoch, attempt, end, last, nullptr, kNow);
        if (!settled.accepted) return;
        check_transition(before, *row);
        if (settled.late) {
            ++seen["late"];
            check(last_attempt, "I3: somebody else's attempt was settled");
            check(before == CallState::unknown || before == CallState::reconciling,
                  "late, and nobody had given up");
        } else {
            check(mine, "I3: a stale owner settled");
        }
        check(row->state != CallState::not_applied || keys_[k].effects == 0 || effect_ == EffectClass::read,
              "an effect that happened was called not applied");
        if (settled.released) {
            ++seen["released"];
            check(keys_[k].effects == 0 || effect_ == EffectClass::read, "a key became free after an effect");
            keys_[k].row.reset();
        }
    }

    /// The owner dies in the middle of an attempt, which may still answer; it knows of nothing afterwards.
    void crash(std::size_t owner, std::size_t k) {
        Belief& belief = beliefs_[owner][k];
        if (belief.attempt != 0)
            given_up_[owner][k] = {belief.row, belief.epoch, belief.attempt, belief.applied};
        belief = {};
        alive_[owner] = false;
    }

    void probe(std::size_t owner, std::size_t k, std::uint8_t how) {
        CallRow* row = meant(owner, k);
        if (row == nullptr) return;
        auto verdict =
            keys_[k].effects > 0 ? Reconciliation::Verdict::applied : Reconciliation::Verdict::not_applied;
        if (how % 3 == 0) verdict = Reconciliation::Verdict::cannot_tell;
        const CallState before = row->state;
        const bool stale = row->epoch != beliefs_[owner][k].epoch;
        if (!conclude(*row, beliefs_[owner][k].epoch, verdict, nullptr, kNow)) return;
        ++seen["probe"];
        check_transition(before, *row);
        check(!stale, "I3: a stale owner concluded");
        beliefs_[owner][k].attempt = 0;
    }

    void resolve(std::size_t k) {
        Key& key = keys_[k];
        if (!key.row) return;
        const CallState before = key.row->state;
        if (ledger::resolve(*key.row, key.effects > 0, nullptr, kNow)) check_transition(before, *key.row);
    }

    EffectClass effect_;
    Key keys_[kKeys];
    Belief beliefs_[kOwners][kKeys];
    GivenUp given_up_[kOwners][kKeys];
    bool alive_[kOwners] = {true, true, true};
    std::optional<std::string> broken_;
};

constexpr EffectClass kEffects[] = {EffectClass::read, EffectClass::keyed, EffectClass::verify,
                                    EffectClass::tx, EffectClass::unsafe};

std::optional<std::string> walk(EffectClass effect, const std::vector<Step>& steps,
                                std::map<std::string, int>* seen) {
    World world(effect);
    for (const Step& step : steps) {
        if (auto broken = world.take(step)) return broken;
    }
    if (seen != nullptr) {
        for (const auto& [what, count] : world.seen) (*seen)[what] += count;
    }
    return std::nullopt;
}

std::vector<Step> random_steps(base::Rng& rng, std::size_t count) {
    std::vector<Step> steps(count);
    for (Step& step : steps) {
        const std::uint64_t bits = rng.next_u64();
        step = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8),
                static_cast<std::uint8_t>(bits >> 16)};
    }
    return steps;
}

RC_GTEST_PROP(StateMachineWalk, InvariantsHoldOnAnyPath, ()) {
    const auto effect =
        *rc::gen::elementOf(std::vector<EffectClass>(std::begin(kEffects), std::end(kEffects)));
    const auto numbers =
        *rc::gen::container<std::vector<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>>>(
            rc::gen::arbitrary<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>>());
    std::vector<Step> steps;
    for (const auto& [action, who, how] : numbers) steps.push_back({action, who, how});
    const auto broken = walk(effect, steps, nullptr);
    if (broken) RC_FAIL(*broken);
}

TEST(StateMachineWalk, InvariantsHoldOnLongPathsThatReachEverything) {
    std::map<std::string, int> seen;
    for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
        base::SeededRng rng(seed);
        for (const EffectClass effect : kEffects) {
            const auto broken = walk(effect, random_steps(rng, 120), &seen);
            ASSERT_FALSE(broken) << *broken << " (seed " << seed << ", effect " << static_cast<int>(effect)
                                 << ")";
        }
    }
    for (const char* what :
         {"claimed", "dispatched", "reconciling", "succeeded", "failed", "unknown", "cancelled",
          "not_applied", "take-over", "fenced", "late", "released", "probe"}) {
        EXPECT_GT(seen[what], 100) << what;
    }
}

TEST(StateMachineWalk, WithoutTheEpochFenceAnInvariantBreaks) {
#ifdef CALLGATE_FAILPOINTS
    base::guards_off() = 1u << static_cast<unsigned>(base::Guard::epoch_fence);
    std::map<std::string, int> broken;
    for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
        base::SeededRng rng(seed);
        if (const auto what = walk(EffectClass::unsafe, random_steps(rng, 120), nullptr)) ++broken[*what];
    }
    base::guards_off() = 0;
    EXPECT_GT(broken["I3: a stale owner dispatched"], 0);
    EXPECT_GT(broken["I3: a stale owner settled"] + broken["I1: an effect happened twice"], 0);
#else
    GTEST_SKIP() << "guards cannot be switched off in this build";
#endif
}

}  // namespace
}  // namespace callgate::ledger
