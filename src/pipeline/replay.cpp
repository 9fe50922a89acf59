#include "pipeline/replay.h"

#include "pipeline/call.h"
#include "pipeline/key.h"
#include "pipeline/stored.h"

namespace callgate::pipeline {
namespace {

enum Phase : int { kPeek, kPeeked, kAskedForEnd, kWaiting };

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
        switch (call.phase) {
            case kPeek:
                need_fingerprint(call);
                call.special().by_plain_key = has_plain_key && !call.special().plain_key_free;
                call.phase = kPeeked;
                call.special().peek = {};
                call.shown_not_applied = false;
                if (const Step step = call.asked(call.core->ledger().peek(key_scope(call), call.fingerprint,
                                                                          call.special().peek, call));
                    step != Step::next) {
                    return step;
                }
                break;
            case kPeeked:
                if (call.special().peek.error) return call.refuse(std::move(*call.special().peek.error));
                call.shown_not_applied =
                    shows_not_applied(call.special().peek.verdict, call.special().peek.found);
                if (auto why = call.stopped_meanwhile()) return call.refuse(std::move(*why));
                if (call.special().by_plain_key &&
                    call.special().peek.verdict == ledger::ClaimVerdict::claimed) {
                    call.special().plain_key_free = true;
                    call.phase = kPeek;
                    break;
                }
                switch (call.special().peek.verdict) {
                    case ledger::ClaimVerdict::claimed:
                    case ledger::ClaimVerdict::dead_owner: call.note("replay", "new"); return Step::next;
                    case ledger::ClaimVerdict::replay:
                        call.core->counters.replay.replayed.add();
                        return replay_row(call, call.special().peek.row, call.special().peek.unreadable);
                    case ledger::ClaimVerdict::in_progress:
                        call.phase = kAskedForEnd;
                        call.core->counters.replay.waited.add();
                        if (const Step step = call.asked(ask_for_end(call), Asking::other_call);
                            step != Step::next)
                            return step;
                        break;
                    default: return refuse_key(call, call.special().peek.verdict);
                }
                break;
            case kAskedForEnd:
                call.phase = kWaiting;
                if (const Step step = wait_for_end(call); step != Step::next) {
                    if (step == Step::end) call.core->counters.replay.in_progress.add();
                    return step;
                }
                break;
            default:
                // Woken: by the end of the other call, or because this one has no more time.
                if (call.expired() || call.cancel_wanted()) {
                    return refuse_key(call, ledger::ClaimVerdict::in_progress);
                }
                call.special().plain_key_free = false;
                call.phase = kPeek;
                break;
        }
    }
}

}  // namespace callgate::pipeline
