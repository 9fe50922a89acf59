#include "schema/number.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include <callgate/json.h>

#include "json/number_order.h"

namespace callgate::schema {

namespace {

__extension__ using Wide = unsigned __int128;

// |number| = digits * 10^exponent, by the shortest decimal that reads back as the number; trailing zeros are
// in the exponent.
struct Decimal {
    std::uint64_t digits = 0;
    int exponent = 0;
};

Decimal decimal_of(double value) noexcept {
    char text[40];
    const auto printed =
        std::to_chars(text, text + sizeof text, std::abs(value), std::chars_format::scientific);
    Decimal decimal;
    const char* at = text;
    int fraction = 0;
    for (bool in_fraction = false; at != printed.ptr && *at != 'e'; ++at) {
        if (*at == '.') {
            in_fraction = true;
            continue;
        }
        decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(*at - '0');
        fraction += in_fraction;
    }
    int power = 0;
    if (at != printed.ptr) {
        ++at;
        if (*at == '+') ++at;
        std::from_chars(at, printed.ptr, power);
    }
    decimal.exponent = power - fraction;
    return decimal;
}

Decimal decimal_of(const Number& number) noexcept {
    switch (number.kind) {
        case Number::Kind::int64:
            return {number.i < 0 ? 0 - static_cast<std::uint64_t>(number.i)
                                 : static_cast<std::uint64_t>(number.i),
                    0};
        case Number::Kind::uint64: return {number.u, 0};
        case Number::Kind::real: break;
    }
    return decimal_of(number.d);
}

// Calls `with` with the number in the form that holds it.
template <class With>
int visit(const Number& number, With with) noexcept {
    switch (number.kind) {
        case Number::Kind::int64: return with(number.i);
        case Number::Kind::uint64: return with(number.u);
        case Number::Kind::real: break;
    }
    return with(number.d);
}

}  // namespace

Number Number::of(std::int64_t value) noexcept {
    Number number;
    number.i = value;
    return number;
}

Number Number::of(std::uint64_t value) noexcept {
    if (value <= static_cast<std::uint64_t>(INT64_MAX)) return of(static_cast<std::int64_t>(value));
    Number number;
    number.kind = Kind::uint64;
    number.u = value;
    return number;
}

Number Number::of(double value) noexcept {
    Number number;
    number.kind = Kind::real;
    number.d = value;
    return number;
}

std::optional<Number> number_of(const Value& value) noexcept {
    if (value.is_int64()) return Number::of(value.get_int64());
    if (value.is_uint64()) return Number::of(value.get_uint64());
    if (value.is_double()) return Number::of(value.get_double());
    return std::nullopt;
}

bool is_integer(const Number& number) noexcept {
    return number.kind != Number::Kind::real || std::trunc(number.d) == number.d;
}

int compare_slow(const Number& a, const Number& b) noexcept {
    return visit(a, [&](auto x) { return visit(b, [&](auto y) { return json::compare(x, y); }); });
}

Divisor Divisor::of(const Number& value) noexcept {
    const Decimal decimal = decimal_of(value);
    return {value, decimal.digits, decimal.exponent};
}

bool Divisor::divides(const Number& number) const noexcept {
    if (number.kind == Number::Kind::int64 && value.kind == Number::Kind::int64)
        return number.i % value.i == 0;
    if (number.kind == Number::Kind::real && !std::isfinite(number.d)) return false;
    const Decimal dividend = decimal_of(number);
    if (dividend.digits == 0) return true;

    // dividend.digits * 10^shift must be a multiple of digits.
    int shift = dividend.exponent - exponent;
    std::uint64_t left = dividend.digits;
    if (shift < 0) {
        // The zeros have to come out of the dividend: no more than its 20 digits can give.
        Wide scaled = digits;
        for (; shift < 0; ++shift) {
            scaled *= 10;
            if (scaled > left) return false;
        }
        return left % static_cast<std::uint64_t>(scaled) == 0;
    }
    left %= digits;
    for (; shift > 0 && left != 0; --shift) left = static_cast<std::uint64_t>(Wide{left} * 10 % digits);
    return left == 0;
}

std::string to_text(const Number& number) {
    switch (number.kind) {
        case Number::Kind::int64: return std::to_string(number.i);
        case Number::Kind::uint64: return std::to_string(number.u);
        case Number::Kind::real: break;
    }
    return json::write(Value(number.d));
}

}  // namespace callgate::schema
