#include "shown_value.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sha256.h"

namespace callgate::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ShownValue, EveryMemberIsShown) {
    EXPECT_EQ(to_text(Value{{"to", {"ada@example.org"}}, {"urgent", true}}, false, 4, Style{}),
              "    {\n"
              "      \"to\": [\n"
              "        \"ada@example.org\"\n"
              "      ],\n"
              "      \"urgent\": true\n"
              "    }\n");
}

TEST(ShownValue, LongTextsKeepHeadAndTailAndAreNamedWithTheirHash) {
    const std::string body = "begin" + std::string(5'000, 'x') + "end";
    const Value arguments{{"mail", {{"a/b", body}}}};
    const std::string shown = to_text(arguments, false, 0, Style{});
    EXPECT_THAT(shown, HasSubstr("beginxxx"));
    EXPECT_THAT(shown, HasSubstr("xxxend\""));
    EXPECT_LT(shown.size(), 1'500u);
    EXPECT_THAT(shown, HasSubstr("/mail/a~1b is cut: it has 5008 bytes, SHA-256 " + base::sha256_hex(body)));
    const std::string full = to_text(arguments, true, 0, Style{});
    EXPECT_THAT(full, HasSubstr(body));
    EXPECT_THAT(full, Not(HasSubstr("is cut")));
}

TEST(ShownValue, ACutNeverSplitsACharacter) {
    std::string text;
    for (int i = 0; i < 1'000; ++i) text += "日";
    for (std::size_t longest = 100; longest < 112; ++longest) {
        Value value(text);
        EXPECT_EQ(cut_long_texts(value, longest).size(), 1u);
        EXPECT_EQ(printable(value.get_string()).find("\\x"), std::string::npos) << longest;
    }
}

TEST(ShownValue, ATextThatOnlyPretendsToBeCutIsNotNamed) {
    const Value value{{"body", "head … tail, /body is cut: it has 9 bytes"}};
    EXPECT_TRUE(cut_long_texts(const_cast<Value&>(value)).empty());
}

TEST(ShownValue, WhatCannotBeSeenIsSpelledOutAndCounted) {
    const std::string shown =
        to_text(Value{{"to", "ada\u200B@example.org"}, {"p\u202Eath", "x\U000E0041"}}, false, 0, Style{});
    EXPECT_THAT(shown, HasSubstr("ada\\u{200B}@example.org"));
    EXPECT_THAT(shown, HasSubstr("p\\u{202E}ath"));
    EXPECT_THAT(shown, HasSubstr("x\\u{E0041}"));
    EXPECT_THAT(shown, HasSubstr("3 characters that cannot be seen are spelled out"));
    EXPECT_EQ(to_text(Value{{"a", "two\nlines\tand é"}}, false, 0, Style{}).find("cannot be seen"),
              std::string::npos);
}

TEST(ShownValue, SpelledOutCharactersStandOutInColour) {
    Style style;
    style.color = true;
    EXPECT_EQ(visible("a\u200Bb\nc", style), "a" + style.yellow("\\u{200B}") + "b\nc");
    EXPECT_EQ(visible("a\u200Bb\nc", Style{}), "a\\u{200B}b\nc");
}

TEST(ShownValue, WordsOfSeveralScriptsArePointedAt) {
    const auto words = [](std::string_view text) { return suspicion_of(Value(text)).mixed_words; };
    EXPECT_THAT(words("https://p\u0430ypal.com/login p\u0430ypal"), ElementsAre("p\u0430ypal"));
    EXPECT_THAT(words("\u03BFffice"), ElementsAre("\u03BFffice")) << "a Greek omicron";
    EXPECT_THAT(words("ad\u200Bm\u0456n"), ElementsAre("adm\u0456n")) << "what is hidden does not part words";
    EXPECT_THAT(words("Привет, world, Ελλάδα, café, naïve, 日本語 text"), ElementsAre());
    EXPECT_THAT(suspicion_of(Value{{"p\u0430th", 1}}).mixed_words, ElementsAre("p\u0430th")) << "names, too";
}

TEST(ShownValue, NothingShownCanPlayTricks) {
    const Value hostile{{"a\x1b[2J", "\x1b]0;title\x07\r\n\u009B31m\u2028"}};
    for (const bool full : {false, true}) {
        const std::string shown = to_text(hostile, full, 2, Style{});
        for (const char c : shown) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
        EXPECT_THAT(shown, Not(HasSubstr("\u009B")));
    }
}

}  // namespace
}  // namespace callgate::cli
