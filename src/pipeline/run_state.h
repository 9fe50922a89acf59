// Who runs a call: one word that hands the call from thread to thread.
//
// At most one thread runs a call. A call that waits belongs to nobody; whoever has something for it makes it
// due, and exactly one thread takes it up: the one that waits for its end or, where no thread does (the call
// is `alone`), a turn of core->turns. No wake-up is lost: what comes while the call runs is seen before it
// rests. While the ledger owes the call a reply, only the reply moves it, or the call leaves it behind, once.
//
//                    go_on: woken
//                    reply: replied
//                       ┌───┐
//                       │   v
//      begin ────────> RUNNING ───────────────── end ───────────────────> OVER
//                      │ ^   │
//      rest, not woken │ │   │ rest_until_reply, not replied
//             ┌────────┘ │   └─────────┐
//             v          │             v
//          RESTING       │       AWAITS_REPLY   (go_on: no effect)
//             │          │             │
//             │ go_on    │ take        │ reply, or
//             v          │             v leave: left, leaving
//             └───────> DUE <──────────┘
//
//   rest, woken                  RUNNING once more, woken cleared
//   rest_until_reply, replied    RUNNING once more, replied and woken cleared
//   go_on(Turn::none)            RESTING to RUNNING at once, on the thread that calls it (only if alone)
//   take after leave             RUNNING without the reply; `left` stays. The reply that comes then sets
//                                `back`; whichever of end and reply is the second has to look after it
//
// The transitions are pure functions of the word: the next word, and what the thread that made the transition
// has to do then. RunState applies them to an atomic; run_state_test.cpp explores all their interleavings.
// Nothing here knows stages, threads or pools.
//
// Threads: all of RunState may be used from any thread; what each transition presumes is said beside it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/futex.h"

namespace callgate::pipeline {

/// What the thread that made a transition has to do next.
enum class Then : std::uint8_t {
    nothing,            ///< somebody else has it, or will see it; the call may be gone
    run,                ///< run the call: it is this thread's
    run_without_reply,  ///< the same, and the reply it waited for is left behind
    expect_turn,        ///< nothing was changed: find out whether there can be a turn, then try again
    give_turn,          ///< hand the call to core->turns; nobody else touches it until then
    wake_waiter,        ///< wake the thread that waits for its end; only the word's address may be used
    wait_here,          ///< there are no turns any more: this thread waits for the reply
    deliver,            ///< deliver its notices
    sleep,              ///< nothing has come yet
    end,                ///< it is over
    look_after_reply    ///< the reply that it left behind has come, and it is over
};

/// Whether a call that is alone can go on as a turn.
enum class Turn : std::uint8_t {
    unknown,   ///< not found out yet
    expected,  ///< the runtime expects it, and does not go before it came
    none       ///< the runtime has gone, or this thread may run the call itself
};

/// The word and its transitions.
namespace run_word {

using Word = std::uint32_t;

// What the call is doing. None of the first four: it rests.
inline constexpr Word kRunning = 1;
inline constexpr Word kWoken = 2;        // while running: look once more before resting
inline constexpr Word kAwaitsReply = 4;  // waits for the ledger
inline constexpr Word kReplied = 8;      // the ledger has replied; with kAwaitsReply: due
inline constexpr Word kAlone = 16;       // no thread waits for its end, ready to go on
inline constexpr Word kOver = 32;
inline constexpr Word kNotices = 64;   // for the thread that waits for its end
inline constexpr Word kLeft = 128;     // it went on without the reply; stays
inline constexpr Word kLeaving = 256;  // with kDue: that is why it is due
inline constexpr Word kBack = 512;     // the reply that it left has come since
inline constexpr Word kDue = kAwaitsReply | kReplied;
// Above them, the number of the wait for a reply: a timer that is to end one wait must not end the next.
inline constexpr Word kOneWait = 1024;

constexpr Word wait_number(Word now) noexcept {
    return now / kOneWait;
}

struct Next {
    Word word;
    Then then;
};

/// The thread that runs the call has nothing to do until go_on(). run: it was woken meanwhile.
constexpr Next rest(Word now) noexcept {
    if ((now & kWoken) != 0) return {now & ~kWoken, Then::run};
    return {now & ~kRunning, Then::nothing};
}

/// The thread that runs the call has asked the ledger. run: the reply is there; whatever else woke the call
/// is looked at as well when it goes on.
constexpr Next rest_until_reply(Word now, Turn turn) noexcept {
    if ((now & kReplied) != 0) return {now & ~(kReplied | kWoken), Then::run};
    const Word waits = ((now & ~(kRunning | kWoken)) | kAwaitsReply) + kOneWait;
    if ((now & kAlone) == 0 || turn == Turn::expected) return {waits, Then::nothing};
    if (turn == Turn::unknown) return {now, Then::expect_turn};
    return {waits & ~kAlone, Then::wait_here};
}

/// After wait_here: the thread that waited runs the call, and nobody waits for its end, as before.
constexpr Next alone_again(Word now) noexcept {
    return {now | kAlone, Then::run};
}

constexpr Then hand_over(Word now) noexcept {
    return (now & kAlone) != 0 ? Then::give_turn : Then::wake_waiter;
}

/// What the call waits for may have come. A time too many does no harm.
constexpr Next go_on(Word now, Turn turn) noexcept {
    if ((now & (kOver | kWoken | kDue)) != 0) return {now, Then::nothing};
    if ((now & kRunning) != 0) return {now | kWoken, Then::nothing};
    if ((now & kAlone) == 0 || turn == Turn::expected) return {now | kDue, hand_over(now)};
    if (turn == Turn::unknown) return {now, Then::expect_turn};
    return {now | kRunning, Then::run};
}

/// The ledger has replied; once for each request.
constexpr Next reply(Word now) noexcept {
    if ((now & kLeft) != 0) return {now | kBack, (now & kOver) != 0 ? Then::look_after_reply : Then::nothing};
    if ((now & kRunning) != 0) return {now | kReplied, Then::nothing};
    return {now | kReplied, hand_over(now)};
}

/// Whether leave() would do something.
constexpr bool may_leave(Word now, Word wait) noexcept {
    return (now & (kOver | kRunning | kLeft)) == 0 && (now & kDue) == kAwaitsReply &&
           wait_number(now) == wait;
}

/// The reply is not waited for any longer, if it is still that wait.
constexpr Next leave(Word now, Word wait) noexcept {
    if (!may_leave(now, wait)) return {now, Then::nothing};
    return {now | kReplied | kLeft | kLeaving, hand_over(now)};
}

constexpr Next take(Word now) noexcept {
    return {(now & ~(kDue | kLeaving)) | kRunning,
            (now & kLeaving) != 0 ? Then::run_without_reply : Then::run};
}

/// On a thread of core->turns. What is alone is never taken by a thread that waits, and the other way round.
constexpr Next take_turn(Word now) noexcept {
    return (now & kDue) == kDue && (now & kAlone) != 0 ? take(now) : Next{now, Then::nothing};
}

/// On the thread that waits for its end.
constexpr Next wait(Word now) noexcept {
    if ((now & kOver) != 0) return {now, Then::end};
    if ((now & kDue) == kDue && (now & kAlone) == 0) return take(now);
    if ((now & kNotices) != 0) return {now & ~kNotices, Then::deliver};
    return {now, Then::sleep};
}

/// There is something to deliver for the thread that waits for its end.
constexpr Word notice(Word now) noexcept {
    return now | kNotices;
}

/// The thread that runs the call has ended it.
constexpr Next end(Word now) noexcept {
    return {kOver | (now & kLeft), (now & kBack) != 0 ? Then::look_after_reply : Then::nothing};
}

}  // namespace run_word

class RunState {
public:
    /// Before the call begins: no thread waits for its end.
    void begin_alone() noexcept {
        word_.store(run_word::kRunning | run_word::kAlone, std::memory_order_relaxed);
    }

