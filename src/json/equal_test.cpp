#include "json/equal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/test_value.h"

namespace callgate::json {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool equal_text(std::string_view a, std::string_view b) {
    const Value left = *parse(a);
    const Value right = *parse(b);
    const bool same = equal(left, right);
    EXPECT_EQ(same, equal(right, left)) << a << " and " << b;
    // Different values may share a hash, but none of the few in these tests do.
    EXPECT_EQ(same, hash(left, 42) == hash(right, 42)) << a << " and " << b;
    return same;
}

TEST(Equal, tells_kinds_apart) {
    const std::vector<std::string> all = {"null",
                                          "false",
                                          "true",
                                          "0",
                                          "1",
                                          "\"\"",
                                          "\"0\"",
                                          "[]",
                                          "{}",
                                          "[0]",
                                          "[[]]",
                                          R"({"":0})",
                                          "[null]",
                                          "[false]",
                                          "\"null\"",
                                          "-1",
                                          "18446744073709551615"};
    for (const std::string& a : all)
        for (const std::string& b : all) EXPECT_EQ(equal_text(a, b), &a == &b) << a << " and " << b;
}

TEST(Equal, goes_by_members_whatever_their_order) {
    EXPECT_TRUE(equal_text(R"({"a":1,"b":{"c":[1,2],"d":null}})", R"({"b":{"d":null,"c":[1,2]},"a":1})"));
    EXPECT_FALSE(equal_text(R"({"a":1,"b":2})", R"({"a":2,"b":1})"));
    EXPECT_FALSE(equal_text(R"({"a":1})", R"({"b":1})"));
    EXPECT_FALSE(equal_text(R"({"a":1})", R"({"a":1,"b":1})"));
    EXPECT_FALSE(equal_text(R"({"a":{"x":1},"b":{"y":1}})", R"({"a":{"y":1},"b":{"x":1}})"));
}

TEST(Equal, goes_by_elements_in_their_order) {
    EXPECT_TRUE(equal_text("[1,[2,{\"a\":3}]]", "[1,[2,{\"a\":3}]]"));
    EXPECT_FALSE(equal_text("[1,2]", "[2,1]"));
    EXPECT_FALSE(equal_text("[1]", "[1,1]"));
    EXPECT_FALSE(equal_text("[[1],[]]", "[[],[1]]"));
}

TEST(Equal, goes_by_a_numbers_value_and_rounds_nothing) {
    EXPECT_TRUE(equal_text("1", "1.0"));
    EXPECT_TRUE(equal_text("0", "-0.0"));
    EXPECT_TRUE(equal_text("1e3", "1000"));
    EXPECT_TRUE(equal_text("9223372036854775808", "9223372036854775808.0"));
    EXPECT_TRUE(equal_text("-9223372036854775808", "-9223372036854775808.0"));
    EXPECT_TRUE(equal_text(R"({"a":[1,2.0]})", R"({"a":[1.0,2]})"));
    EXPECT_FALSE(equal_text("9007199254740993", "9007199254740992.0"));
    EXPECT_FALSE(equal_text("9223372036854775807", "9223372036854775808.0"));
    EXPECT_FALSE(equal_text("18446744073709551615", "18446744073709551616.0"));
    EXPECT_FALSE(equal_text("1", "1.0000000000000002"));
    EXPECT_FALSE(equal_text("-1", "18446744073709551615"));
    EXPECT_TRUE(equal(Value(5), Value(5u)));
    EXPECT_EQ(hash(Value(5), 1), hash(Value(5u), 1));
}

TEST(CompareNumbers, orders_numbers_across_all_that_can_hold_them) {
    // Each line is one number in all the ways it can be held; the lines go up.
    const std::vector<std::vector<Value>> ladder = {
        {kNan},
        {-kInfinity},
        {-1e300},
        {-9223372036854777856.0},
        {-9223372036854775807 - 1, -9223372036854775808.0},
        {-9223372036854775807},
        {-9007199254740993},
        {-9007199254740992, -9007199254740992.0},
        {-1.5},
        {-1, -1.0},
        {-0.5},
        {-5e-324},
        {0, 0u, 0.0, -0.0},
        {5e-324},
        {0.5},
        {1, 1u, 1.0},
        {1.5},
        {2, 2u, 2.0},
        {9007199254740992, 9007199254740992u, 9007199254740992.0},
        {9007199254740993, 9007199254740993u},
        {9007199254740994, 9007199254740994.0},
        {9223372036854774784, 9223372036854774784.0},
        {9223372036854775807, 9223372036854775807u},
        {9223372036854775808u, 9223372036854775808.0},
        {9223372036854775809u},
        {18446744073709549568u, 18446744073709549568.0},
        {18446744073709551615u},
        {18446744073709551616.0},
        {1e300},
        {kInfinity},
    };
    for (std::size_t i = 0; i < ladder.size(); ++i) {
        for (std::size_t j = 0; j < ladder.size(); ++j) {
            for (const Value& a : ladder[i]) {
                for (const Value& b : ladder[j]) {
                    const int order = compare_numbers(a, b);
                    EXPECT_EQ(order < 0, i < j) << write(a) << " and " << write(b);
                    EXPECT_EQ(order > 0, i > j) << write(a) << " and " << write(b);
                    EXPECT_EQ(equal(a, b), i == j) << write(a) << " and " << write(b);
                    if (i == j) {
                        EXPECT_EQ(hash(a, 9), hash(b, 9)) << write(a) << " and " << write(b);
                    }
                }
            }
        }
    }
}

TEST(Hash, depends_on_the_seed) {
    for (const auto* text : {"null", "1", "1.5", "\"text\"", "[]", "{}", "[1,2]", R"({"a":1})"})
        EXPECT_NE(hash(*parse(text), 1), hash(*parse(text), 2)) << text;
}

TEST(Hash, spreads_similar_documents) {
    std::set<std::uint64_t> seen;
    std::size_t count = 0;
    const auto add = [&](const Value& value) {
        seen.insert(hash(value, 3));
        ++count;
    };
    for (int i = 0; i < 20'000; ++i) {
        add(i);
        add(i + 0.5);
        add(Value(std::to_string(i)));
        add(Array{i});
        add(Array{i, i + 1});
        add(Object{{"k", i}});
        add(Object{{std::to_string(i), 0}});
        add(Object{{"a", i}, {"b", i + 1}});
        add(Object{{"a", i + 1}, {"b", i}});
    }
    for (std::size_t length = 0; length < 100; ++length) add(Value(std::string(length, '\0') + "!"));
    EXPECT_GE(seen.size() + 1, count);  // of 180,000 random words, two are the same once in a billion runs
}

TEST(Equal, goes_a_million_levels_deep) {
    constexpr std::size_t kDepth = 1'000'000;
    for (const bool objects : {false, true}) {
        const DeepValue a(kDepth, objects, 1);
        const DeepValue b(kDepth, objects, 1.0);
        const DeepValue c(kDepth, objects, 2);
        EXPECT_TRUE(equal(*a, *b));
        EXPECT_FALSE(equal(*a, *c));
        EXPECT_EQ(hash(*a, 5), hash(*b, 5));
        EXPECT_NE(hash(*a, 5), hash(*c, 5));
    }
}

/// The same document with members in another order and whole numbers held in another way.
Value shuffled(const Value& value, std::mt19937_64& random) {
    if (const Array* array = value.if_array()) {
        Array made;
        for (const Value& element : *array) made.push_back(shuffled(element, random));
        return made;
    }
    if (const Object* object = value.if_object()) {
        std::vector<std::pair<std::string, Value>> members;
        for (const auto& member : *object)
            members.emplace_back(member.key(), shuffled(member.value(), random));
        std::shuffle(members.begin(), members.end(), random);
        Object made;
        for (auto& [key, inner] : members) made[key] = std::move(inner);
        return made;
    }
    if (value.is_int64() && std::abs(static_cast<double>(value.get_int64())) < 9007199254740992.0)
        return static_cast<double>(value.get_int64());
    return value;
}

RC_GTEST_PROP(Equal, does_not_see_the_order_of_members_or_what_holds_a_number, (std::uint64_t seed)) {
    const Value value = *any_value();
    std::mt19937_64 random(seed);
    const Value other = shuffled(value, random);
    RC_ASSERT(equal(value, other));
    RC_ASSERT(equal(other, value));
    RC_ASSERT(hash(value, seed) == hash(other, seed));
}

RC_GTEST_PROP(Equal, has_the_same_hash_where_it_holds, ()) {
    const Value a = *any_value(1);
    const Value b = *any_value(1);
    if (equal(a, b)) RC_ASSERT(hash(a, 11) == hash(b, 11));
}

// long double holds every int64, uint64 and double exactly where it has 64 bits of mantissa.
RC_GTEST_PROP(CompareNumbers, agrees_with_exact_arithmetic, ()) {
    RC_PRE(std::numeric_limits<long double>::digits >= 64);
    const auto exact = [](const Value& value) -> long double {
        if (value.is_int64()) return static_cast<long double>(value.get_int64());
        if (value.is_uint64()) return static_cast<long double>(value.get_uint64());
        return value.get_double();
    };
    const Value a = *any_number();
    const Value b = *any_number();
    RC_ASSERT((compare_numbers(a, b) < 0) == (exact(a) < exact(b)));
    RC_ASSERT((compare_numbers(a, b) > 0) == (exact(a) > exact(b)));
}

}  // namespace
}  // namespace callgate::json
