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
#include "json/text.h"

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

class CanonicalWriter {
public:
    explicit CanonicalWriter(std::string& out) : sink_(out) {}

    void write(const Value& root) {
        const Value* value = &root;
        do {
            value = open(*value);
            if (value == nullptr) value = next();
        } while (value != nullptr);
        sink_.finish();
    }

private:
    struct Member {
        std::string_view key;
        const Value* value;
    };

    /// A container being written. An object's members lie sorted in members_ from `first` on, up to the
    /// members of the object opened after it.
    struct Frame {
        const Value* element;
        const Value* element_end;
        std::size_t first;
        std::size_t member;
        std::size_t count;
    };

    const Value* open(const Value& value) {
        switch (value.kind()) {
            case boost::json::kind::null: sink_.put_token("null"); return nullptr;
            case boost::json::kind::bool_:
                sink_.put_token(value.get_bool() ? "true" : "false");
                return nullptr;
            case boost::json::kind::int64: sink_.put_integer(value.get_int64()); return nullptr;
            case boost::json::kind::uint64: sink_.put_integer(value.get_uint64()); return nullptr;
            case boost::json::kind::double_: put_es_number(sink_, value.get_double()); return nullptr;
            case boost::json::kind::string: sink_.put_string(value.get_string()); return nullptr;
            case boost::json::kind::array: {
                const Array& array = value.get_array();
                sink_.put('[');
                if (array.empty()) {
                    sink_.put(']');
                    return nullptr;
                }
                open_.push_back({array.begin(), array.end(), 0, 0, 0});
                return array.begin();
            }
            case boost::json::kind::object: {
                const Object& object = value.get_object();
                sink_.put('{');
                if (object.empty()) {
                    sink_.put('}');
                    return nullptr;
                }
                open_.push_back({nullptr, nullptr, members_.size(), 0, object.size()});
                for (const auto& member : object)
                    members_.push_back({valid_key(member.key()), &member.value()});
                std::sort(members_.end() - static_cast<std::ptrdiff_t>(object.size()), members_.end(),
                          [](const Member& a, const Member& b) { return utf16_less(a.key, b.key); });
                return key(members_[open_.back().first]);
            }
        }
        return nullptr;
    }

    const Value* next() {
        while (!open_.empty()) {
            Frame& frame = open_.back();
            if (frame.count != 0) {
                if (++frame.member != frame.count) {
                    sink_.put(',');
                    return key(members_[frame.first + frame.member]);
                }
                sink_.put('}');
                members_.resize(frame.first);
            } else {
                if (++frame.element != frame.element_end) {
                    sink_.put(',');
                    return frame.element;
                }
                sink_.put(']');
            }
            open_.pop_back();
        }
        return nullptr;
    }

    const Value* key(const Member& member) {
        sink_.put_key(member.key);
        return member.value;
    }

    /// Keys are sorted as they will be written, so that the text's own keys are in order.
    std::string_view valid_key(std::string_view key) {
        const bool ascii =
            std::all_of(key.begin(), key.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
        if (ascii || base::is_valid_utf8(key)) return key;
        return repaired_.emplace_back(valid_utf8(key));
    }

    TextSink sink_;
    boost::container::small_vector<Frame, 16> open_;
    boost::container::small_vector<Member, 32> members_;
    std::deque<std::string> repaired_;
};

}  // namespace

std::string canonical(const Value& value) {
    std::string out;
    CanonicalWriter(out).write(value);
    return out;
}

}  // namespace callgate::json
