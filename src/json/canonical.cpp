// Canonical form: equal values (equal.h) have the same text, different ones never. (What only a program can
// put into a value is written as write() does it: a NaN as null, bytes that are not UTF-8 as U+FFFD.)
//
// That is why one rule of RFC 8785 is not followed. It prints a number as ECMAScript would, and there an
// integer beyond 2^53 is rounded to 17 digits and filled up with zeros: 2^60 would be written as
// 1152921504606847000, which is another number, and one that an int64 can hold. Here all integers below 1e21
// are written with their exact digits, whether they are held as integer or as double.
#include <callgate/json.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>

#include <boost/container/small_vector.hpp>

#include "base/utf8.h"
#include "json/value_writer.h"

namespace callgate::json {

namespace {

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
constexpr double kExponentFrom = 1e21;

/// ECMAScript's Number::toString, laid out from the shortest digits that read back as `number`.
void put_es_number(TextSink& sink, double number) {
    if (!std::isfinite(number)) return sink.put_token("null");
    if (number == 0) return sink.put('0');  // -0 too
    if (number < 0) {
        sink.put('-');
        number = -number;
    }
    char text[TextSink::kMaxToken];
    if (number >= kExactIntegers && number < kExponentFrom) {
        const char* const end =
            std::to_chars(text, text + sizeof text, number, std::chars_format::fixed, 0).ptr;
        return sink.put_token({text, static_cast<std::size_t>(end - text)});
    }

    // d[.ddd]e±xx, to digits without the point and the place of the point counted from the first digit.
    char* const end = std::to_chars(text, text + sizeof text, number, std::chars_format::scientific).ptr;
    const char* const mark = std::find(text, end, 'e');
    int exponent = 0;
    std::from_chars(mark[1] == '+' ? mark + 2 : mark + 1, end, exponent);
    std::string_view digits(text, static_cast<std::size_t>(mark - text));
    if (digits.size() > 1) {
        text[1] = text[0];
        digits = {text + 1, digits.size() - 1};
    }
    const int point = exponent + 1;
    const int count = static_cast<int>(digits.size());

    if (point <= -6 || number >= kExponentFrom) {
        sink.put(digits.front());
        if (count > 1) {
            sink.put('.');
            sink.put_token(digits.substr(1));
        }
        sink.put('e');
        sink.put(exponent < 0 ? '-' : '+');
        sink.put_integer(static_cast<std::int64_t>(std::abs(exponent)));
    } else if (point <= 0) {
        sink.put_token("0.");
        sink.put_repeated('0', static_cast<std::size_t>(-point));
        sink.put_token(digits);
    } else if (count <= point) {
        sink.put_token(digits);
        sink.put_repeated('0', static_cast<std::size_t>(point - count));
    } else {
        sink.put_token(digits.substr(0, static_cast<std::size_t>(point)));
        sink.put('.');
        sink.put_token(digits.substr(static_cast<std::size_t>(point)));
    }
}

/// Order of UTF-16 code units, on UTF-8. It differs from the order of bytes in one place: characters beyond
/// U+FFFF (first byte F0 to F4) are surrogates in UTF-16 and so come before U+E000 to U+FFFF (EE, EF).
bool utf16_less(std::string_view a, std::string_view b) noexcept {
    const auto rank = [](char c) {
        const unsigned byte = static_cast<unsigned char>(c);
        return byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte;
    };
    const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    if (at_b == b.end()) return false;
    if (at_a == a.end()) return true;
    return rank(*at_a) < rank(*at_b);
}

/// Members sorted by their keys.
class Canonical {
public:
    /// They lie in members_ from `first` on, up to the members of the object opened after it.
    struct Members {
        std::size_t first = 0;
        std::size_t at = 0;
        std::size_t end = 0;
    };
    static constexpr bool kPretty = false;

    Members open(const Object& object) {
        const std::size_t first = members_.size();
        for (const auto& member : object) members_.push_back({valid_key(member.key()), &member.value()});
        std::sort(members_.begin() + static_cast<std::ptrdiff_t>(first), members_.end(),
                  [](const Member& a, const Member& b) { return utf16_less(a.key, b.key); });
        return {first, first, members_.size()};
    }

    bool next(Members& members) {
        if (++members.at != members.end) return true;
        members_.resize(members.first);
        return false;
    }

    std::string_view key(const Members& members) const { return members_[members.at].key; }
    const Value* value(const Members& members) const { return members_[members.at].value; }
    static void put_double(TextSink& sink, double number) { put_es_number(sink, number); }

private:
    struct Member {
        std::string_view key;
        const Value* value;
    };

    /// Keys are sorted as they will be written, so that the text's own keys are in order.
    std::string_view valid_key(std::string_view key) {
        const bool ascii =
            std::all_of(key.begin(), key.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
        if (ascii || base::is_valid_utf8(key)) return key;
        return repaired_.emplace_back(valid_utf8(key));
    }

    boost::container::small_vector<Member, 32> members_;
    std::deque<std::string> repaired_;
};

}  // namespace

std::string canonical(const Value& value) {
    std::string out;
    ValueWriter<Canonical>(out).write(value);
    return out;
}

}  // namespace callgate::json
