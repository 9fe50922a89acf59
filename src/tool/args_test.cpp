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
    EXPECT_EQ(given(R"({"a":1})").text(), R"({"a":1})");
    EXPECT_EQ(given(std::string("{}")).text(), "{}");
    EXPECT_EQ(given(std::string_view("{}")).text(), "{}");
    EXPECT_EQ(given(Object()).text(), std::nullopt);
}

TEST(Args, OwnTheirTextHoweverItWasGiven) {
    const std::string_view kText = R"({"a": "long enough not to be kept in place"})";
    std::string text(kText);
    const Args from_view = std::string_view(text);
    const Args from_pointer = text.c_str();
    const Args copy = from_view;
    text.assign(text.size(), '?');
    EXPECT_EQ(from_view.text(), kText);
    EXPECT_EQ(from_pointer.text(), kText);
    EXPECT_EQ(copy.text(), kText);
}

template <class T>
concept TakenAsText = JsonText<T>;

TEST(Args, AreTakenForTextOnlyWhereTheyAre) {
    EXPECT_TRUE(TakenAsText<char[3]> && TakenAsText<const char*> && TakenAsText<std::string> &&
                TakenAsText<std::string_view> && TakenAsText<boost::json::string>);
    EXPECT_FALSE(TakenAsText<std::nullptr_t> || TakenAsText<Value> || TakenAsText<Object> ||
                 TakenAsText<Args>);
}

}  // namespace
}  // namespace callgate
