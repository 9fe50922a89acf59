#include "json/whole_number.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/test_value.h"

namespace callgate::json {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

TEST(WholeNumber, is_the_integer_that_a_double_is) {
    EXPECT_EQ(whole_of<std::int64_t>(-3.0), -3);
    EXPECT_EQ(whole_of<std::uint64_t>(3.0), 3u);
    EXPECT_EQ(whole_of<std::int64_t>(-0.0), 0);
    EXPECT_EQ(whole_of<std::uint64_t>(-0.0), 0u);
}

TEST(WholeNumber, reaches_to_the_ends_of_the_type_and_no_further) {
    EXPECT_EQ(whole_of<std::int64_t>(-kTwo63), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(whole_of<std::int64_t>(std::nextafter(kTwo63, 0)), 9223372036854774784);
    EXPECT_EQ(whole_of<std::int64_t>(kTwo63), std::nullopt);
    EXPECT_EQ(whole_of<std::int64_t>(std::nextafter(-kTwo63, -kTwo64)), std::nullopt);
    EXPECT_EQ(whole_of<std::uint64_t>(kTwo63), 9223372036854775808u);
    EXPECT_EQ(whole_of<std::uint64_t>(std::nextafter(kTwo64, 0)), 18446744073709549568u);
    EXPECT_EQ(whole_of<std::uint64_t>(kTwo64), std::nullopt);
    EXPECT_EQ(whole_of<std::uint64_t>(-1.0), std::nullopt);
}

TEST(WholeNumber, is_not_there_for_what_is_not_whole) {
    for (const double number : {0.5, -0.5, 1e-300, 4503599627370495.5, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        EXPECT_EQ(whole_of<std::int64_t>(number), std::nullopt) << number;
        EXPECT_EQ(whole_of<std::uint64_t>(number), std::nullopt) << number;
    }
}

RC_GTEST_PROP(WholeNumber, reads_back_as_the_double, ()) {
    const double number = *any_finite_double();
    const auto negative_too = whole_of<std::int64_t>(number);
    const auto positive = whole_of<std::uint64_t>(number);
    if (negative_too) RC_ASSERT(static_cast<double>(*negative_too) == number);
    if (positive) RC_ASSERT(static_cast<double>(*positive) == number);
    const bool in_range = number >= -kTwo63 && number < kTwo64 && std::trunc(number) == number;
    RC_ASSERT((negative_too || positive) == in_range);
}

}  // namespace
}  // namespace callgate::json
