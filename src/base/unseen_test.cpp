#include "base/unseen.h"

#include <string_view>

#include <gtest/gtest.h>

#include <unictype.h>

namespace callgate::base {
namespace {

TEST(Unseen, AreControlsMarksAndFillersOfEveryScript) {
    for (const char32_t c : std::u32string_view(
             U"\x01\x1B\x7F\u0085\u00AD\u034F\u061C\u115F\u1160\u17B4\u180B\u180E\u200B\u200F\u2028\u202E"
             U"\u2060\u2069\u206F\u2800\u3164\uFE00\uFE0F\uFEFF\uFFA0\uFFF9\uFFFE\U0001BCA0\U0001D173"
             U"\U0001FFFF\U000E0001\U000E01EF\U000E0FFF"))
        EXPECT_TRUE(is_unseen(c)) << std::hex << static_cast<unsigned>(c);
    EXPECT_TRUE(is_unseen(0));
}

TEST(Unseen, AreAllThatUnicodeLetsAProgramIgnore) {
    const uc_general_category_t controls =
        uc_general_category_or(UC_CATEGORY_Cc, uc_general_category_or(UC_CATEGORY_Zl, UC_CATEGORY_Zp));
    for (char32_t c = 0; c <= 0x10FFFF; ++c) {
        const bool unseen = uc_is_general_category(c, controls) ||
                            uc_is_property_default_ignorable_code_point(c) ||
                            uc_is_property_bidi_control(c) || uc_is_property_not_a_character(c);
        ASSERT_TRUE(is_unseen(c) || !unseen) << std::hex << static_cast<unsigned>(c);
    }
}

TEST(Unseen, AreNoLettersSignsOrSpaces) {
    for (const char32_t c : std::u32string_view(U" ~\u00A0®éα‧‐⁰\u2009あ︰Ａ\u3000\uFFFC\uFFFD😀\U000E1000"))
        EXPECT_FALSE(is_unseen(c)) << std::hex << static_cast<unsigned>(c);
}

TEST(Spaces, AreThoseOfEveryWidth) {
    for (char32_t c = 0; c <= 0x10FFFF; ++c)
        ASSERT_EQ(is_space(c), uc_is_general_category(c, UC_CATEGORY_Zs))
            << std::hex << static_cast<unsigned>(c);
}

}  // namespace
}  // namespace callgate::base