    bool over() const noexcept { return (look() & run_word::kOver) != 0; }
    /// It went on without a reply.
    bool left() const noexcept { return (look() & run_word::kLeft) != 0; }

    // The transitions. See run_word.

    Then rest() noexcept {
        return apply(look(), [](auto now) { return run_word::rest(now); });
    }
    Then rest_until_reply(Turn turn) noexcept {
        return apply(look(), [turn](auto now) { return run_word::rest_until_reply(now, turn); });
    }
    void alone_again() noexcept {
        apply(look(), [](auto now) { return run_word::alone_again(now); });
    }
    /// What the caller did before must be seen by the thread that runs the call, even where that has been
    /// woken already: hence no mere look at the word.
    Then go_on(Turn turn) noexcept {
        return apply(word_.fetch_or(0, std::memory_order_acq_rel),
                     [turn](auto now) { return run_word::go_on(now, turn); });
    }
    Then reply() noexcept {
        return apply(look(), [](auto now) { return run_word::reply(now); });
    }
    /// Waits for a reply now: the number of that wait is put into `wait`.
    bool awaits_reply(std::uint32_t& wait) const noexcept {
        const auto now = look();
        wait = run_word::wait_number(now);
        return run_word::may_leave(now, wait);
    }
    bool may_leave(std::uint32_t wait) const noexcept { return run_word::may_leave(look(), wait); }
    Then leave(std::uint32_t wait) noexcept {
        return apply(look(), [wait](auto now) { return run_word::leave(now, wait); });
    }
    Then take_turn() noexcept {
        return apply(look(), [](auto now) { return run_word::take_turn(now); });
    }
    /// Blocks until there is something to do: run, run_without_reply, deliver or end.
    Then wait() noexcept {
        for (;;) {
            run_word::Word seen = 0;
            const Then then = apply(look(), [&seen](auto now) {
                seen = now;
                return run_word::wait(now);
            });
            if (then != Then::sleep) return then;
            base::sleep_while(word_, seen);
        }
    }
    /// Whoever waits for the end is to be woken.
    void notice() noexcept { word_.fetch_or(run_word::notice(0), std::memory_order_acq_rel); }
    /// Whoever waits for the end may take the call with it.
    Then end() noexcept {
        if (left()) [[unlikely]]
            return apply(look(), [](auto now) { return run_word::end(now); });
        end_unshared();
        return Then::nothing;
    }
    /// The same where nobody else can change the word, or what they change is of no use to a call that ends.
    void end_unshared() noexcept { word_.store(run_word::end(0).word, std::memory_order_release); }

    /// Uses only the address: the call may be gone.
    void wake_waiter() const noexcept { base::wake_all(word_); }

private:
    run_word::Word look() const noexcept { return word_.load(std::memory_order_acquire); }

    template <class Transition>
    Then apply(run_word::Word now, Transition transition) noexcept {
        for (;;) {
            const run_word::Next next = transition(now);
            if (next.word == now || word_.compare_exchange_weak(now, next.word, std::memory_order_acq_rel)) {
                return next.then;
            }
        }
    }

    // Four bytes, which a thread can sleep on without a lock.
    std::atomic<run_word::Word> word_{run_word::kRunning};
};

}  // namespace callgate::pipeline
