#include "excerpt.h"

#include <string>

#include <gtest/gtest.h>

#include <callgate/json.h>

namespace callgate::cli {
namespace {

std::string shown(const std::string& text) {
    const auto value = json::parse(text);
    if (value) return "no error";
    const auto excerpt = excerpt_of(text, value.error());
    return excerpt ? render(*excerpt, Style{}) : "no excerpt";
}

TEST(Excerpt, CaretStandsUnderTheFault) {
    EXPECT_EQ(shown("{\n  \"a\": tru\n}"),
              "     2 |   \"a\": tru\n"
              "       |        ^\n");
}

TEST(Excerpt, CaretStandsUnderTheFaultBehindWideCharactersAndTabs) {
    EXPECT_EQ(shown("[\t\"日本\" x]"),
              "     1 | [ \"日本\" x]\n"
              "       |          ^\n");
}

TEST(Excerpt, BytesThatAreNotUtf8AreSpelledOut) {
    EXPECT_EQ(shown("[\"a\xFF\"]"),
              "     1 | [\"a\\xFF\"]\n"
              "       |    ^\n");
}

TEST(Excerpt, LongLinesAreCutAroundThePlace) {
    const std::string text =
        "[\"" + std::string(100'000, 'a') + "\", oops, \"" + std::string(100'000, 'b') + "\"]";
    const std::string lines = shown(text);
    EXPECT_LT(lines.size(), 250u);
    const std::size_t caret_line = lines.find('\n') + 1;
    EXPECT_EQ(lines.find("oops"), lines.find('^', caret_line) - caret_line + std::string("…").size() - 1)
        << lines;
}

TEST(Excerpt, TheEndOfTheTextCanBeThePlace) {
    EXPECT_EQ(shown("[1,"),
              "     1 | [1,\n"
              "       |    ^\n");
}

TEST(Excerpt, BlankLinesAreNotShown) {
    EXPECT_EQ(shown(""), "no excerpt");
    EXPECT_EQ(shown("[1,\n  "), "no excerpt");
}

TEST(Excerpt, ErrorsWithoutAPlaceHaveNone) {
    EXPECT_FALSE(excerpt_of("text", Error(ErrorCode::config_error, "no place")));
    EXPECT_FALSE(excerpt_of("text", Error(ErrorCode::config_error, "beyond", {{"line", 1}, {"byte", 99}})));
}

}  // namespace
}  // namespace callgate::cli
