#include "pipeline/replay.h"

#include "pipeline/call.h"
#include "pipeline/key.h"
#include "pipeline/stored.h"

namespace callgate::pipeline {
namespace {

enum Phase : int { kPeek, kPeeked, kAskedForEnd, kWaiting };

constexpr std::size_t kMaxKeyBytes = 255;

Step refuse_key(Call& call, ledger::ClaimVerdict verdict) {
    ReplayCounters& counters = call.core->counters.replay;
    switch (verdict) {
        case ledger::ClaimVerdict::key_reused: counters.key_reused.add(); break;
        case ledger::ClaimVerdict::key_expired: counters.key_expired.add(); break;
        case ledger::ClaimVerdict::unknown: counters.unknown.add(); break;
        default: counters.in_progress.add(); break;
    }
    call.outcome.safe_new_key = verdict == ledger::ClaimVerdict::key_reused;
    return call.refuse(key_error(call, verdict));
}

}  // namespace

Step replay(Call& call) {
    const std::string& key = call.request.context->idempotency_key;
    if (key.empty() || call.request.purpose != Purpose::execute) return Step::next;
    if (key.size() > kMaxKeyBytes) {
        return call.refuse(Error(ErrorCode::invalid_arguments,
                                 "The idempotency key is longer than 255 bytes; use a shorter one.",
                                 {{"reason", "key_too_long"}}));
    }
    for (;;) {
        switch (call.phase) {
            case kPeek:
                need_fingerprint(call);
                call.phase = kPeeked;
                call.special().peek = {};
                if (const Step step = call.asked(call.core->ledger().peek(key_scope(call), call.fingerprint,
                                                                          call.special().peek, call));
                    step != Step::next) {
                    return step;
                }
                break;
            case kPeeked:
                if (call.special().peek.error) return call.refuse(std::move(*call.special().peek.error));
                if (auto why = call.stopped_meanwhile()) return call.refuse(std::move(*why));
                switch (call.special().peek.verdict) {
                    case ledger::ClaimVerdict::claimed:
                    case ledger::ClaimVerdict::dead_owner: call.note("replay", "new"); return Step::next;
                    case ledger::ClaimVerdict::replay:
                        call.core->counters.replay.replayed.add();
                        return replay_row(call, call.special().peek.row);
                    case ledger::ClaimVerdict::in_progress:
                        call.phase = kAskedForEnd;
                        call.core->counters.replay.waited.add();
                        if (const Step step = call.asked(ask_for_end(call)); step != Step::next) return step;
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
                call.phase = kPeek;
                break;
        }
    }
}

}  // namespace callgate::pipeline
