// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace callgate::base {

/// The offset of the first byte that does not begin or continue a valid sequence; nothing if all is valid.
std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept;

inline bool is_valid_utf8(std::string_view text) noexcept {
    return !find_invalid_utf8(text);
}

/// A byte that is not the first one of its code point.
constexpr bool is_utf8_continuation(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80;
}

/// Each byte that is part of no valid sequence counts as one.
std::size_t count_code_points(std::string_view text) noexcept;

/// The same for text that is known to be valid, and quicker.
std::size_t count_valid_code_points(std::string_view text) noexcept;

/// The longest prefix of at most `max_bytes` bytes that does not cut a code point.
std::string_view truncate_to_bytes(std::string_view text, std::size_t max_bytes) noexcept;

/// The prefix of at most `max_code_points` code points.
std::string_view truncate_to_code_points(std::string_view text, std::size_t max_code_points) noexcept;

/// The length of the valid sequence that begins with `at(0)`, 1 to 4, or 0 if there is none (Unicode table
/// 3-7). at(i) gives a byte as unsigned char; beyond the text it gives 0.
template <class ByteAt>
constexpr std::size_t utf8_sequence_length_by(ByteAt at) noexcept {
    const auto tail = [&](std::size_t i) { return (at(i) & 0xC0u) == 0x80; };
    const unsigned lead = at(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        if (!tail(1) || !tail(2)) return 0;
        if (lead == 0xE0 && at(1) < 0xA0) return 0;
        if (lead == 0xED && at(1) > 0x9F) return 0;
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        if (!tail(1) || !tail(2) || !tail(3)) return 0;
        if (lead == 0xF0 && at(1) < 0x90) return 0;
        if (lead == 0xF4 && at(1) > 0x8F) return 0;
        return 4;
    }
    return 0;
}

/// The length of the valid sequence at the start of `text`, 1 to 4, or 0 if there is none.
std::size_t utf8_sequence_length(std::string_view text) noexcept;

/// The code point that a valid sequence, and nothing more, stands for.
constexpr char32_t decode_utf8(std::string_view sequence) noexcept {
    const auto lead = static_cast<unsigned char>(sequence.front());
    if (sequence.size() == 1) return lead;
    char32_t point = lead & (0x7Fu >> sequence.size());
    for (const char next : sequence.substr(1))
        point = point << 6 | (static_cast<unsigned char>(next) & 0x3Fu);
    return point;
}

/// Writes the sequence for `point` to `out`, which has room for 4 bytes; the place behind it. Surrogates are
/// written like any other code point.
constexpr char* encode_utf8(char* out, char32_t point) noexcept {
    const auto put = [&](char32_t byte) { *out++ = static_cast<char>(byte); };
    if (point < 0x80) {
        put(point);
    } else if (point < 0x800) {
        put(0xC0 | point >> 6);
        put(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        put(0xE0 | point >> 12);
        put(0x80 | (point >> 6 & 0x3F));
        put(0x80 | (point & 0x3F));
    } else {
        put(0xF0 | point >> 18);
        put(0x80 | (point >> 12 & 0x3F));
        put(0x80 | (point >> 6 & 0x3F));
        put(0x80 | (point & 0x3F));
    }
    return out;
}

inline void append_utf8(std::string& out, char32_t point) {
    std::array<char, 4> bytes;
    out.append(bytes.data(), encode_utf8(bytes.data(), point));
}

}  // namespace callgate::base
