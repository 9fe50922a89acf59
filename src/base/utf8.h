// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace callgate::base {

/// The offset of the first byte that does not begin or continue a valid sequence; nothing if all is valid.
std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept;

inline bool is_valid_utf8(std::string_view text) noexcept {
    return !find_invalid_utf8(text);
}

/// Each byte that is part of no valid sequence counts as one.
std::size_t count_code_points(std::string_view text) noexcept;

/// The longest prefix of at most `max_bytes` bytes that does not cut a code point.
std::string_view truncate_to_bytes(std::string_view text, std::size_t max_bytes) noexcept;

/// The prefix of at most `max_code_points` code points.
std::string_view truncate_to_code_points(std::string_view text, std::size_t max_code_points) noexcept;

/// The length of the valid sequence at the start of `text`, 1 to 4, or 0 if there is none.
std::size_t utf8_sequence_length(std::string_view text) noexcept;

}  // namespace callgate::base
