#include "base/encoding.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::base {
namespace {

using enum Base64Padding;

TEST(Base64, MatchesTheExamplesOfRfc4648) {
    EXPECT_EQ(base64_encode(""), "");
    EXPECT_EQ(base64_encode("f"), "Zg==");
    EXPECT_EQ(base64_encode("fo"), "Zm8=");
    EXPECT_EQ(base64_encode("foo"), "Zm9v");
    EXPECT_EQ(base64_encode("foobar"), "Zm9vYmFy");
    EXPECT_EQ(base64_encode("fo", Base64Alphabet::standard, without), "Zm8");
    EXPECT_EQ(base64_encode("\xfb\xff"), "+/8=");
    EXPECT_EQ(base64_encode("\xfb\xff", Base64Alphabet::url, without), "-_8");
}

TEST(Base64, RefusesEverySecondSpellingOfTheSameBytes) {
    for (const auto* text :
         {"Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm 8=", "Zm8-", "=", "====", "Z===", "Zm8=Zm8="}) {
        EXPECT_FALSE(base64_decode(text)) << text;
    }
    EXPECT_FALSE(base64_decode("Zg==", Base64Alphabet::standard, without));
    EXPECT_FALSE(base64_decode("+/8", Base64Alphabet::url, without));
    EXPECT_EQ(base64_decode("Zg=="), "f");
}

RC_GTEST_PROP(Base64, RoundTrips, (const std::string& bytes, bool url, bool padded)) {
    const auto alphabet = url ? Base64Alphabet::url : Base64Alphabet::standard;
    const auto padding = padded ? with : without;
    RC_ASSERT(base64_decode(base64_encode(bytes, alphabet, padding), alphabet, padding) == bytes);
}

TEST(Hex, ReadsBothCasesAndRefusesTheRest) {
    EXPECT_EQ(hex_encode(std::string_view("\x00\xab\xff", 3)), "00abff");
    EXPECT_EQ(hex_encode("\xab", HexCase::upper), "AB");
    EXPECT_EQ(hex_decode("aBFf"), "\xab\xff");
    EXPECT_FALSE(hex_decode("abc"));
    EXPECT_FALSE(hex_decode("0g"));
    EXPECT_FALSE(hex_decode("g0"));
}

TEST(Percent, EncodesAllButUnreservedCharacters) {
    EXPECT_EQ(percent_encode("a b+c/~\xc3\xa9"), "a%20b%2Bc%2F~%C3%A9");
    EXPECT_EQ(percent_encode("a b/", PercentSpace::plus, HexCase::lower), "a+b%2f");
    EXPECT_EQ(percent_decode("a+b", PercentSpace::plus), "a b");
    EXPECT_EQ(percent_decode("a+b"), "a+b");
    EXPECT_EQ(percent_decode("%41"), "A");
}

TEST(Percent, RefusesABrokenEscape) {
    for (const auto* text : {"%", "%4", "abc%4", "%zz", "%4g"}) {
        EXPECT_FALSE(percent_decode(text)) << text;
    }
}

RC_GTEST_PROP(Percent, RoundTrips, (const std::string& bytes, bool form, bool upper)) {
    const auto space = form ? PercentSpace::plus : PercentSpace::percent20;
    RC_ASSERT(percent_decode(percent_encode(bytes, space, upper ? HexCase::upper : HexCase::lower), space) ==
              bytes);
}

}  // namespace
}  // namespace callgate::base
