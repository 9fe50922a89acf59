#include "terminal.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace callgate::cli {
namespace {

TEST(Terminal, ColourIsForTerminalsUnlessAskedFor) {
    Terminal terminal;
    EXPECT_FALSE(terminal.style(ColorMode::automatic).color);
    EXPECT_TRUE(terminal.style(ColorMode::always).color);
    terminal.is_terminal = true;
    EXPECT_FALSE(terminal.style(ColorMode::automatic).color) << "NO_COLOR is set";
    terminal.wants_color = true;
    EXPECT_TRUE(terminal.style(ColorMode::automatic).color);
    EXPECT_FALSE(terminal.style(ColorMode::never).color);
}

TEST(Terminal, PlainStyleAddsNothing) {
    EXPECT_EQ(Style{}.red("x"), "x");
    Style color;
    color.color = true;
    EXPECT_EQ(color.red("x"), "\x1b[1;31mx\x1b[0m");
}

TEST(Terminal, LinesEndOnlyOnATerminal) {
    EXPECT_EQ((Terminal{false, false, 80}).style(ColorMode::always).width, 0u);
    EXPECT_EQ((Terminal{true, true, 80}).style(ColorMode::never).width, 80u);
    EXPECT_GE((Terminal{true, true, 3}).style(ColorMode::never).width, 40u) << "too narrow for columns";
}

TEST(Terminal, ControlCharactersAreSpelledOut) {
    EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1B[2Jb");
    EXPECT_EQ(printable("a\nb\tc\r"), "a\\nb c\\x0D");
    EXPECT_EQ(printable("\xE2\x80\xAEtxt"), "\\u{202E}txt") << "right-to-left override";
    EXPECT_EQ(printable("\xC2\x9Bm"), "\\x9Bm") << "the one-byte CSI of C1";
    EXPECT_EQ(printable("\xFF\xC3"), "\\xFF\\xC3") << "not UTF-8";
    EXPECT_EQ(printable("日本 é"), "日本 é");
}

std::string utf8(char32_t c) {
    std::string out;
    const auto byte = [&](char32_t bits) { out += static_cast<char>(bits); };
    if (c < 0x80) {
        byte(c);
    } else if (c < 0x800) {
        byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F));
    } else {
        byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F)), byte(0x80 | (c >> 6 & 0x3F)),
            byte(0x80 | (c & 0x3F));
    }
    return out;
}

TEST(Terminal, NothingThatCannotBeSeenPassesUnseen) {
    struct Range {
        const char* what;
        char32_t first;
        char32_t last;
    };
    for (const Range& range : {Range{"C0", 0x00, 0x08},
                               Range{"C0", 0x0B, 0x1F},
                               Range{"C1", 0x7F, 0x9F},
                               Range{"soft hyphen", 0xAD, 0xAD},
                               Range{"grapheme joiner", 0x34F, 0x34F},
                               Range{"Arabic letter mark", 0x61C, 0x61C},
                               Range{"Hangul fillers", 0x115F, 0x1160},
                               Range{"Khmer vowels", 0x17B4, 0x17B5},
                               Range{"Mongolian selectors", 0x180B, 0x180F},
                               Range{"zero width, marks", 0x200B, 0x200F},
                               Range{"separators, embeddings, overrides", 0x2028, 0x202E},
                               Range{"word joiner, invisible operators", 0x2060, 0x2064},
                               Range{"isolates", 0x2066, 0x2069},
                               Range{"deprecated formats", 0x206A, 0x206F},
                               Range{"Braille blank", 0x2800, 0x2800},
                               Range{"Hangul filler", 0x3164, 0x3164},
                               Range{"variation selectors", 0xFE00, 0xFE0F},
                               Range{"BOM", 0xFEFF, 0xFEFF},
                               Range{"halfwidth filler", 0xFFA0, 0xFFA0},
                               Range{"annotations", 0xFFF9, 0xFFFB},
                               Range{"shorthand", 0x1BCA0, 0x1BCA3},
                               Range{"musical", 0x1D173, 0x1D17A},
                               Range{"tags", 0xE0000, 0xE007F},
                               Range{"more variation selectors", 0xE0100, 0xE01EF}}) {
        for (char32_t c = range.first; c <= range.last; ++c) {
            const std::string shown = printable("a" + utf8(c) + "b");
            EXPECT_TRUE(shown.starts_with("a\\") && shown.ends_with("b")) << range.what << ": " << shown;
            EXPECT_TRUE(std::ranges::all_of(shown, [](char one) { return one >= 0x20 && one < 0x7F; }))
                << range.what;
        }
    }
    for (const char32_t c : std::u32string_view(U"\u00A0®α‧‐⁰あ︰Ａ😀"))
        EXPECT_EQ(printable(utf8(c)), utf8(c)) << "can be seen";
}

TEST(Terminal, LongTextIsClipped) {
    EXPECT_EQ(clipped("abcdef", 6), "abcdef");
    EXPECT_EQ(clipped("abcdefg", 6), "abcde…");
    EXPECT_EQ(clipped("日本語", 5), "日本…");
    EXPECT_EQ(clipped("日本語", 4), "日…") << "half a character is none";
    EXPECT_EQ(clipped("", 3), "");
}

TEST(Terminal, WideCharactersTakeTwoColumns) {
    EXPECT_EQ(columns_of("abc"), 3u);
    EXPECT_EQ(columns_of("日本"), 4u);
    EXPECT_EQ(columns_of("e\u0301"), 1u) << "a combining accent takes none";
    EXPECT_EQ(padded("日", 4), "日  ");
}

TEST(Terminal, TextIsWrappedAtSpaces) {
    EXPECT_EQ(wrapped("one two three", 8), (std::vector<std::string>{"one two", "three"}));
    EXPECT_EQ(wrapped("extraordinarily", 4), (std::vector<std::string>{"extraordinarily"}));
    EXPECT_EQ(wrapped("one two", 0), (std::vector<std::string>{"one two"}));
}

TEST(Terminal, TableColumnsLineUp) {
    EXPECT_EQ(table({{"name", "what"}, {"a", "first"}, {"日本", "second"}}, Style{}),
              "  name  what\n"
              "  a     first\n"
              "  日本  second\n");
}

TEST(Terminal, LastColumnOfATableIsWrapped) {
    Style style;
    style.width = 40;
    EXPECT_EQ(table({{"name", "what"}, {"a", "words that go on beyond the end of the line"}}, style),
              "  name  what\n"
              "  a     words that go on beyond the end\n"
              "        of the line\n");
}

TEST(Terminal, OneLineCollapsesWhiteSpace) {
    EXPECT_EQ(one_line("  a \n\t b  "), "a b");
}

RC_GTEST_PROP(Terminal, PrintableTextIsValidUtf8WithoutControlCharacters, (const std::string& text)) {
    const std::string shown = printable(text);
    RC_ASSERT(base::is_valid_utf8(shown));
    RC_ASSERT(std::ranges::none_of(shown,
                                   [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }));
    RC_ASSERT(printable(shown) == shown);
}

TEST(Terminal, WhatIsToBeCopiedIsOneWordOfAShell) {
    EXPECT_EQ(shell_quoted("/a b/it's"), R"('/a b/it'\''s')");
    EXPECT_EQ(shell_word("user:ada@example.org"), "user:ada@example.org");
    EXPECT_EQ(shell_word("-x"), "'-x'");
    EXPECT_EQ(shell_word("$(id)"), "'$(id)'");
    EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace callgate::cli
