#include "base/look_alike.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace callgate::base {
namespace {

TEST(LookAlike, LettersOfOtherAlphabetsPassForThoseOfAscii) {
    for (const char* twin : {"r\u0435ad", "re\u0430d", "\u1D26ead", "re\u0251\u0501"})
        EXPECT_TRUE(are_look_alikes("read", twin)) << twin;
    EXPECT_TRUE(are_look_alikes("SHOP", "\u0405\u041D\u041E\u0420"));
    EXPECT_TRUE(are_look_alikes("files/read", "files\u2215read"));
    EXPECT_TRUE(are_look_alikes("a-b", "a\u2013b"));
}

TEST(LookAlike, TwoTwinsOfOneTextAreTwins) {
    EXPECT_TRUE(are_look_alikes("r\u0435ad", "re\u0430d"));
}

TEST(LookAlike, ComposedDifferentlyIsTheSameLook) {
    EXPECT_TRUE(are_look_alikes("caf\u00E9", "cafe\u0301"));
    EXPECT_FALSE(are_look_alikes("cafe", "caf\u00E9"));
}

TEST(LookAlike, WidthsAndFancyLettersAreTheSameLook) {
    EXPECT_TRUE(are_look_alikes("read", "\uFF52\uFF45\uFF41\uFF44"));
    EXPECT_TRUE(are_look_alikes("read", "\U0001D42B\U0001D41E\U0001D41A\U0001D41D"));
    EXPECT_TRUE(are_look_alikes("find", "\uFB01nd"));
    EXPECT_TRUE(are_look_alikes("a/b", "a\uFF0Fb"));
}

TEST(LookAlike, WhatPassesForOneOfSeveralPassesForEach) {
    for (const char* text : {"level_l", "level_I", "level_1"})
        EXPECT_TRUE(are_look_alikes(text, "level_\u04C0")) << text;
    EXPECT_TRUE(are_look_alikes("v0", "v\u039F"));
}

TEST(LookAlike, AsciiTextsAreNoTwins) {
    EXPECT_FALSE(are_look_alikes("h1", "hl"));
    EXPECT_FALSE(are_look_alikes("v0", "vO"));
    EXPECT_FALSE(are_look_alikes("Read", "read"));
}

TEST(LookAlike, CaseIsSeen) {
    EXPECT_FALSE(are_look_alikes("\u0430", "A"));
    EXPECT_TRUE(are_look_alikes("\u0410", "A"));
}

TEST(LookAlike, WordsOfOtherLanguagesAreNotTakenForOneAnother) {
    EXPECT_FALSE(are_look_alikes("gr\u00F6\u00DFe", "grosse"));
    EXPECT_FALSE(are_look_alikes("\u8A08\u7B97", "\u8A08\u753B"));
    EXPECT_FALSE(are_look_alikes("\u0447\u0438\u0442\u0430\u0442\u044C", "read"));
}

RC_GTEST_PROP(LookAlike, OfALookIsTheLookItself, ()) {
    const auto points = *rc::gen::container<std::u32string>(
        rc::gen::element<char32_t>(U'a', U'1', U'I', U'\u0435', U'\u04C0', U'\u00E9', U'\u0301', U'\uFF41',
                                   U'\u2215', U'\u8A08', U'\u03F2', U'\u017F'));
    std::string text;
    for (const char32_t point : points) append_utf8(text, point);
    RC_ASSERT(look_of(look_of(text)) == look_of(text));
}

}  // namespace
}  // namespace callgate::base
