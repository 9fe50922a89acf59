#include "pipeline/log_line_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/unseen.h"
#include "base/utf8.h"

namespace callgate::pipeline {
namespace {

/// Where a byte can stand as it is: in a string in either quotes, and in a word.
constexpr std::uint8_t kInString = 1;
constexpr std::uint8_t kInWord = 2;
constexpr std::array<std::uint8_t, 256> kPlain = [] {
    std::array<std::uint8_t, 256> table{};
    for (std::size_t c = 0x20; c < 0x7f; ++c) {
        if (c == '\\' || c == '\'' || c == '"') continue;
        table[c] = c == ' ' ? kInString : kInString | kInWord;
    }
    return table;
}();

/// One character of a text: its bytes, and what stands for it if it cannot stand itself.
struct Character {
    std::size_t bytes = 1;
    std::array<char, 10> escape{};
    std::size_t escape_size = 0;  ///< 0: it stands for itself

    std::string_view escaped() const { return {escape.data(), escape_size}; }

    void put(char c) { escape[escape_size++] = c; }
    void put_hex(char letter, char32_t value, int digits) {
        constexpr std::string_view kHex = "0123456789abcdef";
        put('\\');
        put(letter);
        for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) put(kHex[value >> shift & 15]);
    }
};

/// The first character of `text`. `quote` is escaped by a backslash, as the backslash is.
Character first_of(std::string_view text, char quote) {
    Character out;
    out.bytes = base::utf8_sequence_length(text);
    if (out.bytes == 0) {
        out.bytes = 1;
        out.put_hex('u', 0xdc00 + static_cast<unsigned char>(text[0]), 4);
        return out;
    }
    const char32_t c = base::decode_utf8(text.substr(0, out.bytes));
    if (c == '\\' || c == static_cast<char32_t>(quote)) {
        out.put('\\');
        out.put(static_cast<char>(c));
    } else if (c == '\n' || c == '\r' || c == '\t') {
        out.put('\\');
        out.put(c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    } else if (base::is_unseen(c) || (c != ' ' && base::is_space(c))) {
        if (c < 0x100) {
            out.put_hex('x', c, 2);
        } else if (c < 0x10000) {
            out.put_hex('u', c, 4);
        } else {
            out.put_hex('U', c, 8);
        }
    }
    return out;
}

}  // namespace

inline std::size_t LineText::copy_plain(std::string_view text, std::uint8_t where) noexcept {
    const std::size_t most = std::min(text.size(), room());
    char* const to = next_;
    std::size_t i = 0;
    for (; i < most && (kPlain[static_cast<unsigned char>(text[i])] & where) != 0; ++i) to[i] = text[i];
    next_ = to + i;
    return i;
}

// The usual name, all plain, in one go: comma, quotes, colon.
void LineText::name(std::string_view text, bool first) {
    char* const begin = next_;
    if (!full_ && text.size() + 6 <= room()) [[likely]] {
        if (!first) {
            *next_++ = ',';
            *next_++ = ' ';
        }
        *next_++ = '\'';
        if (copy_plain(text, kInString) == text.size()) [[likely]] {
            *next_++ = '\'';
            *next_++ = ':';
            *next_++ = ' ';
            return;
        }
        next_ = begin;
    }
    if (!first) token(", ");
    string(text);
    token(": ");
}

void LineText::end_part() noexcept {
    end_ = buffer_ + kBytes;
    if (!full_) return;
    full_ = false;
    // The buffer has room for it past its end.
    std::memcpy(next_, kCut.data(), kCut.size());
    next_ += kCut.size();
}

template <class Number>
inline void LineText::digits(Number number) noexcept {
    if (full_) return;
    const auto [end, fault] = std::to_chars(next_, next_ + room(), number);
    full_ = fault != std::errc();
    if (!full_) next_ = end;
}

void LineText::integer(std::int64_t number) {
    digits(number);
}

void LineText::integer(std::uint64_t number) {
    digits(number);
}

void LineText::real(double number) {
    if (std::isnan(number)) return token("nan");
    if (std::isinf(number)) return token(number > 0 ? "inf" : "-inf");
    // As Python's repr(): the fewest digits; an exponent below 1e-4 and from 1e16 on.
    const double size = std::fabs(number);
    const bool fixed = number == 0 || (size >= 1e-4 && size < 1e16);
    std::array<char, 40> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                   fixed ? std::chars_format::fixed : std::chars_format::scientific)
                         .ptr;
    std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
    token(text);
    if (fixed && text.find('.') == std::string_view::npos) token(".0");
}

void LineText::string(std::string_view text) {
    if (full_) return;
    char* const begin = next_;
    if (text.size() + 2 <= room()) [[likely]] {
        *next_++ = '\'';
        if (copy_plain(text, kInString) == text.size()) [[likely]] {
            *next_++ = '\'';
            return;
        }
        next_ = begin;
    }
    const bool some_single = text.find('\'') != std::string_view::npos;
    const bool some_double = text.find('"') != std::string_view::npos;
    const char quote = some_single && !some_double ? '"' : '\'';
    const std::string_view mark(&quote, 1);
    token(mark);
    while (!full_ && !text.empty()) {
        text.remove_prefix(copy_plain(text, kInString));
        if (text.empty()) break;
        const Character c = first_of(text, quote);
        token(c.escape_size > 0 ? c.escaped() : text.substr(0, c.bytes));
        text.remove_prefix(c.bytes);
    }
    token(mark);
}

void LineText::escaped(std::string_view text, std::size_t max_characters, EscapeRule rule) {
    const std::uint8_t where = rule.spaces ? kInWord : kInString;
    if (text.size() <= max_characters && !full_) [[likely]] {  // the usual one is all plain
        text.remove_prefix(copy_plain(text, where));
        if (text.empty()) return;
    }
    std::size_t left = max_characters;
    while (left > 0 && !text.empty() && !full_) {
        if (const std::size_t plain = copy_plain(text.substr(0, left), where); plain > 0) {
            text.remove_prefix(plain);
            left -= plain;
            continue;
        }
        if (text[0] == ' ') {
            token("\\x20");
            text.remove_prefix(1);
        } else {
            const char quote = !rule.only_single_quotes && text[0] == '"' ? '"' : '\'';
            const Character c = first_of(text, quote);
            token(c.escape_size > 0 ? c.escaped() : text.substr(0, c.bytes));
            text.remove_prefix(c.bytes);
        }
        --left;
    }
    if (!text.empty()) token(kCut);
}

}  // namespace callgate::pipeline
