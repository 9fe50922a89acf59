// Sets of code points as sorted ranges: the meaning of a character class, `.`, `\s` and their kin.
//
// Threads: plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace callgate::schema {

inline constexpr char32_t kMaxCodePoint = 0x10FFFF;
inline constexpr char32_t kFirstSurrogate = 0xD800;
inline constexpr char32_t kLastSurrogate = 0xDFFF;

/// Both ends belong to the range.
struct CodeRange {
    char32_t first;
    char32_t last;

    friend bool operator==(const CodeRange&, const CodeRange&) = default;
};

using CodeRanges = std::vector<CodeRange>;

/// Sorts and merges, so that equal sets have equal ranges.
void normalize(CodeRanges& ranges);

/// The code points outside `ranges`, which must be normalized.
CodeRanges inverted(std::span<const CodeRange> ranges);

/// ECMA-262 \d, \w and \s (u-mode without ignoreCase), and what `.` leaves out.
std::span<const CodeRange> digit_ranges() noexcept;
std::span<const CodeRange> word_ranges() noexcept;
std::span<const CodeRange> space_ranges() noexcept;
std::span<const CodeRange> line_end_ranges() noexcept;

/// The code point that starts at `text[at]`, with `at` moved behind it. `text` is valid UTF-8.
char32_t take_code_point(std::string_view text, std::size_t& at) noexcept;

}  // namespace callgate::schema
