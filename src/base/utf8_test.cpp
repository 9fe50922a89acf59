#include "base/utf8.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::base {
namespace {

TEST(Utf8, AcceptsWhatUnicodeAllows) {
    for (const auto* text :
         {"", "plain ascii, longer than eight", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
          "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        EXPECT_TRUE(is_valid_utf8(text)) << text;
    }
}

TEST(Utf8, SaysWhereTheFirstBadByteIs) {
    EXPECT_EQ(find_invalid_utf8("0123456789\xff"), 10u);
    EXPECT_EQ(find_invalid_utf8("\xc3\xa9\x80"), 2u);
    for (const auto* text : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xc3", "\xe0\x80\x80", "\xe0\x9f\xbf",
                             "\xed\xa0\x80", "\xe2\x82", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf",
                             "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x9f\x98", "\xff"}) {
        EXPECT_EQ(find_invalid_utf8(text), 0u) << text;
    }
}

TEST(Utf8, CutsBetweenCodePointsOnly) {
    const std::string_view text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";  // 1 + 2 + 3 + 4 bytes
    const std::size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (std::size_t max = 0; max < std::size(expected); ++max) {
        EXPECT_EQ(truncate_to_bytes(text, max).size(), expected[max]) << max;
    }
    EXPECT_EQ(truncate_to_code_points(text, 3), text.substr(0, 6));
    EXPECT_EQ(truncate_to_code_points(text, 9), text);
    EXPECT_EQ(count_code_points(text), 4u);
    EXPECT_EQ(count_code_points("a\xff\xc3"), 3u);
}

RC_GTEST_PROP(Utf8, ATruncatedValidTextIsValidAndLosesLessThanOneCodePoint,
              (const std::u32string& raw, std::size_t cut)) {
    std::string text;
    for (const auto c : raw) {
        const auto p = static_cast<std::uint32_t>(c) % 0x110000;
        if (p < 0x80) {
            text.push_back(static_cast<char>(p));
        } else if (p < 0x800) {
            text.push_back(static_cast<char>(0xc0 | p >> 6));
            text.push_back(static_cast<char>(0x80 | (p & 63)));
        } else if (p >= 0xd800 && p < 0xe000) {
            text += "?";
        } else if (p < 0x10000) {
            text.push_back(static_cast<char>(0xe0 | p >> 12));
            text.push_back(static_cast<char>(0x80 | (p >> 6 & 63)));
            text.push_back(static_cast<char>(0x80 | (p & 63)));
        } else {
            text.push_back(static_cast<char>(0xf0 | p >> 18));
            text.push_back(static_cast<char>(0x80 | (p >> 12 & 63)));
            text.push_back(static_cast<char>(0x80 | (p >> 6 & 63)));
            text.push_back(static_cast<char>(0x80 | (p & 63)));
        }
    }
    RC_ASSERT(is_valid_utf8(text));
    RC_ASSERT(count_code_points(text) == raw.size());
    RC_ASSERT(count_valid_code_points(text) == raw.size());
    const auto max = text.empty() ? 0 : cut % (text.size() + 1);
    const auto kept = truncate_to_bytes(text, max);
    RC_ASSERT(is_valid_utf8(kept));
    RC_ASSERT(kept.size() <= max);
    RC_ASSERT(kept.size() + 4 > max);
}

TEST(Utf8, CodePointsAreWrittenAndReadBack) {
    std::vector<char32_t> points = {0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0x10FFFF};
    for (char32_t point = 0; point <= 0x10FFFF; point += point < 0x1000 ? 1 : 61) {
        if (point < 0xD800 || point > 0xDFFF) points.push_back(point);
    }
    for (const char32_t point : points) {
        std::string text;
        append_utf8(text, point);
        ASSERT_EQ(utf8_sequence_length(text), text.size()) << static_cast<std::uint32_t>(point);
        ASSERT_EQ(decode_utf8(text), point);
        ASSERT_FALSE(is_utf8_continuation(text.front()));
        ASSERT_EQ(count_valid_code_points(text), 1u);
    }
}

TEST(Utf8, ASequenceThatIsCutIsNone) {
    for (const std::string_view whole : {"é", "€", "😀"}) {
        for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
            EXPECT_EQ(utf8_sequence_length(whole.substr(0, bytes)), 0u) << whole << ' ' << bytes;
    }
}

RC_GTEST_PROP(Utf8, AnyBytesAreCutWithinTheLimit, (const std::string& bytes, std::uint8_t max)) {
    RC_ASSERT(truncate_to_bytes(bytes, max).size() <= max);
    RC_ASSERT(count_code_points(truncate_to_code_points(bytes, max)) <= max);
}

}  // namespace
}  // namespace callgate::base
