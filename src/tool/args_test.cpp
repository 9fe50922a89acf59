#include <gtest/gtest.h>

#include <callgate/args.h>

namespace callgate {
namespace {

Args given(Args args) {
    return args;
}

TEST(Args, AreAbsentWhenNothingIsGiven) {
    EXPECT_TRUE(Args().absent());
    EXPECT_TRUE(Args(nullptr).absent());
    EXPECT_TRUE(given({}).absent());
}

TEST(Args, AreWrittenAsABracedListOfMembers) {
    const Args args = given({{"a", 5}, {"b", {1, 2}}, {"c", "text"}});
    ASSERT_NE(args.value(), nullptr);
    EXPECT_EQ(*args.value(), (Value(Object{{"a", 5}, {"b", Array{1, 2}}, {"c", "text"}})));
}

TEST(Args, TakeAnObjectOrAnyValue) {
    EXPECT_EQ(*given(Object{{"a", 1}}).value(), Value(Object{{"a", 1}}));
    EXPECT_EQ(*given(Value(Array{1})).value(), Value(Array{1}));
}

TEST(Args, TakeJsonTextAsItIs) {
    EXPECT_EQ(*given(R"({"a":1})").view(), R"({"a":1})");
    EXPECT_EQ(*given(std::string("{}")).text(), "{}");
}

TEST(Args, OwnTheirTextWhenAsked) {
    Args args;
    {
        const std::string text = R"({"a": "long enough not to be kept in place"})";
        args = Args(std::string_view(text));
        EXPECT_EQ(args.view()->data(), text.data());
        args.own();
    }
    EXPECT_EQ(args.view(), nullptr);
    ASSERT_NE(args.text(), nullptr);
    EXPECT_EQ(*args.text(), R"({"a": "long enough not to be kept in place"})");
}

}  // namespace
}  // namespace callgate
