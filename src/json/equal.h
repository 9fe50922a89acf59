// When two documents are the same, in JSON Schema's sense: objects whatever the order of their members,
// numbers by their value whatever holds them (1 is 1.0, and 9007199254740993 is not 9007199254740992.0).
//
// Nothing is rounded to compare it, and nothing recurses: the depth of a document costs memory, never the
// stack. No heap is used down to a depth of 32.
//
// Threads: plain functions; a document may be read by many threads at once.
#pragma once

#include <cstdint>

#include <callgate/json.h>

namespace callgate::json {

bool equal(const Value& a, const Value& b);

/// Less than, equal to or greater than 0, as a is to b. Both must be numbers. A NaN, which only a program can
/// put into a document, is equal to NaN and less than all other numbers, so that this is an order.
int compare_numbers(const Value& a, const Value& b) noexcept;

/// Equal documents have the same hash under the same seed. With a seed that an attacker does not know,
/// documents that collide cannot be prepared; the result is for tables in memory, not for storing.
std::uint64_t hash(const Value& value, std::uint64_t seed);

}  // namespace callgate::json
