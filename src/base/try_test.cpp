#include "base/try.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <callgate/error.h>

namespace callgate::base {
namespace {

Result<void> check(bool good) {
    if (!good) return fail(ErrorCode::denied, "no");
    return {};
}

Result<std::unique_ptr<int>> make(int value) {
    if (value < 0) return fail(ErrorCode::internal, "negative");
    return std::make_unique<int>(value);
}

Result<int> sum(bool good, int a, int b, int& reached) {
    CALLGATE_TRY(check(good));
    ++reached;
    CALLGATE_TRY_ASSIGN(const auto first, make(a));
    ++reached;
    std::unique_ptr<int> second;
    CALLGATE_TRY_ASSIGN(second, make(b));
    ++reached;
    return *first + *second;
}

TEST(Try, GoesOnWithTheValuesWhereNothingFailed) {
    int reached = 0;
    EXPECT_EQ(sum(true, 1, 2, reached).value(), 3);
    EXPECT_EQ(reached, 3);
}

TEST(Try, ReturnsTheFirstFailureAndGoesNoFurther) {
    int reached = 0;
    EXPECT_EQ(sum(false, 1, 2, reached).error().message, "no");
    EXPECT_EQ(reached, 0);
    EXPECT_EQ(sum(true, -1, 2, reached).error().message, "negative");
    EXPECT_EQ(reached, 1);
    EXPECT_EQ(sum(true, 1, -2, reached).error().message, "negative");
    EXPECT_EQ(reached, 3);
}

TEST(Try, IsOneStatement) {
    const auto both = [](bool first) -> Result<void> {
        if (first)
            CALLGATE_TRY(check(false));
        else
            CALLGATE_TRY(check(true));
        return {};
    };
    EXPECT_FALSE(both(true));
    EXPECT_TRUE(both(false));
}

}  // namespace
}  // namespace callgate::base
