// For tests: random documents, and documents of any depth.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <rapidcheck.h>
#include <boost/json/monotonic_resource.hpp>

#include <callgate/json.h>

namespace callgate::json {

/// Valid UTF-8 with a good share of what needs care: controls, quotes, non-ASCII, beyond U+FFFF.
inline rc::Gen<std::string> any_text() {
    const auto piece = rc::gen::weightedOneOf<std::string>({
        {6, rc::gen::map(rc::gen::inRange(0x20, 0x7F),
                         [](int c) { return std::string(1, static_cast<char>(c)); })},
        {2,
         rc::gen::map(rc::gen::inRange(0, 0x20), [](int c) { return std::string(1, static_cast<char>(c)); })},
        {2, rc::gen::element<std::string>("\"", "\\", "/", "~", "\x7F", "é", "ÿ", "漢", "\u2028", "\uE000",
                                          "\uFFFD", "😀", "𝄞")},
    });
    return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                        [](const std::vector<std::string>& all) {
                            std::string text;
                            for (const std::string& one : all) text += one;
                            return text;
                        });
}

inline rc::Gen<double> any_finite_double() {
    const auto bits =
        rc::gen::map(rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>()), [](std::uint64_t b) {
            double number = 0;
            static_assert(sizeof number == sizeof b);
            std::memcpy(&number, &b, sizeof number);
            return number;
        });
    const auto decimal =
        rc::gen::map(rc::gen::pair(rc::gen::inRange(-99'999'999, 99'999'999), rc::gen::inRange(0, 8)),
                     [](std::pair<int, int> p) { return p.first / std::pow(10, p.second); });
    const auto special = rc::gen::element(
        0.0, -0.0, 1.0, -1.0, 1e21, 1e-7, 9007199254740992.0, 9223372036854775808.0, 18446744073709551616.0,
        std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max());
    return rc::gen::suchThat(rc::gen::oneOf(bits, decimal, special),
                             [](double d) { return std::isfinite(d); });
}

inline rc::Gen<Value> any_number() {
    return rc::gen::oneOf(
        rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t n) { return Value(n); }),
        rc::gen::map(rc::gen::inRange<std::int64_t>(-3, 4), [](std::int64_t n) { return Value(n); }),
        rc::gen::map(rc::gen::inRange<std::uint64_t>(0, 4), [](std::uint64_t n) { return Value(n); }),
        rc::gen::map(rc::gen::inRange<int>(-3, 4), [](int n) { return Value(static_cast<double>(n)); }),
        rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t n) { return Value(~n); }),
        rc::gen::map(rc::gen::element<std::int64_t>(9007199254740991, 9007199254740992, 9007199254740993,
                                                    std::numeric_limits<std::int64_t>::min(),
                                                    std::numeric_limits<std::int64_t>::max()),
                     [](std::int64_t n) { return Value(n); }),
        rc::gen::map(any_finite_double(), [](double n) { return Value(n); }));
}

inline rc::Gen<Value> any_value(int depth = 4) {
    auto scalar = rc::gen::oneOf(
        rc::gen::just(Value(nullptr)),
        rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return Value(b); }), any_number(), any_number(),
        rc::gen::map(any_text(), [](const std::string& text) { return Value(text); }));
    if (depth == 0) return scalar;
    // At a fraction of the size, or every level would multiply the document.
    const auto array = rc::gen::scale(
        0.1,
        rc::gen::map(rc::gen::container<std::vector<Value>>(any_value(depth - 1)),
                     [](const std::vector<Value>& all) { return Value(Array(all.begin(), all.end())); }));
    const auto object =
        rc::gen::scale(0.2, rc::gen::map(rc::gen::container<std::vector<std::pair<std::string, Value>>>(
                                             rc::gen::pair(any_text(), any_value(depth - 1))),
                                         [](const std::vector<std::pair<std::string, Value>>& all) {
                                             Object made;
                                             for (const auto& [key, value] : all) made[key] = value;
                                             return Value(std::move(made));
                                         }));
    return rc::gen::oneOf(scalar, array, object, object);
}

/// [[[…]]] or {"k":{"k":…}}. It lives in memory that is never freed value by value, because boost::json's
/// destructor recurses, and ours must be the only code under test.
class DeepValue {
public:
    DeepValue(std::size_t depth, bool objects, Value innermost = nullptr)
        : value_(new(memory_.allocate(sizeof(Value), alignof(Value)))
                     Value(std::move(innermost), boost::json::storage_ptr(&memory_))) {
        const boost::json::storage_ptr storage(&memory_);
        for (std::size_t i = 0; i < depth; ++i) {
            if (objects) {
                Object outer(storage);
                outer.emplace("k", std::move(*value_));
                *value_ = std::move(outer);
            } else {
                Array outer(storage);
                outer.emplace_back(std::move(*value_));
                *value_ = std::move(outer);
            }
        }
    }

    const Value& operator*() const { return *value_; }

private:
    boost::json::monotonic_resource memory_;
    Value* value_;
};

}  // namespace callgate::json
