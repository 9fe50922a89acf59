#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/json.h>

#include "base/utf8.h"
#include "json/test_value.h"
#include "json/text.h"

namespace callgate::json {
namespace {

std::string string_text(std::string_view text) {
    return write(Value(text));
}

TEST(Write, gives_compact_text_with_keys_in_their_order) {
    const Value value = {
        {"zebra", {1, true, nullptr}}, {"apple", {{"b", "x"}, {"a", false}}}, {"none", Array()}};
    EXPECT_EQ(write(value), R"({"zebra":[1,true,null],"apple":{"b":"x","a":false},"none":[]})");
    EXPECT_EQ(write(Value(Object())), "{}");
    EXPECT_EQ(write(Value(nullptr)), "null");
}

TEST(Write, appends_to_what_is_there) {
    std::string out = "data: ";
    write(Value{1, 2}, out);
    write(Value("x"), out);
    EXPECT_EQ(out, "data: [1,2]\"x\"");
}

TEST(Write, gives_integers_all_their_digits) {
    EXPECT_EQ(write(Value(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
    EXPECT_EQ(write(Value(std::numeric_limits<std::int64_t>::max())), "9223372036854775807");
    EXPECT_EQ(write(Value(std::numeric_limits<std::uint64_t>::max())), "18446744073709551615");
    EXPECT_EQ(write(Value(0)), "0");
}

TEST(Write, keeps_a_double_a_double) {
    EXPECT_EQ(write(Value(1.0)), "1.0");
    EXPECT_EQ(write(Value(0.0)), "0.0");
    EXPECT_EQ(write(Value(-0.0)), "-0.0");
    EXPECT_EQ(write(Value(100.0)), "100.0");
    EXPECT_EQ(write(Value(-12345.0)), "-12345.0");
    EXPECT_EQ(write(Value(1e14)), "100000000000000.0");
    EXPECT_EQ(write(Value(1e15)), "1e+15");
    EXPECT_EQ(write(Value(1e21)), "1e+21");
    EXPECT_EQ(write(Value(9007199254740993.0)), "9007199254740992.0");
    EXPECT_EQ(write(Value(1e-7)), "1e-07");
}

TEST(Write, gives_doubles_their_shortest_text) {
    EXPECT_EQ(write(Value(0.1)), "0.1");
    EXPECT_EQ(write(Value(0.75)), "0.75");
    EXPECT_EQ(write(Value(-3.141593)), "-3.141593");
    EXPECT_EQ(write(Value(0.1 + 0.2)), "0.30000000000000004");
    EXPECT_EQ(write(Value(999999999.999999)), "999999999.999999");
    EXPECT_EQ(write(Value(5e-324)), "5e-324");
    EXPECT_EQ(write(Value(std::numeric_limits<double>::max())), "1.7976931348623157e+308");
}

TEST(Write, writes_null_for_a_number_json_does_not_have) {
    EXPECT_EQ(write(Value{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity()}),
              "[null,null,null]");
}

// The short way for common decimals must never show: its text is that of to_chars, with the mark of a double
// and with integers written out.
TEST(Write, writes_short_decimals_like_all_others) {
    const auto expected = [](double number) {
        char text[64];
        const bool written_out = std::trunc(number) == number && std::fabs(number) < 1e15;
        const auto end = written_out
                             ? std::to_chars(text, text + sizeof text, number, std::chars_format::fixed)
                             : std::to_chars(text, text + sizeof text, number);
        std::string out(text, end.ptr);
        if (out.find_first_of(".e") == std::string::npos) out += ".0";
        return out;
    };
    std::mt19937_64 random(7);
    for (int i = 0; i < 100'000; ++i) {
        const auto digits = static_cast<double>(random() % 10'000'000'000'000'000 >> random() % 54);
        double number = digits / std::pow(10, random() % 12);
        if (random() % 4 == 0) number = std::nextafter(number, random() % 2 == 0 ? 0.0 : 1e300);
        if (random() % 2 == 0) number = -number;
        ASSERT_EQ(write(Value(number)), expected(number));
    }
    for (const double number :
         {1e-3, 0.000999, 0.00100000000000000002, 1e9, 999999999.0, 1e5, 12e5, 123e5, 4e4, 5e-7, 0.999999,
          0.9999995, 0.9999999, 1e-6, 500000.5, 100000.0, 1100000.0})
        EXPECT_EQ(write(Value(number)), expected(number));
}

TEST(Write, escapes_only_what_must_be) {
    EXPECT_EQ(string_text("a\"b\\c/d"), R"("a\"b\\c/d")");
    EXPECT_EQ(string_text("\b\f\n\r\t"), R"("\b\f\n\r\t")");
    EXPECT_EQ(string_text(std::string_view("\0\x01\x1F", 3)), R"("\u0000\u0001\u001f")");
    EXPECT_EQ(string_text("\x7F"), "\"\x7F\"");
    EXPECT_EQ(string_text("é漢😀\u2028\u2029"), "\"é漢😀\u2028\u2029\"");
    EXPECT_EQ(string_text(""), "\"\"");
    EXPECT_EQ(write(Value{{"k\n\"", 1}}), R"({"k\n\"":1})");
}

TEST(Write, replaces_bytes_that_are_not_utf8) {
    EXPECT_EQ(string_text("a\x80z"), "\"a\uFFFDz\"");
    EXPECT_EQ(string_text("\xC3"), "\"\uFFFD\"");
    EXPECT_EQ(string_text("\xC0\xAF"), "\"\uFFFD\uFFFD\"");                      // overlong
    EXPECT_EQ(string_text("\xED\xA0\x80x"), "\"\uFFFD\uFFFD\uFFFDx\"");          // surrogate
    EXPECT_EQ(string_text("\xF4\x90\x80\x80"), "\"\uFFFD\uFFFD\uFFFD\uFFFD\"");  // beyond U+10FFFF
    EXPECT_EQ(string_text("\xE2\x82"), "\"\uFFFD\uFFFD\"");                      // cut off
    EXPECT_EQ(write(Value{{"\xFF", 1}}), "{\"\uFFFD\":1}");
}

// Every byte at every place of a word and every length: the scan goes eight bytes at a time.
TEST(Write, finds_a_special_byte_wherever_it_stands) {
    for (std::size_t length = 1; length <= 26; ++length) {
        for (std::size_t place = 0; place < length; ++place) {
            for (int byte = 0; byte < 0x80; ++byte) {
                std::string text(length, 'a');
                text[place] = static_cast<char>(byte);
                std::string expected;
                const char* const kShort = "\b\f\n\r\t\"\\";
                const char* const kLetter = "bfnrt\"\\";
                const char* found = byte == 0 ? nullptr : std::strchr(kShort, byte);
                if (found != nullptr) {
                    expected = {'\\', kLetter[found - kShort]};
                } else if (byte < 0x20) {
                    expected = std::string("\\u00") + (byte < 16 ? '0' : '1') + "0123456789abcdef"[byte % 16];
                } else {
                    expected = std::string(1, static_cast<char>(byte));
                }
                ASSERT_EQ(string_text(text),
                          '"' + text.substr(0, place) + expected + text.substr(place + 1) + '"')
                    << "byte " << byte << " at " << place << " of " << length;
            }
        }
    }
}

TEST(Write, writes_strings_longer_than_any_buffer) {
    for (const std::string piece : {"a", "\x01", "漢", "é\"", "\xFF", "0123456789\n"}) {
        std::string text;
        std::string expected = "\"";
        const std::string escaped = string_text(piece).substr(1, string_text(piece).size() - 2);
        for (int i = 0; i < 20'001; ++i) {
            text += piece;
            expected += escaped;
        }
        EXPECT_TRUE(string_text(text) == expected + '"') << escaped;
    }
}

TEST(Write, writes_a_value_a_million_levels_deep) {
    constexpr std::size_t kDepth = 1'000'000;
    const DeepValue arrays(kDepth, false, 7);
    EXPECT_TRUE(write(*arrays) == std::string(kDepth, '[') + "7" + std::string(kDepth, ']'));
    const DeepValue objects(kDepth, true);
    EXPECT_EQ(write(*objects).size(), kDepth * 6 + 4);
}

TEST(WritePretty, indents_by_two_and_keeps_empty_containers_on_their_line) {
    const Value value = {{"name", "x"}, {"list", {1, {{"a", Array()}, {"b", Object()}}}}};
    EXPECT_EQ(write_pretty(value), R"({
  "name": "x",
  "list": [
    1,
    {
      "a": [],
      "b": {}
    }
  ]
})");
    EXPECT_EQ(write_pretty(Value(Array())), "[]");
    EXPECT_EQ(write_pretty(Value(1.0)), "1.0");
}

TEST(WritePretty, stops_indenting_a_very_deep_value) {
    constexpr std::size_t kDepth = 20'000;
    const DeepValue arrays(kDepth, false, 7);
    EXPECT_LT(write_pretty(*arrays).size(), kDepth * 600);  // without an end to it: 800 MB
}

RC_GTEST_PROP(Write, text_reads_back_as_the_same_value_and_writes_the_same, ()) {
    const Value value = *any_value();
    const std::string text = write(value);
    const Result<Value> back = parse(text);
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == value);
    RC_ASSERT(write(*back) == text);
    RC_ASSERT(write(*parse(write_pretty(value))) == text);
}

RC_GTEST_PROP(Write, text_is_valid_whatever_bytes_are_in_a_string, ()) {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::map(rc::gen::inRange(0, 256), [](int byte) {
        return static_cast<char>(static_cast<unsigned char>(byte));
    }));
    const std::string text = string_text(bytes);
    RC_ASSERT(base::is_valid_utf8(text));
    const Result<Value> back = parse(text);
    RC_ASSERT(back.has_value());
    RC_ASSERT(std::string_view(back->as_string()) == valid_utf8(bytes));
}

}  // namespace
}  // namespace callgate::json
