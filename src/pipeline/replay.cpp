#include "pipeline/replay.h"

#include "pipeline/call.h"
#include "pipeline/key.h"
#include "pipeline/stored.h"

namespace callgate::pipeline {
namespace {

enum class ReplayPhase : std::uint8_t {
    peek,
    peeked,      ///< the ledger has replied what is under the key
    subscribed,  ///< and to the wish to wait for another call with the key
    waiting,     ///< for that call
    done
};

// What is on record may be this request under another fingerprint: without the defaults that were filled in
// here, or as earlier versions made it (docs/decisions/0022). A key that is free is looked for, too: after a
// restore the ledger knows requests by their fingerprint alone. True: look again.
bool look_under_other_fingerprint(Call& call) {
    ColdState& cold = call.cold();
    const ledger::ClaimVerdict verdict = cold.peek.verdict;
    const bool is_free = verdict == ledger::ClaimVerdict::claimed && !cold.peek.found;
    if (!is_free && verdict != ledger::ClaimVerdict::key_reused) return false;
    if (cold.other_print_tried) {
        cold.recorded_as.reset();
        if (!is_free) cold.peek.verdict = cold.verdict_of_own;
        return false;
    }
    if (!is_free) {
        cold.recorded_as = fingerprint_in(call, cold.peek.row);
    } else if (!cold.filled.empty()) {
        cold.recorded_as = fingerprint_without_defaults(call);
    }
    if (!cold.recorded_as) return false;
    cold.other_print_tried = true;
    cold.verdict_of_own = verdict;
    return true;
}

Step peek(Call& call) {
    ColdState& cold = call.cold();
    cold.peek = {};
    call.shown_not_applied = false;
    const base::Sha256Digest& print = cold.recorded_as ? *cold.recorded_as : call.fingerprint;
    return call.await_reply(call.core->ledger().peek(key_scope(call), print, cold.peek, call));
}

Step refuse_key(Call& call, ledger::ClaimVerdict verdict) {
    ReplayCounters& counters = call.core->counters.replay;
    switch (verdict) {
        case ledger::ClaimVerdict::key_reused: counters.key_reused.add(); break;
        case ledger::ClaimVerdict::key_expired: counters.key_expired.add(); break;
        case ledger::ClaimVerdict::unknown: counters.unknown.add(); break;
        default: counters.in_progress.add(); break;
    }
    return call.refuse(key_error(call, verdict));
}

}  // namespace

Step replay(Call& call) {
    const std::string& key = call.request.context->idempotency_key;
    if (key.empty() || call.request.purpose != Purpose::execute) return Step::next;
    const Origin* const origin = call.request.origin.get();
    if (origin == nullptr || !origin->key_as_it_is) {
        if (auto fault = key_fault(key)) return call.refuse(std::move(*fault));
    }
    const bool has_plain_key = origin != nullptr && !origin->plain_key.empty();
    for (;;) {
        switch (call.phase.as<ReplayPhase>()) {
            case ReplayPhase::peek:
                need_fingerprint(call);
                call.cold().by_plain_key = has_plain_key && !call.cold().plain_key_free;
                call.phase = ReplayPhase::peeked;
                if (const Step step = peek(call); step != Step::next) return step;
                break;
            case ReplayPhase::peeked:
                if (call.cold().peek.error) return call.refuse(std::move(*call.cold().peek.error));
                if (look_under_other_fingerprint(call)) {
                    call.phase = ReplayPhase::peek;
                    break;
                }
                call.shown_not_applied = shows_not_applied(call, call.cold().peek.verdict,
                                                           call.cold().peek.found, call.cold().peek.row);
                if (auto why = call.stopped_meanwhile()) return call.refuse(std::move(*why));
                if (call.cold().by_plain_key && call.cold().peek.verdict == ledger::ClaimVerdict::claimed) {
                    call.cold().plain_key_free = true;
                    call.cold().other_print_tried = false;
                    call.cold().recorded_as.reset();
                    call.phase = ReplayPhase::peek;
                    break;
                }
                switch (call.cold().peek.verdict) {
                    case ledger::ClaimVerdict::claimed:
                    case ledger::ClaimVerdict::dead_owner:
                        call.note("replay", "new");
                        call.phase = ReplayPhase::done;
                        break;
                    case ledger::ClaimVerdict::replay:
                        call.core->counters.replay.replayed.add();
                        return replay_row(call, call.cold().peek.row, call.cold().peek.unreadable);
                    case ledger::ClaimVerdict::in_progress:
                        call.phase = ReplayPhase::subscribed;
                        call.core->counters.replay.waited.add();
                        if (const Step step = call.await_reply(subscribe_to_end(call), Awaited::other_call);
                            step != Step::next)
                            return step;
                        break;
                    default: return refuse_key(call, call.cold().peek.verdict);
                }
                break;
            case ReplayPhase::subscribed:
                call.phase = ReplayPhase::waiting;
                if (const Step step = wait_for_end(call); step != Step::next) {
                    if (step == Step::end) call.core->counters.replay.in_progress.add();
                    return step;
                }
                break;
            case ReplayPhase::waiting:
                // Woken: by the end of the other call, or because this one has no more time.
                if (call.expired() || call.cancel_wanted()) {
                    return refuse_key(call, ledger::ClaimVerdict::in_progress);
                }
                call.cold().plain_key_free = false;
                call.cold().other_print_tried = false;
                call.cold().recorded_as.reset();
                call.phase = ReplayPhase::peek;
                break;
            case ReplayPhase::done: return Step::next;
        }
    }
}

}  // namespace callgate::pipeline
