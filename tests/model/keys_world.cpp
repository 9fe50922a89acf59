#include "keys_world.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "moment.h"
#include "packed_bits.h"

namespace callgate::model {

using ledger::AttemptEnd;
using ledger::CallRow;
using ledger::CallState;

namespace {

base::Sha256Digest fingerprint(std::uint8_t print) {
    base::Sha256Digest digest{};
    digest[0] = static_cast<std::uint8_t>(print + 1);
    return digest;
}

// The moves, in their order: each of these for both callers, then what happens by itself.
constexpr int kOfCaller = 4;  // 0 to 3 are claims, by caller and request
constexpr const char* kCallers[] = {"arrives", "gets lost", "answers", "refuses", "times out", "crashes"};
constexpr int kByItself = kOfCaller + 2 * 6;
constexpr const char* kSelf[] = {"the call is old",
                                 "the other side forgets the key",
                                 "the outcome expires",
                                 "the tombstone goes",
                                 "it is given up",
                                 "somebody finds: applied",
                                 "somebody finds: not applied",
                                 "the orphan arrives",
                                 "the orphan gets lost",
                                 "nothing"};
static_assert(kByItself + 10 == KeysWorld::kMoves);

}  // namespace

std::string KeysWorld::name(int move) {
    if (move < kOfCaller) return fmt::format("caller {} claims for request {}", move / 2 + 1, move % 2 + 1);
    if (move < kByItself)
        return fmt::format("of caller {}: {}", (move - kOfCaller) / 6 + 1, kCallers[(move - kOfCaller) % 6]);
    return kSelf[move - kByItself];
}

std::uint64_t KeysWorld::pack() const {
    PackedBits out;
    out.add(s_.has_row, 1);
    out.add(static_cast<std::uint64_t>(s_.state), 3);
    out.add(s_.owner, 2);
    out.add(s_.maybe_applied, 1);
    out.add(s_.print, 1);
    out.add(s_.old, 1);
    out.add(s_.tomb, 1);
    out.add(s_.remembers, 1);
    out.add(s_.applied, 2);
    out.add(s_.prints, 2);
    out.add(s_.orphan, 2);
    for (const Caller& caller : s_.callers) {
        out.add(static_cast<std::uint64_t>(caller.doing), 2);
        out.add(caller.print, 1);
    }
    return out.value();
}

KeysWorld KeysWorld::unpack(std::uint64_t packed, const KeysSettings& settings) {
    KeysWorld world(settings);
    PackedBits bits(packed);
    State& s = world.s_;
    for (std::size_t n = 2; n-- > 0;) {
        s.callers[n].print = bits.take(1);
        s.callers[n].doing = static_cast<Doing>(bits.take(2));
    }
    s.orphan = bits.take(2);
    s.prints = bits.take(2);
    s.applied = bits.take(2);
    s.remembers = bits.take(1) != 0;
    s.tomb = bits.take(1) != 0;
    s.old = bits.take(1) != 0;
    s.print = bits.take(1);
    s.maybe_applied = bits.take(1) != 0;
    s.owner = bits.take(2);
    s.state = static_cast<CallState>(bits.take(3));
    s.has_row = bits.take(1) != 0;
    return world;
}

CallRow KeysWorld::row() const {
    CallRow row;
    row.key.key = "k";
    row.fingerprint = fingerprint(s_.print);
    row.effect = settings_.effect;
    row.state = s_.state;
    row.epoch = kNewest;
    row.attempt = kNewest;
    row.owner = s_.owner == 0 ? kGoneOwner : s_.owner;
    row.maybe_applied = s_.maybe_applied;
    return row;
}

ModelRows KeysWorld::rows() const {
    static const StillTime time(kNow);
    std::optional<CallRow> under_key;
    if (s_.has_row) under_key = row();
    // Both callers can claim; whether the row's owner is gone, the row says.
    return {time, 1u << 1 | 1u << 2, std::move(under_key),
            s_.tomb && settings_.mutant != KeysSettings::Mutant::no_tombstone,
            s_.has_row && s_.old && settings_.mutant != KeysSettings::Mutant::ageless};
}

void KeysWorld::check_stored(const ModelRows& rows, bool changed) {
    const std::string_view complaint = rows.complaint(changed);
    if (!complaint.empty()) check(false, complaint.data());
}

bool KeysWorld::busy() const {
    return s_.orphan != 0 ||
           std::ranges::any_of(s_.callers, [](const Caller& one) { return one.doing != Doing::nothing; });
}

bool KeysWorld::claim(std::uint8_t n, std::uint8_t print) {
    if (s_.callers[n].doing != Doing::nothing) return false;
    ModelRows rows = this->rows();
    CallRow claimant;
    claimant.key.key = "k";
    claimant.effect = settings_.effect;
    claimant.owner = n + 1u;
    const bool blind = settings_.mutant == KeysSettings::Mutant::one_fingerprint && s_.has_row;
    claimant.fingerprint = fingerprint(blind ? s_.print : print);
    const ledger::ClaimVerdict foreseen = foresee_claim(rows.standing(), claimant.fingerprint);
    ledger::ClaimReply reply;
    const bool done = claim_call(rows, std::move(claimant), {}, reply).has_value();
    check(done && !reply.error, "a claim failed by itself");
    check(foreseen == reply.verdict, "a claim was told something else than a look before it");
    check_stored(rows, rows.stored());
    check(!(reply.verdict == ledger::ClaimVerdict::replay && s_.has_row && s_.print != print),
          "one request was given the outcome of another");
    if (!rows.stored()) return !violation_.empty();
    const bool mine = reply.verdict == ledger::ClaimVerdict::claimed;
    if (rows.inserted()) {
        s_.has_row = true;
        s_.print = print;
        s_.old = false;
    }
    s_.state = rows.row->state;
    s_.owner = mine ? static_cast<std::uint8_t>(n + 1) : s_.owner;
    s_.maybe_applied = rows.row->maybe_applied;
    if (mine) s_.callers[n] = {Doing::flying, print};
    return true;
}

bool KeysWorld::put(const CallRow& after, bool released) {
    s_.state = after.state;
    s_.maybe_applied = after.maybe_applied;
    if (after.owner == 0) s_.owner = 0;
    if (!released) return true;
    check(s_.applied == 0 || settings_.effect == EffectClass::read, "a key became free after an effect");
    s_.has_row = false;
    s_.state = CallState::claimed;
    s_.owner = 0;
    s_.maybe_applied = s_.old = false;
    s_.print = 0;
    return true;
}

bool KeysWorld::end(std::uint8_t n, AttemptEnd how) {
    s_.callers[n] = {};
    ModelRows rows = this->rows();
    ledger::SettleRequest request;
    request.epoch = kNewest;
    request.attempt = kNewest;
    request.end = how;
    ledger::SettleReply reply;
    const bool accepted = settle_call(rows, request, nullptr, reply) && reply.settled.accepted;
    check(accepted, "the end of a call that nobody else has was refused");
    check_stored(rows, accepted);
    return !rows.row || put(*rows.row, rows.removed());
}

bool KeysWorld::happens(std::uint8_t print) {
    const bool keyed = settings_.effect == EffectClass::keyed;
    if (!keyed || !s_.remembers) {
        s_.applied = static_cast<std::uint8_t>(std::min(s_.applied + 1, 2));
        s_.prints = static_cast<std::uint8_t>(s_.prints | 1u << print);
    }
    s_.remembers = keyed;
    return true;
}

bool KeysWorld::crash(std::uint8_t n) {
    if (s_.owner != n + 1 && s_.callers[n].doing == Doing::nothing) return false;
    if (s_.callers[n].doing == Doing::flying) {
        if (s_.orphan != 0) return false;
        s_.orphan = static_cast<std::uint8_t>(1 + s_.callers[n].print);
    }
    s_.callers[n] = {};
    if (s_.owner == n + 1) s_.owner = 0;
    return true;
}

bool KeysWorld::time_passes(int move) {
    const bool ended = s_.has_row && ledger::is_end(s_.state);
    switch (move) {
        case 0:  // no message and no deadline lives that long
            if (!s_.has_row || s_.old || busy()) return false;
            s_.old = true;
            return true;
        case 1:  // who takes keys keeps them for as long as we do
            if (!s_.remembers || (s_.has_row && !s_.old)) return false;
            s_.remembers = false;
            return true;
        case 2:
            if (!ended || s_.state == CallState::unknown || !s_.old) return false;
            s_.has_row = s_.old = s_.maybe_applied = false;
            s_.state = CallState::claimed;
            s_.owner = s_.print = 0;
            s_.tomb = true;
            return true;
        case 3:  // the promise ends here
            if (!s_.tomb || s_.has_row || busy()) return false;
            s_ = {};
            return true;
        default: return false;
    }
}

bool KeysWorld::apply(int move) {
    bool possible = false;
    if (move < kOfCaller) {
        possible = claim(static_cast<std::uint8_t>(move / 2), static_cast<std::uint8_t>(move % 2));
    } else if (move < kByItself) {
        const auto n = static_cast<std::uint8_t>((move - kOfCaller) / 6);
        Caller& caller = s_.callers[n];
        switch ((move - kOfCaller) % 6) {
            case 0:
                possible = caller.doing == Doing::flying && happens(caller.print);
                if (possible) caller.doing = Doing::happened;
                break;
            case 1:
                possible = caller.doing == Doing::flying;
                if (possible) caller.doing = Doing::lost;
                break;
            case 2: possible = caller.doing == Doing::happened && end(n, AttemptEnd::succeeded); break;
            case 3: possible = caller.doing == Doing::flying && end(n, AttemptEnd::not_applied); break;
            case 4:
                possible = (caller.doing == Doing::happened || caller.doing == Doing::lost) &&
                           end(n, AttemptEnd::ambiguous);
                break;
            default: possible = crash(n);
        }
    } else if (move - kByItself < 4) {
        possible = time_passes(move - kByItself);
    } else {
        ModelRows rows = this->rows();
        switch (move - kByItself) {
            case 4:
                if (s_.has_row && s_.owner == 0 && !ledger::is_end(s_.state) && s_.old) {
                    possible = give_up_call(rows, *rows.row).has_value() && put(*rows.row, rows.removed());
                    check_stored(rows, true);
                }
                break;
            case 5:
            case 6: {
                const bool applied = move - kByItself == 5;
                AuditEvent event;
                possible = s_.has_row && s_.state == CallState::unknown && !busy() &&
                           applied == (s_.applied > 0) &&
                           flattened(resolve_call(rows, {}, applied, nullptr, event)).has_value() &&
                           put(*rows.row, false);
                if (possible) check_stored(rows, true);
                break;
            }
            case 7:
                possible = s_.orphan != 0 && happens(static_cast<std::uint8_t>(s_.orphan - 1));
                if (possible) s_.orphan = 0;
                break;
            case 8:
                possible = s_.orphan != 0;
                s_.orphan = 0;
                break;
            default: break;
        }
    }
    if (possible) judge();
    return possible;
}

void KeysWorld::judge() {
    if (settings_.effect == EffectClass::read) return;
    check(s_.applied <= 1, "an effect happened twice under one key");
    check(s_.prints != 3, "two requests had their effect under one key");
    if (s_.has_row && s_.state == CallState::succeeded)
        check(s_.applied > 0, "succeeded is on the record, and nothing happened");
}

}  // namespace callgate::model
