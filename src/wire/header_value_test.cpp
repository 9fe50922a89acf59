#include "wire/header_value.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/must.h"

namespace callgate::wire {
namespace {

TEST(HeaderValue, PlainTextStaysAndTheRestIsBase64) {
    EXPECT_EQ(encode_value("send_mail"), "send_mail");
    EXPECT_EQ(encode_value("two words\tand a tab"), "two words\tand a tab");
    EXPECT_EQ(encode_value(""), "");
    EXPECT_EQ(encode_value(" leading"), "=?base64?IGxlYWRpbmc=?=");
    EXPECT_EQ(encode_value("Grüße"), "=?base64?R3LDvMOfZQ==?=");
    EXPECT_EQ(encode_value("a\nb"), "=?base64?YQpi?=");
    EXPECT_EQ(encode_value("=?base64?QQ==?="), "=?base64?PT9iYXNlNjQ/UVE9PT89?=");
}

TEST(HeaderValue, DecodingIsStrictAndLeavesWhatIsNotMarked) {
    EXPECT_EQ(must(decode_value("  send_mail\t")), "send_mail");
    EXPECT_EQ(must(decode_value("=?base64?R3LDvMOfZQ==?=")), "Grüße");
    EXPECT_EQ(must(decode_value("=?base64?R3LDvMOfZQ==")), "=?base64?R3LDvMOfZQ==");
    EXPECT_EQ(must(decode_value("=?BASE64?QQ==?=")), "=?BASE64?QQ==?=") << "the markers are exact";
    for (const char* wrong : {"=?base64?R3LDvMOfZQ?=", "=?base64?R3-_?=", "=?base64?QR==?=",
                              "=?base64?/w==?=", "=?base64?Q Q==?="})
        EXPECT_FALSE(decode_value(wrong)) << wrong;
}

TEST(HeaderValue, ArgumentsHaveOneForm) {
    EXPECT_EQ(value_of(Value("a")), "a");
    EXPECT_EQ(value_of(Value(true)), "true");
    EXPECT_EQ(value_of(Value(-7)), "-7");
    EXPECT_EQ(value_of(Value(std::int64_t{9'007'199'254'740'991})), "9007199254740991");
    EXPECT_FALSE(value_of(Value(std::int64_t{9'007'199'254'740'992})));
    EXPECT_EQ(value_of(Value(5.0)), "5");
    EXPECT_FALSE(value_of(Value(1.5)));
    EXPECT_FALSE(value_of(Value(1e300)));
    EXPECT_FALSE(value_of(Value(9'007'199'254'740'992.0)));
    EXPECT_FALSE(value_of(Value(nullptr)));
    EXPECT_FALSE(value_of(Value(Array{})));
}

TEST(HeaderValue, AHeaderSaysTheArgumentOrNot) {
    EXPECT_TRUE(must(says(" Grüße", Value("Grüße"))));
    EXPECT_TRUE(must(says("=?base64?R3LDvMOfZQ==?=", Value("Grüße"))));
    EXPECT_FALSE(must(says("SEND", Value("send"))));
    EXPECT_TRUE(must(says("42", Value(42))));
    EXPECT_TRUE(must(says("042", Value(42)))) << "as a number";
    EXPECT_TRUE(must(says("42", Value(42.0))));
    EXPECT_FALSE(must(says("1", Value(42.0))));
    EXPECT_FALSE(must(says("42x", Value(42))));
    EXPECT_FALSE(must(says("", Value(0))));
    EXPECT_TRUE(must(says("false", Value(false))));
    EXPECT_FALSE(must(says("False", Value(false))));
    EXPECT_FALSE(must(says("1.5", Value(1.5)))) << "has no place in a header";
    EXPECT_FALSE(says("=?base64?*?=", Value("a")));
}

TEST(HeaderValue, TokensAndValues) {
    EXPECT_TRUE(is_token("Mcp-Param-X_1!"));
    for (const char* wrong : {"", "a b", "a:b", "ü", "a\n"}) EXPECT_FALSE(is_token(wrong));
    EXPECT_TRUE(is_value("a\tb \xC3\xBC"));
    EXPECT_FALSE(is_value("a\r\nX: 1"));
    EXPECT_FALSE(is_value(std::string_view("a\0b", 3)));
    EXPECT_FALSE(is_value("\x7f"));
}

RC_GTEST_PROP(HeaderValue, WhatIsEncodedIsAValueAndComesBack, ()) {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("a", " ", "\t", "\n", "=?base64?", "?=", "ü", "\xF0\x9F\x98\x80", "7"));
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    const std::string value = encode_value(text);
    RC_ASSERT(is_value(value));
    RC_ASSERT(must(decode_value("  " + value + "\t")) == text);
    RC_ASSERT(must(says(value, Value(text))));
}

}  // namespace
}  // namespace callgate::wire
