#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/json.h>

namespace callgate::json {
namespace {

Error refusal(std::string_view text, const ParseLimits& limits = {}) {
    const auto parsed = parse(text, limits);
    return parsed ? Error(ErrorCode::internal, "it was accepted") : parsed.error();
}

std::string reason(std::string_view text, const ParseLimits& limits = {}) {
    const Error error = refusal(text, limits);
    const auto* found = error.details.if_contains("reason");
    return found != nullptr ? std::string(found->as_string()) : error.message;
}

Value parsed(std::string_view text) {
    auto value = parse(text);
    EXPECT_TRUE(value) << text << ": " << (value ? "" : value.error().message);
    return value ? std::move(*value) : Value();
}

TEST(Parse, BuildsEveryKindOfValueAndKeepsTheOrderOfKeys) {
    const Value value = parsed(R"( {"z": [1, -2, 2.5, true, false, null], "a": {"": "x"}} )");
    EXPECT_EQ(write(value), R"({"z":[1,-2,2.5,true,false,null],"a":{"":"x"}})");
}

TEST(Parse, DecodesEveryEscape) {
    const Value value = parsed(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00 tail")");
    EXPECT_EQ(value.as_string(), "\"\\/\b\f\n\r\tA\u00e9\u20ac\U0001F600 tail");
}

TEST(Parse, KeepsEvery64BitInteger) {
    EXPECT_EQ(parsed("9223372036854775807").as_int64(), INT64_MAX);
    EXPECT_EQ(parsed("-9223372036854775808").as_int64(), INT64_MIN);
    EXPECT_EQ(parsed("9223372036854775808").as_uint64(), std::uint64_t{1} << 63);
    EXPECT_EQ(parsed("18446744073709551615").as_uint64(), UINT64_MAX);
    EXPECT_EQ(parsed("-0").as_int64(), 0);
}

TEST(Parse, TakesALargerIntegerOnlyIfADoubleIsExactlyThatNumber) {
    EXPECT_EQ(parsed("18446744073709551616").as_double(), 18446744073709551616.0);
    EXPECT_EQ(parsed("-100000000000000000000").as_double(), -1e20);
    EXPECT_EQ(reason("18446744073709551617"), "inexact_integer");
    EXPECT_EQ(reason("-9223372036854775809"), "inexact_integer");
    EXPECT_EQ(reason("123456789012345678901234567890"), "inexact_integer");
    EXPECT_EQ(reason(std::string(400, '9')), "number_out_of_range");
}

TEST(Parse, ReadsDoublesExactly) {
    EXPECT_EQ(parsed("0.1").as_double(), 0.1);
    EXPECT_EQ(parsed("1e2").as_double(), 100.0);
    EXPECT_EQ(parsed("5e-324").as_double(), 5e-324);
    EXPECT_EQ(parsed("1.7976931348623157e308").as_double(), 1.7976931348623157e308);
    EXPECT_EQ(parsed("0.30000000000000004").as_double(), 0.1 + 0.2);
    EXPECT_EQ(parsed("3.14159265358979323846264338327950288").as_double(), 3.141592653589793);
    EXPECT_EQ(parsed("1e-400").as_double(), 0.0);
    EXPECT_TRUE(std::signbit(parsed("-0.0").as_double()));
}

TEST(Parse, SaysWhereTheTextIsWrong) {
    const Error error = refusal("{\"a\": 1,\n \"b\": tru}");
    EXPECT_EQ(error.code, ErrorCode::invalid_arguments);
    EXPECT_EQ(error.details.at("line").to_number<int>(), 2);
    EXPECT_EQ(error.details.at("column").to_number<int>(), 7);
    EXPECT_EQ(error.details.at("byte").to_number<int>(), 15);
    EXPECT_NE(error.message.find("line 2, column 7"), std::string::npos) << error.message;
}

TEST(Parse, RefusesWhatIsNotJson) {
    for (const std::string_view text : {"", " ", "{", "[", "[1", "[1,", "{\"a\"", "{\"a\":", "{\"a\":1",
                                        "\"abc", "\"a\\", "\"a\\u12", "-", "1.", "1e", "1e+", "tru", "nul"})
        EXPECT_TRUE(reason(text) == "unexpected_end" || reason(text) == "unexpected_character" ||
                    reason(text) == "bad_escape")
            << text << " -> " << reason(text);
    for (const std::string_view text :
         {"[1,]", "{,}", "{\"a\":1,}", "[1 2]", "{a:1}", "'a'", "NaN", "Infinity", "-Infinity", "+1", ".5",
          "undefined", "[}", "{]", "]", "\x01"})
        EXPECT_FALSE(parse(text)) << text;
    EXPECT_EQ(reason("01"), "bad_number");
    EXPECT_EQ(reason("-01"), "bad_number");
    EXPECT_EQ(reason("-a"), "bad_number");
    EXPECT_EQ(reason("1.x"), "bad_number");
    EXPECT_EQ(reason("1 2"), "trailing_text");
    EXPECT_EQ(reason("{} x"), "trailing_text");
    EXPECT_EQ(reason("1e999"), "number_out_of_range");
    EXPECT_EQ(reason("\"\\x\""), "bad_escape");
    EXPECT_EQ(reason("\"a\nb\""), "control_character");
    EXPECT_EQ(reason(std::string_view("\"a\0b\"", 5)), "control_character");
    EXPECT_EQ(reason(std::string_view("[1]\0", 4)), "trailing_text");
    EXPECT_EQ(reason("\xEF\xBB\xBF{}"), "byte_order_mark");
    EXPECT_EQ(reason(std::string_view("\xFF\xFE{\0}\0", 6)), "byte_order_mark");
}

TEST(Parse, NamesNaNWhenThatIsWhatCame) {
    EXPECT_NE(refusal("[NaN]").message.find("no NaN"), std::string::npos);
}

TEST(Parse, RefusesBytesThatAreNotUtf8) {
    for (const std::string_view bytes :
         {"\x80", "\xC0\xAF", "\xC1\x81", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE2\x82", "\xC3"}) {
        const std::string text = "\"" + std::string(bytes) + "\"";
        EXPECT_EQ(reason(text), "bad_utf8") << testing::PrintToString(text);
        EXPECT_EQ(reason("\"\\n" + std::string(bytes) + "\""), "bad_utf8");
    }
    EXPECT_EQ(reason("\"\\ud800\""), "bad_surrogate");
    EXPECT_EQ(reason("\"\\ud800\\u0041\""), "bad_surrogate");
    EXPECT_EQ(reason("\"\\udc00\""), "bad_surrogate");
}

TEST(Parse, RefusesAKeyThatIsThereTwice) {
    EXPECT_EQ(reason(R"({"a":1,"b":2,"a":3})"), "duplicate_key");
    EXPECT_EQ(reason(R"({"a":1,"\u0061":2})"), "duplicate_key");
    EXPECT_EQ(reason(R"([{"x":{"long key name":1,"long key name":2}}])"), "duplicate_key");
    EXPECT_EQ(refusal(R"({"a":1,"a":3})").details.at("byte").to_number<int>(), 7);

    std::string many = "{";
    for (int i = 0; i < 1'000; ++i) many += "\"key" + std::to_string(i) + "\":" + std::to_string(i) + ",";
    EXPECT_TRUE(parse(many + "\"last\":0}"));
    EXPECT_EQ(reason(many + "\"key500\":0}"), "duplicate_key");
}

TEST(Parse, HoldsItsLimits) {
    EXPECT_EQ(reason("[1,2,3]", ParseLimits(6, 64, 100)), "too_large");
    EXPECT_TRUE(parse("[1,2,3]", ParseLimits(7, 64, 100)));
    EXPECT_EQ(reason("[[[1]]]", ParseLimits(100, 2, 100)), "too_deep");
    EXPECT_TRUE(parse("[[[1]]]", ParseLimits(100, 3, 100)));
    EXPECT_EQ(reason("[1,2,3]", ParseLimits(100, 64, 3)), "too_many_nodes");
    EXPECT_TRUE(parse("[1,2,3]", ParseLimits(100, 64, 4)));
    EXPECT_NE(refusal("[1,2,3]", ParseLimits(6, 64, 100)).message.find("limit is 6"), std::string::npos);
}

TEST(Parse, RefusesAnArrayTenMillionDeepAtItsLimit) {
    const std::string deep(10'000'000, '[');
    EXPECT_EQ(reason(deep, ParseLimits(20'000'000, 64, 100'000)), "too_deep");
    // Even a limit that asks for trouble is capped where recursion is still safe.
    EXPECT_EQ(reason(deep, ParseLimits(20'000'000, 20'000'000, 20'000'000)), "too_deep");
}

TEST(Parse, UsesTheMemoryItIsGiven) {
    Arena arena;
    for (int round = 0; round < 3; ++round) {
        arena.reset();
        const auto value =
            parse(R"({"text":"a string that is too long to be stored in place","list":[1,2,3]})", {}, &arena);
        ASSERT_TRUE(value);
        EXPECT_EQ(value->storage().get(), &arena);
        EXPECT_EQ(value->at("list").storage().get(), &arena);
        EXPECT_EQ(value->at("list").as_array().size(), 3u);
    }
}

TEST(Arena, GivesAlignedMemoryOfAnySizeAndUsesItAgain) {
    Arena arena;
    void* first = arena.allocate(16, 8);
    for (const std::size_t size : {1u, 100u, 10'000u, 5'000'000u, 3u}) {
        for (const std::size_t align : {1u, 8u, 64u}) {
            auto* at = static_cast<unsigned char*>(arena.allocate(size, align));
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % align, 0u);
            at[0] = at[size - 1] = 1;
        }
    }
    arena.reset();
    EXPECT_EQ(arena.allocate(16, 8), first);
}

// Any text: either refused with a place inside it, or what is built writes back to a text that parses to the
// same.
RC_GTEST_PROP(Parse, NeverBreaksOnAnyBytes, (const std::string& text)) {
    const auto value = parse(text);
    if (!value) {
        const auto* byte = value.error().details.if_contains("byte");
        RC_ASSERT(byte == nullptr || byte->to_number<std::size_t>() <= text.size());
        return;
    }
    const std::string written = write(*value);
    const auto again = parse(written);
    RC_ASSERT(again.has_value());
    RC_ASSERT(write(*again) == written);
}

// One changed byte in a valid document: never a crash, and never a document that the strict rules forbid.
RC_GTEST_PROP(Parse, SurvivesOneWrongByte, ()) {
    std::string text = R"({"a":[1,2.5e3,"\u00e9\n"],"b":{"c":null,"d":true},"key longer than eight":-12})";
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text[at] = static_cast<char>(*rc::gen::inRange(0, 256));
    const auto value = parse(text);
    if (value) RC_ASSERT(parse(write(*value)).has_value());
}

}  // namespace
}  // namespace callgate::json
