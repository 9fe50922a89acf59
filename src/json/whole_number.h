// Doubles without a fraction, as the integers that they are: nothing is rounded, and what an integer type
// cannot hold is not there.
//
// Threads: pure functions.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

namespace callgate::json {

/// The doubles from kLeast<Integer> to below kBeyond<Integer> have a whole part that the type holds. Both are
/// exact, as its largest value is not.
template <std::integral Integer>
inline constexpr double kLeast = static_cast<double>(std::numeric_limits<Integer>::min());
template <std::integral Integer>
inline constexpr double kBeyond = 2.0 * static_cast<double>(std::numeric_limits<Integer>::max() / 2 + 1);

/// Nothing for a fraction, a NaN, an infinity, and what lies outside the type. Both zeros are 0.
template <std::integral Integer>
std::optional<Integer> whole_of(double number) noexcept {
    if (!(number >= kLeast<Integer> && number < kBeyond<Integer>) || std::trunc(number) != number)
        return std::nullopt;
    return static_cast<Integer>(number);
}

}  // namespace callgate::json
