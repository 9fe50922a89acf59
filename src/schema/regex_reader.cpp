#include "schema/regex_reader.h"

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "base/utf8.h"

namespace callgate::schema {
namespace {

constexpr std::string_view kSyntaxCharacters = "^$\\.*+?()[]{}|/";

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

bool is_letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_lead_surrogate(char32_t c) noexcept {
    return c >= 0xD800 && c <= 0xDBFF;
}

bool is_trail_surrogate(char32_t c) noexcept {
    return c >= 0xDC00 && c <= 0xDFFF;
}

void append(CodeRanges& to, std::span<const CodeRange> from) {
    to.insert(to.end(), from.begin(), from.end());
}

// Letters outside ASCII are not looked up: a name only has to differ from other names.
bool is_name_part(char32_t c, bool first) noexcept {
    if (c < 0x80) {
        const char ascii = static_cast<char>(c);
        return is_letter(ascii) || ascii == '$' || ascii == '_' || (!first && is_digit(ascii));
    }
    if (c == 0x200C || c == 0x200D) {
        return !first;
    }
    const auto spaces = space_ranges();
    const bool space = std::any_of(spaces.begin(), spaces.end(),
                                   [&](const CodeRange& r) { return c >= r.first && c <= r.last; });
    const bool punctuation = (c >= 0x80 && c <= 0xA9) || (c >= 0x2010 && c <= 0x206F);
    return !space && !punctuation && !(c >= kFirstSurrogate && c <= kLastSurrogate);
}

std::string_view escape_advice(char c) noexcept {
    switch (c) {
        case 'A': return "the start of the text is \"^\" in ECMA-262";
        case 'z':
        case 'Z': return "the end of the text is \"$\" in ECMA-262";
        case 'a': return "write the character BEL as \\x07";
        case 'e': return "write the character ESC as \\x1B";
        case 'h': return "write [ \\t] for horizontal space";
        case 'R': return "write (?:\\r\\n|[\\n\\r]) for a line break";
        case 'Q':
        case 'E': return "escape each special character by itself";
        default: return "write the character itself, or \\x and two hexadecimal digits";
    }
}

}  // namespace

void finish_set(CharSet& set) {
    normalize(set.ranges);
    if (set.negated && set.properties.empty()) {
        set.ranges = inverted(set.ranges);
        set.negated = false;
    }
}

bool PatternReader::take(std::string_view text) noexcept {
    if (!pattern_.substr(at_).starts_with(text)) {
        return false;
    }
    at_ += text.size();
    return true;
}

std::uint32_t PatternReader::take_number() noexcept {
    std::uint64_t value = 0;
    for (; is_digit(peek()); ++at_) {
        value = std::min<std::uint64_t>(value * 10 + static_cast<unsigned>(peek() - '0'), kUnlimited - 1);
    }
    return static_cast<std::uint32_t>(value);
}

bool PatternReader::fail(std::size_t offset, std::string problem, std::string advice) {
    error_ = PatternError{false, offset, std::move(problem), std::move(advice)};
    return false;
}

bool PatternReader::fail_unsupported(std::size_t offset, std::string problem, std::string advice) {
    error_ = PatternError{true, offset, std::move(problem), std::move(advice)};
    return false;
}

bool PatternReader::fail_escape(std::size_t start, bool in_class) {
    if (at_end()) {
        return fail(start, "a backslash ends the pattern", "write \\\\ for a backslash");
    }
    const char c = peek();
    std::string text = "\\";
    base::append_utf8(text, take_code_point());
    const std::string where = in_class ? " inside a class" : "";
    return fail(start, "\"" + text + "\" is not an escape of ECMA-262" + where,
                std::string(escape_advice(c)));
}

bool PatternReader::is_lenient_escape(char c) const noexcept {
    return lenient_ && c >= ' ' && c <= '~' && !is_letter(c) && !is_digit(c);
}

bool PatternReader::read_hex(std::size_t digits, char32_t& out) noexcept {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
        const int digit = base::hex_value(peek(i));
        if (digit < 0) {
            return false;
        }
        value = value << 4 | static_cast<char32_t>(digit);
    }
    at_ += digits;
    out = value;
    return true;
}

