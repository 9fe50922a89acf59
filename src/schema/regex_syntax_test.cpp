#include "schema/regex.h"

#include <string>

#include <gtest/gtest.h>

namespace callgate::schema {
namespace {

class ValidPattern : public testing::TestWithParam<const char*> {};
class InvalidPattern : public testing::TestWithParam<const char*> {};

TEST_P(ValidPattern, IsARegexToTheFormat) {
    EXPECT_TRUE(Regex::is_valid(GetParam())) << GetParam();
}

TEST_P(InvalidPattern, IsNoRegexToTheFormat) {
    EXPECT_FALSE(Regex::is_valid(GetParam())) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(RegexSyntax, ValidPattern,
                         testing::Values("", "|", "()", "(?:)", "a|b|", "^a$", "[]", "[^]", "[-]", "[a-]",
                                         "[^-a]", "[\\]]", "a{2}", "a{2,}", "a{2,3}?", "a*?", "a+?", "a??",
                                         "\\0", "\\cA", "\\x0f", "\\u00e9", "\\u{10FFFF}", "\\u{000041}",
                                         "\\ud800", "[\\ud83d\\udc00-\\u{1F4FF}]", "\\/", "[\\-]",
                                         "(?<año>x)", "(?<$_1>x)\\k<$_1>", "(?<\\u0061b>x)\\k<ab>",
                                         "(?<a>x)|(?<a>y)", "(?:(?<a>x)|(?<a>y))z", "\\1()", "(?=a)b",
                                         "(?<!a+)b", "(?i:a)", "(?ms-i:a)", "(?-i:a)", "\\p{Lu}",
                                         "\\P{Script_Extensions=Grek}", "\\p{Bidi_M}", "\\p{sc=Zzzz}",
                                         "a{99999999999999999999}", "\\$\\{\\}"));

INSTANTIATE_TEST_SUITE_P(
    RegexSyntax, InvalidPattern,
    testing::Values("(", ")", "(?", "(?:", "(?<", "(?<a", "(?<>x)", "(?<1a>x)", "(?<a b>x)", "(?<a>x)(?<a>y)",
                    "(?<a>(?<a>y))", "(?<a>x)|y(?<a>z)(?<a>w)", "(?#x)", "(?>a)", "(?'a'b)", "(?P<a>b)",
                    "(?i)a", "(?-:a)", "(?ii:a)", "(?i-i:a)", "(?x:a)", "[", "[a", "[z-a]", "[\\d-z]",
                    "[a-\\w]", "[\\B]", "[\\1]", "[\\k]", "]", "}", "{", "{1}", "a{", "a{1", "a{,2}",
                    "a{2,1}", "*", "+a", "?", "a**", "a+++", "^*", "$+", "\\b?", "(?=a)*", "(?<=a)?", "|*",
                    "\\", "\\a", "\\e", "\\z", "\\-", "\\_", "\\é", "\\ ", "\\c", "\\c1", "\\x1", "\\xg0",
                    "\\u", "\\u12", "\\u{", "\\u{}", "\\u{110000}", "\\00", "\\1", "\\2()", "\\k", "\\k<a>",
                    "(?<b>)\\k<a>", "\\p", "\\pL", "\\p{", "\\p{}", "\\p{letter}", "\\p{InGreek}",
                    "\\p{Script}", "\\p{Script=}", "\\p{Foo=Greek}", "\\p{Greek}", "\\p{RGI_Emoji}", "a\xC3",
                    "\xFF"));

TEST(RegexSyntax, PatternsOfAnyDepthCanBeJudged) {
    const std::string open(20'000, '(');
    const std::string close(20'000, ')');
    EXPECT_TRUE(Regex::is_valid(open + close));
    EXPECT_FALSE(Regex::is_valid(open + close + ")"));
    EXPECT_FALSE(Regex::is_valid(open));
}

TEST(RegexSyntax, PatternsBeyond64KiBAreNotAccepted) {
    EXPECT_TRUE(Regex::is_valid(std::string(65'536, 'a')));
    EXPECT_FALSE(Regex::is_valid(std::string(65'537, 'a')));
}

}  // namespace
}  // namespace callgate::schema
