#include "manner.h"
namespace callgate::hosts {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9E3779B97F4A7C15ULL ^ (b + 0x7F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 29;
    x *= 0x94D049BB133111EBULL;
    return x ^ (x >> 32);
}

Callback callback(Dice& dice, std::size_t stands, std::size_t throws, std::size_t calls, std::size_t starts) {
    static constexpr Callback kAll[] = {Callback::stands, Callback::throws, Callback::calls, Callback::starts,
                                        Callback::well};
    return kAll[dice.weighted({stands, throws, calls, starts, 100 - stands - throws - calls - starts})];
}

}  // namespace

BodyManner body_manner(std::uint64_t seed, Ticket ticket, std::uint32_t attempt) {
    BodyManner manner;
    if (is_plain(ticket)) return manner;
    Dice dice(mix(mix(seed, ticket), attempt));
    manner.ends = static_cast<Ends>(dice.weighted({50, 7, 13, 10, 7, 6, 3, 4}));
    manner.applies = dice.chance(60);
    const bool deep = ticket >= (Ticket{1} << 36);
    if (!deep && dice.chance(is_inner(ticket) ? 8 : 22)) {
        manner.inside = static_cast<Inside>(1 + dice.below(5));
    }
    if (dice.chance(45)) manner.stands = 1 + dice.below(dice.chance(20) ? 60 : 12);
    manner.obeys = dice.chance(50);
    manner.twice = dice.chance(15);
    manner.progress = dice.chance(25);
    return manner;
}

CallerManner caller_manner(std::uint64_t seed, Ticket ticket) {
    CallerManner manner;
    if (is_plain(ticket)) return manner;
    Dice dice(mix(mix(seed, ticket), 1ULL << 40));
    if (dice.chance(55)) return manner;
    manner.start = callback(dice, 6, 8, 5, 3);
    manner.end = callback(dice, 8, 8, 5, 3);
    manner.done = callback(dice, 20, 15, 15, 10);
    manner.progress = callback(dice, 20, 15, 10, 5);
    manner.stands = 2 + dice.below(25);
    return manner;
}

}  // namespace callgate::hosts
