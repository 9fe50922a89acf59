// Numbers as the schema engine sees them: 64-bit integers and doubles, compared by value without rounding.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <callgate/json.h>

namespace callgate::schema {

struct Number {
    enum class Kind : std::uint8_t { int64, uint64, real };

    Kind kind = Kind::int64;
    union {
        std::int64_t i = 0;
        std::uint64_t u;  ///< only above the range of int64
        double d;
    };

    static Number of(std::int64_t value) noexcept;
    static Number of(std::uint64_t value) noexcept;
    static Number of(double value) noexcept;
};

std::optional<Number> number_of(const Value& value) noexcept;

/// A double without a fraction is an integer.
bool is_integer(const Number& number) noexcept;

int compare_slow(const Number& a, const Number& b) noexcept;

/// Less than, equal to or greater than 0.
inline int compare(const Number& a, const Number& b) noexcept {
    if (a.kind == Number::Kind::int64 && b.kind == Number::Kind::int64) return a.i < b.i ? -1 : a.i > b.i;
    return compare_slow(a, b);
}

/// The divisor of `multipleOf`, ready for use. Division is decimal, on the shortest digits that name each
/// double, so that 0.3 is a multiple of 0.1 (validation 6.2.1: the division results in an integer).
struct Divisor {
    Number value;
    std::uint64_t digits = 1;  ///< value = digits * 10^exponent
    int exponent = 0;

    /// `value` must be greater than 0.
    static Divisor of(const Number& value) noexcept;
    bool divides(const Number& number) const noexcept;
};

/// As it stands in JSON text.
std::string to_text(const Number& number);

}  // namespace callgate::schema