bool PatternReader::read_unicode_escape(std::size_t start, char32_t& out) {
    if (take("{")) {
        char32_t value = 0;
        std::size_t digits = 0;
        for (int digit = base::hex_value(peek()); digit >= 0; digit = base::hex_value(peek()), ++digits) {
            value = std::min<char32_t>(value << 4 | static_cast<char32_t>(digit), kMaxCodePoint + 1);
            ++at_;
        }
        if (digits == 0 || !take("}") || value > kMaxCodePoint) {
            return fail(start, "\\u{ needs a hexadecimal code point up to 10FFFF and a closing brace",
                        "write for example \\u{1F432}");
        }
        out = value;
        return true;
    }
    if (!read_hex(4, out)) {
        return fail(start, "\\u needs four hexadecimal digits or {…}",
                    "write for example \\u00E9 or \\u{1F432}");
    }
    if (is_lead_surrogate(out) && peek() == '\\' && peek(1) == 'u') {
        const std::size_t back = at_;
        char32_t trail = 0;
        at_ += 2;
        if (read_hex(4, trail) && is_trail_surrogate(trail)) {
            out = 0x10000 + ((out - 0xD800) << 10) + (trail - 0xDC00);
        } else {
            at_ = back;
        }
    }
    return true;
}

bool PatternReader::read_property(std::size_t start, bool negated, CharSet& out) {
    if (!take("{")) {
        return fail(start, "a property escape needs braces", "write for example \\p{L} or \\p{Script=Greek}");
    }
    const std::size_t close = pattern_.find('}', at_);
    if (close == std::string_view::npos) {
        return fail(start, "a property escape is not closed", "add the missing \"}\"");
    }
    const std::string_view text = pattern_.substr(at_, close - at_);
    at_ = close + 1;
    const std::size_t equals = text.find('=');
    const auto property = equals == std::string_view::npos
                              ? find_property(text)
                              : find_property(text.substr(0, equals), text.substr(equals + 1));
    if (!property) {
        return fail(start,
                    "\"" + std::string(text.substr(0, 60)) + "\" is not a Unicode property of ECMA-262",
                    "use a general category (\\p{Lu}, \\p{Letter}), Script=Name or a binary property; names "
                    "are case-sensitive");
    }
    if (!property->has_parts && foreign_property_.empty()) {
        foreign_property_ = "the Unicode property \\p{" + std::string(text.substr(0, 60)) + "}";
        foreign_offset_ = start;
    }
    if (property->has_parts && property->categories.empty() && property->script.empty()) {
        if (property->complement != negated) {
            append(out.ranges, inverted(property->ranges));
        } else {
            append(out.ranges, property->ranges);
        }
    } else {
        out.properties.push_back({*property, negated});
    }
    return true;
}

