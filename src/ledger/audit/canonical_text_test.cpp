#include "ledger/audit/canonical_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/json.h>

#include "json/text.h"

namespace callgate::ledger {
namespace {

RC_GTEST_PROP(CanonicalText, WritesStringsAsTheCanonicalFormDoes, (std::string bytes)) {
    const std::string text = json::valid_utf8(bytes);
    std::string out;
    append_canonical(out, text);
    RC_ASSERT(out == json::canonical(Value(text)));
}

RC_GTEST_PROP(CanonicalText, ReadsBackWhatItWrote, (std::string bytes)) {
    const std::string text = json::valid_utf8(bytes);
    std::string out;
    append_canonical(out, text);
    CanonicalScan scan(out);
    std::string_view raw;
    std::size_t size = 0;
    RC_ASSERT(scan.string(raw, size));
    RC_ASSERT(scan.at_end());
    RC_ASSERT(size == text.size());
    RC_ASSERT(unescaped(raw) == text);
}

TEST(CanonicalText, AcceptsOneSpellingOfEveryCharacter) {
    const auto accepted = [](std::string_view text) {
        CanonicalScan scan(text);
        std::string_view raw;
        std::size_t bytes = 0;
        return scan.string(raw, bytes) && scan.at_end();
    };
    for (int code = 0; code < 0x20; ++code) {
        std::string right;
        append_canonical(right, std::string(1, static_cast<char>(code)));
        EXPECT_TRUE(accepted(right)) << code;
        const char digits[] = "0123456789abcdef";
        const std::string spelled = std::string("\"\\u00") + digits[code / 16] + digits[code % 16] + "\"";
        EXPECT_EQ(accepted(spelled), spelled == right) << code;
    }
    EXPECT_TRUE(accepted("\"\x7f\xc3\xa9\""));
    for (const char* wrong : {"\"", "\"a", "a\"", "\"\\u0020\"", "\"\\u00e9\"", "\"\\U0001\"", "\"\\x\"",
                              "\"\\u001F\"", "\"\\u00\"", "\"\n\"", "\"\xff\"", "\"\xed\xa0\x80\"", "\"\\\""})
        EXPECT_FALSE(accepted(wrong)) << wrong;
}

TEST(CanonicalText, TellsTheFirstFaultAndWhere) {
    CanonicalScan scan("12x");
    std::uint64_t number = 0;
    ASSERT_TRUE(scan.integer(number));
    EXPECT_EQ(number, 12u);
    EXPECT_FALSE(scan.integer(number));
    EXPECT_EQ(scan.found().at, 2u);
    EXPECT_STREQ(scan.found().what, "an integer was expected");
}

}  // namespace
}  // namespace callgate::ledger
