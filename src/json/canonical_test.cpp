#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/json.h>

#include "json/equal.h"
#include "json/test_value.h"

namespace callgate::json {
namespace {

std::string from_bits(std::uint64_t bits) {
    return canonical(Value(std::bit_cast<double>(bits)));
}

TEST(Canonical, sorts_keys_by_utf16_code_units_at_every_level) {
    const Value value = {{"\u20ac", "Euro Sign"},
                         {"\r", "Carriage Return"},
                         {"\uFB33", "Hebrew Letter Dalet With Dagesh"},
                         {"1", "One"},
                         {"😀", "Emoji"},
                         {"\u0080", "Control"},
                         {"ö", {{"b", 1}, {"a", {{"d", 2}, {"c", 3}}}}}};
    EXPECT_EQ(canonical(value),
              "{\"\\r\":\"Carriage "
              "Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":{\"a\":{\"c\":3,\"d\":2},\"b\":1},"
              "\"\u20ac\":\"Euro Sign\",\"😀\":\"Emoji\",\"\uFB33\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(Canonical, sorts_a_key_before_its_longer_forms) {
    EXPECT_EQ(canonical(Value{{"ab", 1}, {"", 2}, {"a", 3}, {"b", 4}, {"aa", 5}}),
              R"({"":2,"a":3,"aa":5,"ab":1,"b":4})");
}

TEST(Canonical, keeps_the_order_of_arrays) {
    EXPECT_EQ(canonical(Value{3, 1, {{"b", {2, 1}}, {"a", Array()}}, Object()}),
              R"([3,1,{"a":[],"b":[2,1]},{}])");
}

TEST(Canonical, escapes_strings_like_rfc_8785) {
    EXPECT_EQ(canonical(Value("\u20ac$\x0F\nA'B\"\\\\\"/")), "\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
    EXPECT_EQ(canonical(Value("\b\f\r\t\x7F\u2028")), "\"\\b\\f\\r\\t\x7F\u2028\"");
}

TEST(Canonical, formats_the_numbers_of_rfc_8785_appendix_b) {
    EXPECT_EQ(from_bits(0x0000000000000000), "0");
    EXPECT_EQ(from_bits(0x8000000000000000), "0");
    EXPECT_EQ(from_bits(0x0000000000000001), "5e-324");
    EXPECT_EQ(from_bits(0x8000000000000001), "-5e-324");
    EXPECT_EQ(from_bits(0x7fefffffffffffff), "1.7976931348623157e+308");
    EXPECT_EQ(from_bits(0xffefffffffffffff), "-1.7976931348623157e+308");
    EXPECT_EQ(from_bits(0x4340000000000000), "9007199254740992");
    EXPECT_EQ(from_bits(0xc340000000000000), "-9007199254740992");
    EXPECT_EQ(from_bits(0x44b52d02c7e14af5), "9.999999999999997e+22");
    EXPECT_EQ(from_bits(0x44b52d02c7e14af6), "1e+23");
    EXPECT_EQ(from_bits(0x44b52d02c7e14af7), "1.0000000000000001e+23");
    EXPECT_EQ(from_bits(0x444b1ae4d6e2ef50), "1e+21");
    EXPECT_EQ(from_bits(0x3eb0c6f7a0b5ed8c), "9.999999999999997e-7");
    EXPECT_EQ(from_bits(0x3eb0c6f7a0b5ed8d), "0.000001");
    EXPECT_EQ(from_bits(0x41b3de4355555553), "333333333.3333332");
    EXPECT_EQ(from_bits(0x41b3de4355555554), "333333333.33333325");
    EXPECT_EQ(from_bits(0x41b3de4355555555), "333333333.3333333");
    EXPECT_EQ(from_bits(0x41b3de4355555556), "333333333.3333334");
    EXPECT_EQ(from_bits(0x41b3de4355555557), "333333333.33333343");
    EXPECT_EQ(from_bits(0xbecbf647612f3696), "-0.0000033333333333333333");
    EXPECT_EQ(from_bits(0x43143ff3c1cb0959), "1424953923781206.2");
}

// The appendix's other three samples, which it rounds to 295147905179352830000, 999999999999999700000 and
// 999999999999999900000.
TEST(Canonical, writes_integral_doubles_beyond_2_53_exactly_and_so_differs_from_rfc_8785_there) {
    EXPECT_EQ(from_bits(0x4430000000000000), "295147905179352825856");
    EXPECT_EQ(from_bits(0x444b1ae4d6e2ef4e), "999999999999999737856");
    EXPECT_EQ(from_bits(0x444b1ae4d6e2ef4f), "999999999999999868928");
}

TEST(Canonical, writes_one_number_one_way) {
    EXPECT_EQ(canonical(Value{1, 1.0, 1u, 100.0, 1e5, -0.0, 1e-7, 0.5, -2.50}),
              "[1,1,1,100,100000,0,1e-7,0.5,-2.5]");
    EXPECT_EQ(canonical(Value(1152921504606846976)), canonical(Value(1152921504606846976.0)));
    EXPECT_EQ(canonical(Value(9223372036854775808u)), canonical(Value(9223372036854775808.0)));
}

TEST(Canonical, never_writes_two_numbers_the_same_way) {
    EXPECT_EQ(canonical(Value{9007199254740992, 9007199254740993, 9007199254740994}),
              "[9007199254740992,9007199254740993,9007199254740994]");
    EXPECT_EQ(
        canonical(Value{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                        std::numeric_limits<std::uint64_t>::max()}),
        "[-9223372036854775808,9223372036854775807,18446744073709551615]");
    EXPECT_NE(canonical(Value(1152921504606847000)), canonical(Value(1152921504606846976.0)));
}

TEST(Canonical, writes_null_for_a_number_json_does_not_have) {
    EXPECT_EQ(canonical(Value(std::numeric_limits<double>::quiet_NaN())), "null");
    EXPECT_EQ(canonical(Value(-std::numeric_limits<double>::infinity())), "null");
}

TEST(Canonical, sorts_keys_that_are_not_utf8_as_they_are_written) {
    EXPECT_EQ(canonical(Value{{"\xFF", 1}, {"\uFFFE", 2}, {"\uFFFC", 3}}),
              "{\"\uFFFC\":3,\"\uFFFD\":1,\"\uFFFE\":2}");
}

TEST(Canonical, goes_a_million_levels_deep) {
    constexpr std::size_t kDepth = 1'000'000;
    const DeepValue arrays(kDepth, false);
    EXPECT_EQ(canonical(*arrays).size(), 2 * kDepth + 4);
    const DeepValue objects(kDepth, true);
    EXPECT_EQ(canonical(*objects).size(), 6 * kDepth + 4);
}

RC_GTEST_PROP(Canonical, is_the_canonical_form_of_itself, ()) {
    const Value value = *any_value();
    const std::string text = canonical(value);
    const Result<Value> back = parse(text);
    RC_ASSERT(back.has_value());
    RC_ASSERT(canonical(*back) == text);
    RC_ASSERT(equal(*back, value));
}

RC_GTEST_PROP(Canonical, is_the_same_exactly_for_equal_values, ()) {
    const Value a = *any_value(2);
    const Value b = *any_value(2);
    RC_ASSERT((canonical(a) == canonical(b)) == equal(a, b));
}

RC_GTEST_PROP(Canonical, of_numbers_is_the_same_exactly_for_equal_numbers, ()) {
    const Value a = *any_number();
    const Value b = *any_number();
    RC_ASSERT((canonical(a) == canonical(b)) == equal(a, b));
}

}  // namespace
}  // namespace callgate::json
