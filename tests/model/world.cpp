#include "world.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "moment.h"

namespace callgate::model {

using ledger::AttemptEnd;
using ledger::CallRow;
using ledger::CallState;
using Kind = Move::Kind;

namespace {

constexpr std::uint8_t kMany = 2;

std::uint8_t capped(std::uint32_t number, std::uint8_t most) {
    return static_cast<std::uint8_t>(std::min<std::uint32_t>(number, most));
}

bool once_only(EffectClass effect) {
    return effect == EffectClass::unsafe || effect == EffectClass::tx;
}

bool same(const CallRow& a, const CallRow& b) {
    return a.state == b.state && a.epoch == b.epoch && a.owner == b.owner && a.attempt == b.attempt &&
           a.maybe_applied == b.maybe_applied;
}

AttemptEnd end_of(Message answer) {
    switch (answer) {
        case Message::done: return AttemptEnd::succeeded;
        case Message::failed: return AttemptEnd::failed;
        default: return AttemptEnd::not_applied;
    }
}

bool is_answer(Message message) {
    return message == Message::done || message == Message::failed || message == Message::refused;
}

}  // namespace

World::World(const Settings& settings) : settings_(settings), faults_left_(settings.faults.value_or(0)) {
    for (std::size_t k = 0; k < kKeys; ++k) keys_[k].effect = settings.effects[k];
}

void World::count(std::string_view what) const {
    if (seen != nullptr) ++(*seen)[what];
}

void World::check(bool holds, std::string_view invariant) {
    if (!holds && violation_.empty()) violation_ = invariant;
}

bool World::take_fault() {
    if (!settings_.faults) return true;
    if (faults_left_ == 0) return false;
    --faults_left_;
    return true;
}

bool World::quiet() const noexcept {
    return std::ranges::all_of(keys_,
                               [](const Key& key) { return !key.has_row || ledger::is_end(key.state); });
}

ModelRows World::rows_of(const Key& key) const {
    static const StillTime time(kNow);
    std::uint32_t alive = 0;
    for (std::size_t n = 0; n < kNodes; ++n)
        if (nodes_[n].status == NodeStatus::alive) alive |= 1u << (n + 1);
    std::optional<CallRow> row;
    if (key.has_row) row = row_of(key);
    return {time, alive, std::move(row)};
}

/// What a procedure says it did is what it stored and recorded.
void World::check_stored(const ModelRows& rows, bool changed) {
    const std::string_view complaint = rows.complaint(changed);
    check(complaint.empty(), complaint);
}

CallRow World::row_of(const Key& key) const {
    CallRow row;
    row.key.key = "k";
    row.effect = key.effect;
    row.state = key.state;
    row.epoch = kNewest;
    row.attempt = kNewest;
    row.owner = key.owner == kNobody ? kGoneOwner : ledger::OwnerId{key.owner} + 1;
    row.maybe_applied = key.maybe_applied;
    return row;
}

void World::store(std::size_t k, const CallRow& before, const CallRow& after, bool said_so, bool removed) {
    Key& key = keys_[k];
    const bool changed = removed || !same(before, after);
    check(changed == said_so, "I5: a row changed without a word, or did not although it was said");
    if (!changed) return;
    check(!ledger::is_end(before.state) || before.state == CallState::unknown, "I4: an end changed");
    check(after.epoch >= before.epoch && after.attempt >= before.attempt, "an epoch or an attempt went back");
    count(to_string(after.state));
    const std::uint32_t epochs = after.epoch - before.epoch;
    const std::uint32_t attempts = after.attempt - before.attempt;
    const auto shift = [&](Belief& belief) {
        if (belief.row_gone) return;
        belief.epochs = capped(belief.epochs + epochs, kMany);
        belief.attempts = capped(belief.attempts + attempts, 1);
    };
    for (Node& node : nodes_) {
        shift(node.activities[k].belief);
        shift(node.late[k].belief);
        if (node.activities[k].doing == Doing::probing)
            node.activities[k].belief.attempts = 0;  // not asked for
    }
    key.has_row = true;
    key.state = after.state;
    key.owner =
        after.owner == 0 || after.owner > kNodes ? kNobody : static_cast<std::uint8_t>(after.owner - 1);
    key.maybe_applied = after.maybe_applied;
    if (removed) release(k);
}

void World::release(std::size_t k) {
    Key& key = keys_[k];
    count("released");
    check(key.applied == 0 || key.effect == EffectClass::read, "a key became free after an effect");
    // Who still means this row finds none, whatever it asks. Only what it sends can matter.
    for (Node& node : nodes_) {
        Activity& activity = node.activities[k];
        const Late late = std::exchange(node.late[k], {});
        drop_message(k, late.message);
        drop_message(k, activity.message);
        const bool may_send = activity.doing == Doing::ready && key.effect != EffectClass::read;
        activity = {};
        if (may_send) activity.doing = Doing::ready;
        activity.belief.row_gone = may_send;
    }
    Key fresh;
    fresh.effect = key.effect;
    fresh.old_orphans = capped(key.orphans + std::uint32_t{key.old_orphans}, kMany);
    fresh.unproven = key.unproven;
    key = fresh;
}

/// What is on the record, against what happened.
void World::judge(const Key& key) {
    const bool once = once_only(key.effect) || key.effect == EffectClass::verify;
    check(!once || key.applied <= 1, "I1: an effect happened twice");
    if (!key.has_row) return;
    switch (key.state) {
        case CallState::succeeded:
            check(key.applied > 0, "succeeded is on the record, and nothing happened");
            break;
        case CallState::failed:
        case CallState::not_applied:
        case CallState::cancelled:
            check(key.applied == 0 || key.effect == EffectClass::read,
                  "the record says that nothing happened, and it did");
            break;
        default: break;
    }
}

/// From now on nobody who knew the row has a right to it.
void World::passed_on(std::size_t k) {
    for (Node& node : nodes_) {
        if (node.activities[k].doing != Doing::nothing) node.activities[k].belief.passed_on = true;
        if (node.late[k].message != Message::none) node.late[k].belief.passed_on = true;
    }
}

void World::passed_fence(std::size_t n, std::size_t k, bool stale, const CallRow& row) {
    Key& key = keys_[k];
    for (std::size_t other = 0; other < kNodes; ++other) {
        Activity& activity = nodes_[other].activities[k];
        if (other != n && activity.doing != Doing::nothing && activity.doing != Doing::probing)
            activity.belief.outdated = true;
        if (nodes_[other].late[k].message != Message::none) nodes_[other].late[k].belief.outdated = true;
    }
    check(!stale, "I3: a stale owner dispatched");
    check(row.state == CallState::dispatched, "I2: an attempt may be sent without a dispatched row");
    if (!once_only(key.effect)) return;
    check(!key.unproven, "I1: dispatched again, and the attempt before is not proven not applied");
    key.unproven = true;
}

/// The node goes on with a row that is its own.
void World::begin(std::size_t n, std::size_t k, const CallRow& row) {
    Activity& activity = nodes_[n].activities[k];
    activity = {};
    switch (row.state) {
        case CallState::claimed: activity.doing = Doing::claimed; break;
        case CallState::dispatched: activity.doing = Doing::ready; break;
        case CallState::reconciling: activity.doing = Doing::probing; break;
        default: break;
    }
}

bool World::claim(std::size_t n, std::size_t k, bool dispatch) {
    Key& key = keys_[k];
    if (nodes_[n].status != NodeStatus::alive || nodes_[n].activities[k].doing != Doing::nothing)
        return false;
    ModelRows rows = rows_of(key);
    const CallRow before = rows.row.value_or(CallRow());
    CallRow claimant;
    claimant.key.key = "k";
    claimant.effect = key.effect;
    claimant.owner = n + 1;
    const ledger::ClaimVerdict foreseen = foresee_claim(rows.standing(), claimant.fingerprint);
    ledger::ClaimReply reply;
    const bool done = claim_call(rows, std::move(claimant), {.dispatch = dispatch}, reply).has_value();
    check(done && !reply.error, "a claim failed by itself");
    check(foreseen == reply.verdict, "a claim was told something else than a look before it");
    check_stored(rows, rows.stored());
    if (!rows.stored()) return false;
    const bool ours = reply.verdict == ledger::ClaimVerdict::claimed;
    CallRow row = *rows.row;
    if (rows.inserted()) {
        check(ours && row.epoch == 1, "a new row is not its claimant's");
        const bool sent = row.attempt != 0;
        row.epoch = kNewest;
        row.attempt = kNewest;
        key.has_row = true;
        key.state = row.state;
        key.owner = static_cast<std::uint8_t>(n);
        key.maybe_applied = row.maybe_applied;
        check(sent == (row.state == CallState::dispatched), "a new row counts its dispatch wrongly");
        count(to_string(row.state));
    } else {
        count("take-over");
        passed_on(k);
        store(k, before, row, true, false);
    }
    if (ours) {
        begin(n, k, row);
        if (row.state == CallState::dispatched) passed_fence(n, k, false, row);
    }
    return true;
}

bool World::dispatch(std::size_t n, std::size_t k) {
    Activity& activity = nodes_[n].activities[k];
    if (!running(n) || activity.doing != Doing::claimed) return false;
    const bool stale = activity.belief.passed_on;
    if (keys_[k].has_row && !activity.belief.row_gone) {
        ModelRows rows = rows_of(keys_[k]);
        const CallRow before = *rows.row;
        ledger::DispatchRequest request;
        request.epoch = kNewest - activity.belief.epochs;
        request.owner = n + 1;
        ledger::DispatchReply reply;
        const bool passed = dispatch_call(rows, request, reply) && !reply.fenced;
        check_stored(rows, passed);
        const CallRow& row = *rows.row;
        store(k, before, row, passed, false);
        if (passed) {
            passed_fence(n, k, stale, row);
            begin(n, k, row);
            return true;
        }
    }
    count("fenced");
    activity = {};
    return true;
}

bool World::send(std::size_t n, std::size_t k) {
    Activity& activity = nodes_[n].activities[k];
    if (activity.belief.row_gone) {
        activity = {};
        keys_[k].old_orphans = capped(keys_[k].old_orphans + 1u, kMany);
    } else {
        activity.doing = Doing::waiting;
        activity.message = Message::flying;
    }
    return true;
}

/// C4 for the attempt that is reported to have ended; where it goes on, the node goes on with it.
void World::report(std::size_t n, std::size_t k, const Belief& belief, AttemptEnd end, bool last,
                   bool goes_on) {
    Key& key = keys_[k];
    if (!key.has_row || belief.row_gone) return;
    ModelRows rows = rows_of(key);
    const CallRow before = *rows.row;
    const bool mine = !belief.passed_on && (before.state == CallState::claimed || !belief.outdated);
    ledger::SettleRequest request;
    request.epoch = kNewest - belief.epochs;
    request.attempt = kNewest - belief.attempts;
    request.end = end;
    request.last = last;
    ledger::SettleReply reply;
    check(settle_call(rows, request, nullptr, reply).has_value(), "a settlement failed by itself");
    const ledger::Settled settled = reply.settled;
    check_stored(rows, settled.accepted);
    check(rows.removed() == settled.released,
          "a key became free, and nobody was told; or was told, and it did not");
    const CallRow& row = *rows.row;
    check(row.state == reply.state, "a settlement was told another state than the row's");
    if (settled.accepted && end == AttemptEnd::not_applied && before.state != CallState::claimed)
        key.unproven = false;
    store(k, before, row, settled.accepted, settled.released);
    if (!settled.accepted) {
        count("refused");
        return;
    }
    if (settled.late) {
        count("late");
        check(before.state == CallState::unknown || before.state == CallState::reconciling,
              "late, and nobody had given up");
        check(!belief.outdated && belief.epochs <= 1, "I3: the late truth about another attempt");
        return;
    }
    check(mine, "I3: a stale owner settled");
    if (goes_on && !settled.released && !ledger::is_end(row.state)) begin(n, k, row);
}

bool World::settle(std::size_t n, std::size_t k, AttemptEnd end, bool last) {
    const Belief belief = std::exchange(nodes_[n].activities[k], {}).belief;
    report(n, k, belief, end, last, true);
    return true;
}

bool World::time_out(std::size_t n, std::size_t k, bool last) {
    Activity& activity = nodes_[n].activities[k];
    if (!running(n) || activity.doing != Doing::waiting || is_answer(activity.message)) return false;
    if (activity.message == Message::flying) {
        if (!take_fault()) return false;
        Late& late = nodes_[n].late[k];
        drop_message(k, late.message);
        late = {Message::flying, activity.belief};
    }
    return settle(n, k, AttemptEnd::ambiguous, last);
}

bool World::settle_late(std::size_t n, std::size_t k) {
    if (!running(n) || !is_answer(nodes_[n].late[k].message)) return false;
    const Late late = std::exchange(nodes_[n].late[k], {});
    report(n, k, late.belief, end_of(late.message), false, false);
    return true;
}

/// Something sent under this row may have its effect later than now.
bool World::may_still_happen(std::size_t k) const {
    if (keys_[k].orphans > 0) return true;
    return std::ranges::any_of(nodes_, [k](const Node& node) {
        const Activity& activity = node.activities[k];
        const Late& late = node.late[k];
        const bool sends = activity.doing == Doing::ready && !activity.belief.row_gone;
        return sends || activity.message == Message::flying || late.message == Message::flying;
    });
}

bool World::conclude(std::size_t n, std::size_t k, Reconciliation::Verdict verdict) {
    Activity& activity = nodes_[n].activities[k];
    Key& key = keys_[k];
    if (!running(n) || activity.doing != Doing::probing) return false;
    const Belief belief = activity.belief;
    const bool there = key.has_row && !belief.row_gone;
    if (there) {
        const bool applied = key.applied > 0;
        if (verdict == Reconciliation::Verdict::applied && !applied) return false;
        if (verdict == Reconciliation::Verdict::not_applied &&
            (applied || (may_still_happen(k) && !settings_.hasty_probe))) {
            return false;
        }
    }
    activity = {};
    if (!there) return true;
    ModelRows rows = rows_of(key);
    const CallRow before = *rows.row;
    ledger::ConcludeRequest request;
    request.epoch = kNewest - belief.epochs;
    request.verdict = verdict;
    ledger::ConcludeReply reply;
    const bool accepted = conclude_call(rows, request, nullptr, reply) && reply.accepted;
    check_stored(rows, accepted);
    const CallRow& row = *rows.row;
    store(k, before, row, accepted, false);
    if (!accepted) return true;
    count("probe");
    check(!belief.passed_on, "I3: a stale owner concluded");
    if (!ledger::is_end(row.state)) begin(n, k, row);
    return true;
}

bool World::has_effect(std::size_t k, bool row_gone) {
    Key& key = keys_[k];
    if (row_gone) {
        check(key.effect == EffectClass::read, "an effect happened under a key that had become free");
        return true;
    }
    const bool counted_once = key.effect == EffectClass::read || key.effect == EffectClass::keyed;
    key.applied = capped(key.applied + 1u, counted_once ? 1 : kMany);
    return true;
}

void World::drop_message(std::size_t k, Message message) {
    Key& key = keys_[k];
    if (message != Message::flying || key.effect == EffectClass::read) return;
    key.orphans = capped(key.orphans + 1u, kMany);
}

bool World::arrive(std::size_t k, Message& message, Kind kind) {
    if (message != Message::flying) return false;
    Key& key = keys_[k];
    const bool remembers = key.effect == EffectClass::keyed;
    switch (kind) {
        case Kind::applies:
        case Kind::applies_unheard:
        case Kind::late_applies:
            if (remembers && key.refused_for_good) return false;
            if (kind == Kind::applies_unheard && !take_fault()) return false;
            has_effect(k, false);
            message = kind == Kind::applies_unheard ? Message::silent : Message::done;
            return true;
        case Kind::fails:
        case Kind::late_fails:
            if (remembers && key.applied > 0) return false;
            key.refused_for_good = remembers;
            message = Message::failed;
            return true;
        case Kind::refuses:
        case Kind::late_refuses: message = Message::refused; return true;
        default:
            if (!take_fault()) return false;
            message = kind == Kind::late_gets_lost ? Message::none : Message::silent;
            return true;
    }
}

bool World::crash(std::size_t n) {
    Node& node = nodes_[n];
    if (node.status == NodeStatus::dead) return false;
    if (node.status == NodeStatus::alive && !take_fault()) return false;
    for (std::size_t k = 0; k < kKeys; ++k) {
        drop_message(k, node.activities[k].message);
        drop_message(k, node.late[k].message);
        if (keys_[k].owner == n) keys_[k].owner = kNobody;
    }
    node = {};
    node.status = NodeStatus::dead;
    return true;
}

bool World::give_up(std::size_t k) {
    Key& key = keys_[k];
    const bool alive = key.owner != kNobody && nodes_[key.owner].status == NodeStatus::alive;
    if (!key.has_row || alive || ledger::is_end(key.state)) return false;
    ModelRows rows = rows_of(key);
    const CallRow before = *rows.row;
    passed_on(k);
    check(give_up_call(rows, *rows.row).has_value(), "a dead owner's call cannot be given up");
    check_stored(rows, true);
    store(k, before, *rows.row, true, rows.removed());
    return true;
}

bool World::resolve(std::size_t k, bool applied) {
    Key& key = keys_[k];
    if (!key.has_row || key.state != CallState::unknown) return false;
    if (applied != (key.applied > 0) || (!applied && may_still_happen(k))) return false;
    ModelRows rows = rows_of(key);
    const CallRow before = *rows.row;
    AuditEvent event;
    const bool accepted = flattened(resolve_call(rows, {}, applied, nullptr, event)).has_value();
    check(accepted, "an unknown outcome cannot be resolved");
    check_stored(rows, accepted);
    store(k, before, *rows.row, accepted, false);
    count("resolved");
    return true;
}

bool World::orphan(std::size_t k, bool row_gone, bool applies) {
    Key& key = keys_[k];
    std::uint8_t& there = row_gone ? key.old_orphans : key.orphans;
    if (there == 0) return false;
    --there;
    const bool no = key.effect == EffectClass::keyed && !row_gone && key.refused_for_good;
    return !applies || no || has_effect(k, row_gone);
}

bool World::apply(const Move& move) {
    const std::size_t n = move.node;
    const std::size_t k = move.key;
    if (k >= settings_.keys) return false;
    Activity& activity = nodes_[n].activities[k];
    Late& late = nodes_[n].late[k];
    const bool runs = running(n);
    const auto doing = [&](Doing what) { return runs && activity.doing == what; };
    bool possible = false;
    switch (move.kind) {
        case Kind::claim: possible = claim(n, k, true); break;
        case Kind::claim_only: possible = claim(n, k, false); break;
        case Kind::dispatch: possible = dispatch(n, k); break;
        case Kind::send: possible = doing(Doing::ready) && send(n, k); break;
        case Kind::cannot_send:
        case Kind::cannot_send_once:
            possible =
                doing(Doing::ready) && settle(n, k, AttemptEnd::not_applied, move.kind == Kind::cannot_send);
            break;
        case Kind::answer_ends:
            possible = doing(Doing::waiting) && is_answer(activity.message) &&
                       settle(n, k, end_of(activity.message), true);
            break;
        case Kind::answer_once:
            possible = doing(Doing::waiting) && activity.message == Message::refused &&
                       settle(n, k, AttemptEnd::not_applied, false);
            break;
        case Kind::time_out:
        case Kind::time_out_once: possible = time_out(n, k, move.kind == Kind::time_out); break;
        case Kind::call_off:
            possible = doing(Doing::claimed) && settle(n, k, AttemptEnd::cancelled, true);
            break;
        case Kind::give_in:
            possible = doing(Doing::claimed) && settle(n, k, AttemptEnd::not_applied, true);
            break;
        case Kind::forget:
            possible = doing(Doing::waiting) && !settings_.faults;
            if (possible) drop_message(k, activity.message);
            if (possible) activity = {};
            break;
        case Kind::late_answer: possible = settle_late(n, k); break;
        case Kind::probe_applied: possible = conclude(n, k, Reconciliation::Verdict::applied); break;
        case Kind::probe_not_applied: possible = conclude(n, k, Reconciliation::Verdict::not_applied); break;
        case Kind::probe_cannot_tell: possible = conclude(n, k, Reconciliation::Verdict::cannot_tell); break;
        case Kind::applies:
        case Kind::applies_unheard:
        case Kind::fails:
        case Kind::refuses:
        case Kind::gets_lost: possible = arrive(k, activity.message, move.kind); break;
        case Kind::late_applies:
        case Kind::late_fails:
        case Kind::late_refuses:
        case Kind::late_gets_lost: possible = arrive(k, late.message, move.kind); break;
        case Kind::crash: possible = crash(n); break;
        case Kind::lose_lease:
            possible = nodes_[n].status == NodeStatus::alive && take_fault();
            if (possible) nodes_[n].status = NodeStatus::zombie;
            break;
        case Kind::restart:
            possible = nodes_[n].status == NodeStatus::dead;
            if (possible) nodes_[n].status = NodeStatus::alive;
            break;
        case Kind::give_up: possible = give_up(k); break;
        case Kind::resolve_applied: possible = resolve(k, true); break;
        case Kind::resolve_not_applied: possible = resolve(k, false); break;
        case Kind::orphan_applies: possible = orphan(k, false, true); break;
        case Kind::orphan_gets_lost: possible = orphan(k, false, false); break;
        case Kind::old_orphan_applies: possible = orphan(k, true, true); break;
        case Kind::old_orphan_gets_lost: possible = orphan(k, true, false); break;
    }
    if (possible) judge(keys_[k]);
    return possible;
}

}  // namespace callgate::model
