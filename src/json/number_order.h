// The order of numbers by their value, whichever of JSON's three forms holds them: nothing is rounded to
// compare it. A NaN, which only a program can put into a document, is equal to NaN and less than all others.
//
// Each compare() is less than, equal to or greater than 0, as a is to b.
//
// Threads: pure functions.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "json/whole_number.h"

namespace callgate::json {

template <class T>
int three_way(T a, T b) noexcept {
    return (a > b) - (a < b);
}

/// The whole parts are compared as integers; when they agree, b's fraction decides.
template <std::integral Integer>
int compare_integer(Integer a, double b) noexcept {
    if (std::isnan(b) || b < kLeast<Integer>) return 1;
    if (b >= kBeyond<Integer>) return -1;
    const double whole = std::trunc(b);
    const int order = three_way(a, static_cast<Integer>(whole));
    return order != 0 ? order : three_way(whole, b);
}

inline int compare(std::int64_t a, std::int64_t b) noexcept {
    return three_way(a, b);
}

inline int compare(std::uint64_t a, std::uint64_t b) noexcept {
    return three_way(a, b);
}

inline int compare(std::int64_t a, std::uint64_t b) noexcept {
    return a < 0 ? -1 : three_way(static_cast<std::uint64_t>(a), b);
}

inline int compare(std::int64_t a, double b) noexcept {
    return compare_integer(a, b);
}

inline int compare(std::uint64_t a, double b) noexcept {
    return compare_integer(a, b);
}

inline int compare(double a, double b) noexcept {
    if (std::isnan(a) || std::isnan(b))
        return static_cast<int>(std::isnan(b)) - static_cast<int>(std::isnan(a));
    return three_way(a, b);
}

inline int compare(std::uint64_t a, std::int64_t b) noexcept {
    return -compare(b, a);
}

inline int compare(double a, std::int64_t b) noexcept {
    return -compare(b, a);
}

inline int compare(double a, std::uint64_t b) noexcept {
    return -compare(b, a);
}

}  // namespace callgate::json
