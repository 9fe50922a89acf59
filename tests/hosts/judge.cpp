#include "judge.h"

#include <fmt/format.h>

#include "../support/ends.h"
#include "base/ids.h"

namespace callgate::hosts {
namespace {

// What the entries of a scope say at a moment.
struct Known {
    std::size_t entered = 0;        // by this call
    bool maybe = false;             // an entry of this call that may have had its effect
    bool entered_in_scope = false;  // by this or by another call with its key
};

Known known_at_end(const Board& board, Ticket ticket, const Made& made) {
    Known known;
    for (const Entry& entry : board.entries()) {
        if (entry.scope != made.scope) continue;
        // The runtime decides a little before a body's first line whether it is entered.
        known.entered_in_scope = true;
        if (entry.at > made.ended_at) continue;
        const bool maybe = entry.proven_at > made.ended_at;
        if (entry.ticket != ticket) continue;
        ++known.entered;
        known.maybe = known.maybe || maybe;
    }
    return known;
}

std::uint32_t entries_of(const Board& board, const Made& made) {
    std::uint32_t entered = 0;
    for (const Entry& entry : board.entries()) {
        if (entry.tool == made.tool && entry.at < made.ended_at) ++entered;
    }
    return entered;
}

void judge_call(Board& board, Ticket ticket, const Made& made) {
    const Outcome& outcome = *made.outcome;
    const State state = outcome.state();
    const Known known = known_at_end(board, ticket, made);
    const auto say = [&](std::string_view rule, std::string_view what) {
        board.violation(ticket, rule,
                        fmt::format("t{} ({}, {}): {}", ticket, made.tool, to_string(state), what));
    };
    if (outcome.error() != nullptr && outcome.error()->code == ErrorCode::circuit_open &&
        entries_of(board, made) < kBreakerFailures)
        say("breaker", "the tool rests, and was not entered often enough for that");
    if (outcome.error() != nullptr && !outcome.error()->retryable) {
        const auto* reason = outcome.error()->details.if_contains("reason");
        if (reason != nullptr && *reason == "queue_full")
            say("queue_bound", "refused, and not said to be retryable");
    }
    // That a body says "nothing was done" may come just too late to be heard.
    if (state == State::unknown && !known.entered_in_scope)
        say("never_began", "unknown, although nothing was entered");
    if (tests::is_refusal(state) && known.entered > 0) say("refused", "refused, but the tool was entered");
    if (state == State::succeeded && known.entered == 0 && made.effect != EffectClass::verify)
        say("success", "succeeded, but nothing was entered");
    if (made.effect == EffectClass::read) return;
    if (known.maybe && outcome.safe_new_key())
        say("safe_new_key", "a new key is called safe, but the effect may have happened");
    if (known.maybe && (state == State::timed_out || state == State::cancelled))
        say("changed_nothing", "said to have changed nothing, but the effect may have happened");
    const bool called_off = state == State::timed_out || state == State::cancelled;
    if (called_off && known.entered == 0 && !made.keyed && !outcome.safe_new_key())
        say("never_began", "not entered, and yet a new key is not called safe");
}

// While the runtime is about to end, refusals after the first are on the record together, as a number.
void judge_heard(Board& board) {
    std::size_t without_event = 0;
    for (const auto& [id, heard] : board.heard()) {
        const auto say = [&, &call = id](std::string what) {
            board.violation(0, "one_end",
                            fmt::format("call {}: {}", base::Uuid{call}.to_string(), std::move(what)));
        };
        if (heard.starts != 1) say(fmt::format("{} telemetry starts", heard.starts));
        if (heard.ends != 1) say(fmt::format("{} telemetry ends", heard.ends));
        if (heard.audit_ends == 0 && heard.state == State::unavailable)
            ++without_event;
        else if (heard.audit_ends != 1)
            say(fmt::format("{} terminal events", heard.audit_ends));
        if (heard.out_of_order) say("its end was told before its start");
    }
    if (without_event != board.refused_together()) {
        board.violation(0, "one_end",
                        fmt::format("{} calls have no event of their own, and {} were recorded together",
                                    without_event, board.refused_together()));
    }
}

}  // namespace

void judge(Board& board) {
    for (const auto& [ticket, made] : board.calls()) {
        if (made.ends != 1) {
            board.violation(ticket, "one_end", fmt::format("t{} ended {} times", ticket, made.ends));
        } else {
            if (!made.episode) judge_call(board, ticket, made);
            const auto heard = board.heard().find(made.outcome->data().call_id);
            if (heard == board.heard().end() || heard->second.state != made.outcome->state())
                board.violation(ticket, "one_end",
                                fmt::format("t{} ended {}, and observers heard otherwise", ticket,
                                            to_string(made.outcome->state())));
        }
    }
    judge_heard(board);
}

void judge_key(Board& board, const KeyPlan& plan, Ticket ticket, const Outcome& outcome) {
    bool maybe = false;
    bool entered_now = false;
    for (const Entry& entry : board.entries()) {
        if (entry.scope != plan.scope()) continue;
        if (entry.ticket == ticket) {
            entered_now = true;
        } else {
            maybe = maybe || entry.proven_at == kNever;
        }
    }
    const State state = outcome.state();
    const auto say = [&](std::string_view what) {
        board.violation(ticket, "key_settled",
                        fmt::format("{}: {} when all was over ({}{})", plan.scope(), what, to_string(state),
                                    outcome.error() != nullptr ? ": " + outcome.error()->message : ""));
    };
    if (state == State::in_progress || state == State::timed_out) say("the key is still held");
    if (!maybe && !entered_now) say("nothing of it had happened, and it could not be run");
}

}  // namespace callgate::hosts
