#include "schema/number.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::schema {
namespace {

Number integer(std::int64_t value) {
    return Number::of(value);
}
Number real(double value) {
    return Number::of(value);
}
bool divides(Number divisor, Number number) {
    return Divisor::of(divisor).divides(number);
}

TEST(Number, ComparesIntegersAndDoublesByValue) {
    EXPECT_EQ(compare(integer(1), real(1.0)), 0);
    EXPECT_LT(compare(integer(1), real(1.5)), 0);
    EXPECT_GT(compare(integer(-1), real(-1.5)), 0);
    EXPECT_GT(compare(integer(9'007'199'254'740'993), real(9'007'199'254'740'992.0)), 0);
    EXPECT_LT(compare(integer(INT64_MAX), real(9'223'372'036'854'775'808.0)), 0);
    EXPECT_EQ(compare(Number::of(std::uint64_t{1} << 63), real(9'223'372'036'854'775'808.0)), 0);
    EXPECT_LT(compare(Number::of(UINT64_MAX), real(18'446'744'073'709'551'616.0)), 0);
    EXPECT_LT(compare(integer(-1), Number::of(UINT64_MAX)), 0);
    EXPECT_LT(compare(integer(INT64_MAX), real(1e300)), 0);
    EXPECT_LT(compare(real(std::nan("")), real(-1e300)), 0);
    EXPECT_EQ(compare(real(std::nan("")), real(std::nan(""))), 0);
    EXPECT_GT(compare(integer(INT64_MIN), real(-1e300)), 0);
}

TEST(Number, ADoubleWithoutFractionIsAnInteger) {
    EXPECT_TRUE(is_integer(real(1.0)));
    EXPECT_TRUE(is_integer(real(1e300)));
    EXPECT_FALSE(is_integer(real(0.5)));
}

TEST(Divisor, DividesInDecimalNotInBinary) {
    EXPECT_TRUE(divides(real(0.1), real(0.3)));
    EXPECT_TRUE(divides(real(0.01), real(19.99)));
    EXPECT_TRUE(divides(real(0.0001), real(0.0075)));
    EXPECT_FALSE(divides(real(0.0001), real(0.00751)));
    EXPECT_TRUE(divides(real(1e-8), integer(12'391'239'123)));
    EXPECT_TRUE(divides(real(0.5), real(1e308)));
    EXPECT_FALSE(divides(real(0.123456789), real(1e308)));
    EXPECT_TRUE(divides(real(2.5), integer(5)));
    EXPECT_FALSE(divides(integer(2), real(2.5)));
    EXPECT_TRUE(divides(integer(3), integer(-9)));
    EXPECT_TRUE(divides(real(5e-324), integer(0)));
    EXPECT_FALSE(divides(real(1e308), real(5e-324)));
    EXPECT_TRUE(divides(Number::of(UINT64_MAX), Number::of(UINT64_MAX)));
    EXPECT_FALSE(divides(integer(2), real(std::numeric_limits<double>::infinity())));
}

RC_GTEST_PROP(Divisor, AgreesWithIntegerArithmeticOnScaledDecimals, ()) {
    // a/1000 is a multiple of b/1000 exactly when a is a multiple of b.
    const auto a = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 1'000'000'000);
    const auto b = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
    const Number scaled_a = real(static_cast<double>(a) / 1000.0);
    const Number scaled_b = real(static_cast<double>(b) / 1000.0);
    RC_ASSERT(divides(scaled_b, scaled_a) == (a % b == 0));
}

RC_GTEST_PROP(Number, ComparisonIsAntisymmetric, (std::int64_t i, double d)) {
    RC_ASSERT(compare(integer(i), real(d)) == -compare(real(d), integer(i)));
}

}  // namespace
}  // namespace callgate::schema
