// How the code of a host behaves, drawn from the host's seed and the ticket of a call: the same whichever
// thread comes first.
#pragma once

#include <cstdint>

#include "calls/dice.h"

namespace callgate::hosts {

using calls::Dice;
/// The number by which a host knows one of its calls: in the trace id ("t17"), and in the arguments of nested
/// ones.
using Ticket = std::uint64_t;

/// How a body ends.
enum class Ends : std::uint8_t {
    value,
    told,         ///< a failure that is an answer
    not_applied,  ///< proven: nothing was done
    unreachable,
    lost,  ///< nobody knows
    exception,
    number,  ///< throws what is no exception
    nothing  ///< an async one goes away without an answer
};

/// What a body does with the runtime while it runs.
enum class Inside : std::uint8_t { nothing, context_call, runtime_call, start, batch, async_call };

struct BodyManner {
    Ends ends = Ends::value;
    bool applies = true;  ///< of one that is lost: whether it had its effect
    Inside inside = Inside::nothing;
    std::uint64_t stands = 0;  ///< steps
    bool obeys = true;         ///< ends early when it is called off
    bool twice = false;        ///< an async one answers again
    bool progress = false;
};

/// What a callback does.
enum class Callback : std::uint8_t { well, stands, throws, calls, starts };

struct CallerManner {
    Callback start = Callback::well;  ///< observers, when the call begins
    Callback end = Callback::well;    ///< observers, when it ends
    Callback done = Callback::well;
    Callback progress = Callback::well;
    std::uint64_t stands = 0;  ///< steps
    /// Its own callbacks hold it up; its deadline is its own affair.
    bool holds_itself_up() const {
        return start == Callback::stands || end == Callback::stands || progress == Callback::stands ||
               start == Callback::calls || end == Callback::calls || progress == Callback::calls;
    }
};

BodyManner body_manner(std::uint64_t seed, Ticket ticket, std::uint32_t attempt);
CallerManner caller_manner(std::uint64_t seed, Ticket ticket);

/// Nested calls know whom they belong to.
inline Ticket inner_ticket(Ticket outer, std::uint64_t number) {
    return outer * 1024 + 512 + number;
}
inline bool is_inner(Ticket ticket) {
    return ticket >= (Ticket{1} << 24);
}
inline Ticket outer_ticket(std::size_t caller, std::uint64_t number) {
    return (caller + 1) * 100'000 + number;
}
inline Ticket root_of(Ticket ticket) {
    while (is_inner(ticket)) ticket /= 1024;
    return ticket;
}
/// Its bodies and callbacks are well behaved: what callbacks make, and what is tried when all is over.
inline constexpr std::size_t kCallbacks = 90;
inline constexpr std::size_t kEpilogue = 95;
inline bool is_plain(Ticket ticket) {
    return root_of(ticket) >= outer_ticket(kCallbacks, 0);
}

}  // namespace callgate::hosts