bool PatternReader::read_escape(std::size_t start, bool in_class, CharUnit& out) {
    if (at_end()) {
        return fail_escape(start, in_class);
    }
    const char c = peek();
    const auto set = [&](std::span<const CodeRange> ranges, bool negated) {
        ++at_;
        out.is_set = true;
        if (negated) {
            out.set.ranges = inverted(ranges);
        } else {
            append(out.set.ranges, ranges);
        }
        return true;
    };
    const auto one = [&](char32_t code_point) {
        ++at_;
        out.code_point = code_point;
        return true;
    };
    switch (c) {
        case 'd': return set(digit_ranges(), false);
        case 'D': return set(digit_ranges(), true);
        case 's': return set(space_ranges(), false);
        case 'S': return set(space_ranges(), true);
        case 'w': return set(word_ranges(), false);
        case 'W': return set(word_ranges(), true);
        case 'p':
        case 'P':
            ++at_;
            out.is_set = true;
            return read_property(start, c == 'P', out.set);
        case 'f': return one('\f');
        case 'n': return one('\n');
        case 'r': return one('\r');
        case 't': return one('\t');
        case 'v': return one('\v');
        case 'b':
            if (in_class) return one('\b');
            break;
        case '-':
            if (in_class) return one('-');
            break;
        case '0':
            if (is_digit(peek(1))) {
                return fail(start, "\\0 followed by a digit is an octal escape, which u-mode does not have",
                            "write \\x and two hexadecimal digits");
            }
            return one(0);
        case 'c':
            if (!is_letter(peek(1))) {
                return fail(start, "\\c needs a letter",
                            "write for example \\cJ, or \\\\c for a backslash and c");
            }
            at_ += 2;
            out.code_point = static_cast<char32_t>(pattern_[at_ - 1]) % 32;
            return true;
        case 'x':
            ++at_;
            return read_hex(2, out.code_point) ||
                   fail(start, "\\x needs two hexadecimal digits", "write for example \\x20");
        case 'u': ++at_; return read_unicode_escape(start, out.code_point);
        default: break;
    }
    if (c != '\0' && (kSyntaxCharacters.find(c) != std::string_view::npos || is_lenient_escape(c))) {
        return one(static_cast<char32_t>(c));
    }
    return fail_escape(start, in_class);
}

bool PatternReader::read_class_unit(std::size_t class_start, CharUnit& out) {
    if (at_end()) {
        return fail(class_start, "a character class is not closed", "add the missing \"]\"");
    }
    const std::size_t start = at_;
    if (take("\\")) {
        return read_escape(start, true, out);
    }
    out.code_point = take_code_point();
    return true;
}

bool PatternReader::read_class(std::size_t start, CharSet& out) {
    out.negated = take("^");
    const auto add = [&](const CharUnit& unit) {
        if (!unit.is_set) {
            out.ranges.push_back({unit.code_point, unit.code_point});
            return;
        }
        append(out.ranges, unit.set.ranges);
        out.properties.insert(out.properties.end(), unit.set.properties.begin(), unit.set.properties.end());
    };
    while (!take("]")) {
        const std::size_t unit_start = at_;
        CharUnit low;
        if (!read_class_unit(start, low)) {
            return false;
        }
        if (at_end() || peek() != '-' || peek(1) == ']') {
            add(low);
            continue;
        }
        ++at_;
        CharUnit high;
        if (!read_class_unit(start, high)) {
            return false;
        }
        if (!low.is_set && !high.is_set) {
            if (low.code_point > high.code_point) {
                return fail(unit_start, "the range in the class runs backwards",
                            "put the smaller character first, or escape the hyphen as \\-");
            }
            out.ranges.push_back({low.code_point, high.code_point});
        } else if (lenient_) {
            add(low);
            add(high);
            out.ranges.push_back({'-', '-'});
        } else {
            return fail(unit_start, "a class escape cannot be an end of a range", "escape the hyphen as \\-");
        }
    }
    finish_set(out);
    return true;
}

bool PatternReader::read_group_name(std::size_t start, std::string& out) {
    out.clear();
    while (!at_end() && peek() != '>') {
        char32_t c = 0;
        if (take("\\u")) {
            if (!read_unicode_escape(start, c)) {
                return false;
            }
        } else {
            c = take_code_point();
        }
        if (!is_name_part(c, out.empty())) {
            return fail(start, "a group name must be an identifier",
                        "use letters, digits and \"_\", e.g. (?<year>…)");
        }
        base::append_utf8(out, c);
    }
    if (out.empty() || !take(">")) {
        return fail(start, "a group name must be an identifier closed by \">\"",
                    "write for example (?<year>…)");
    }
    return true;
}

}  // namespace callgate::schema
