// The few character questions that all format checks share. Only ASCII digits and letters count; nothing here
// depends on the locale.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/utf8.h"

namespace callgate::schema {

constexpr bool is_ascii_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

constexpr bool is_ascii_alpha(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool is_ascii_alnum(char c) noexcept {
    return is_ascii_digit(c) || is_ascii_alpha(c);
}

constexpr bool is_hex_digit(char c) noexcept {
    return is_ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Precondition: is_hex_digit(c).
constexpr unsigned hex_value(char c) noexcept {
    return static_cast<unsigned>(is_ascii_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

constexpr bool is_ascii(char c) noexcept {
    return static_cast<unsigned char>(c) < 0x80;
}

constexpr char32_t kBadCodePoint = 0xFFFF'FFFF;

/// The code point at `position`, which is moved past it. Callers promise UTF-8; should they be wrong, the
/// answer is kBadCodePoint, one byte is consumed and nothing outside `text` is read.
inline char32_t next_code_point(std::string_view text, std::size_t& position) noexcept {
    const auto lead = static_cast<unsigned char>(text[position]);
    const std::size_t length = lead < 0x80 ? 1 : base::utf8_sequence_length(text.substr(position));
    if (length <= 1) {
        ++position;
        return length == 1 ? lead : kBadCodePoint;
    }
    const char32_t code = base::decode_utf8(text.substr(position, length));
    position += length;
    return code;
}

/// RFC 3987 section 2.2, `ucschar`.
constexpr bool is_ucschar(char32_t c) noexcept {
    if (c < 0x1'0000) {
        return (c >= 0xA0 && c <= 0xD7FF) || (c >= 0xF900 && c <= 0xFDCF) || (c >= 0xFDF0 && c <= 0xFFEF);
    }
    return (c & 0xFFFF) <= 0xFFFD && (c <= 0xD'FFFF || (c >= 0xE'1000 && c <= 0xE'FFFF));
}

/// RFC 3987 section 2.2, `iprivate`.
constexpr bool is_iprivate(char32_t c) noexcept {
    return (c >= 0xE000 && c <= 0xF8FF) || (c >= 0xF'0000 && c <= 0x10'FFFF && (c & 0xFFFF) <= 0xFFFD);
}

/// "%" and two hex digits at `position` (RFC 3986 section 2.1).
constexpr bool is_percent_triplet(std::string_view text, std::size_t position) noexcept {
    return text.size() - position >= 3 && text[position] == '%' && is_hex_digit(text[position + 1]) &&
           is_hex_digit(text[position + 2]);
}

}  // namespace callgate::schema
