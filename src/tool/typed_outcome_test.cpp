#include <callgate/typed_outcome.h>

#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <callgate/typed.h>

namespace callgate {
namespace {

struct Mail {
    std::string to;
    std::vector<std::int64_t> sizes;

    friend bool operator==(const Mail&, const Mail&) = default;
};
BOOST_DESCRIBE_STRUCT(Mail, (), (to, sizes))

Outcome gave(ToolResult result) {
    OutcomeData data;
    data.state = State::succeeded;
    data.succeeded = true;
    data.result = std::move(result);
    return Outcome(std::move(data));
}

template <class T>
std::string why_not(const Outcome& outcome) {
    const Result<T> read = outcome.as<T>();
    if (read) return "read";
    EXPECT_EQ(read.error().code, ErrorCode::output_invalid);
    return read.error().message + " @" + std::string(read.error().details.at("path").as_string());
}

TEST(OutcomeAs, GivesWhatTheToolReturned) {
    EXPECT_EQ(gave(Value(5)).as<int>(), 5);
    EXPECT_EQ(gave(Value("text")).as<std::string>(), "text");
    EXPECT_EQ(gave(Value(true)).as<bool>(), true);
    EXPECT_EQ(gave(Value("/tmp/a b")).as<std::filesystem::path>(), "/tmp/a b");
    EXPECT_EQ(gave(Value(Array{1, 2})).as<std::vector<int>>(), (std::vector<int>{1, 2}));
    EXPECT_EQ((gave(Value(Object{{"a", 1}})).as<std::map<std::string, int>>()),
              (std::map<std::string, int>{{"a", 1}}));
    EXPECT_EQ(gave(Value(Object{{"to", "ada"}, {"sizes", {1, 2}}})).as<Mail>(), (Mail{"ada", {1, 2}}));
    EXPECT_EQ((gave(Value("x")).as<std::variant<int, std::string>>()), (std::variant<int, std::string>("x")));
    EXPECT_EQ(gave(Value(nullptr)).as<std::optional<int>>().value(), std::nullopt);
    EXPECT_EQ(gave(Value(Array{1})).as<Value>(), Value(Array{1}));
    EXPECT_EQ(gave(Value(Object{{"a", 1}})).as<Object>(), (Object{{"a", 1}}));
    EXPECT_TRUE(gave(Value(1)).as<void>());
    EXPECT_EQ(gave(Value(1)).as<ToolResult>()->value, Value(1));
}

TEST(OutcomeAs, KeepsNumbersExactly) {
    constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
    constexpr auto kHigh = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(gave(Value(kLow)).as<std::int64_t>(), kLow);
    EXPECT_EQ(gave(Value(kHigh)).as<std::uint64_t>(), kHigh);
    EXPECT_EQ(gave(Value(0.1)).as<double>(), 0.1);
    EXPECT_EQ(gave(Value(5e-324)).as<double>(), 5e-324);
    EXPECT_NE(why_not<std::int64_t>(gave(Value(kHigh))), "read");
    EXPECT_NE(why_not<std::uint64_t>(gave(Value(-1))), "read");
    EXPECT_NE(why_not<std::int64_t>(gave(Value(0.5))), "read");
    EXPECT_NE(why_not<std::int8_t>(gave(Value(128))), "read");
}

TEST(OutcomeAs, PrefersStructuredContentAndTakesTextWhereThatDoesNotFit) {
    ToolResult both;
    both.blocks.push_back(Block::of_text("2 mails"));
    both.structured = Object{{"count", 2}};
    EXPECT_EQ((gave(both).as<std::map<std::string, int>>()), (std::map<std::string, int>{{"count", 2}}));
    EXPECT_EQ(gave(both).as<Value>(), Value(Object{{"count", 2}}));
    EXPECT_EQ(gave(both).as<std::string>(), "2 mails");
    EXPECT_EQ(gave(both).as<std::vector<Block>>()->size(), 1u);
}

TEST(OutcomeAs, ReadsTextAsJsonWhereTextDoesNotFit) {
    EXPECT_EQ(gave(Value(R"({"to": "ada", "sizes": []})")).as<Mail>(), (Mail{"ada", {}}));
    std::vector<Block> blocks;
    blocks.push_back(Block::of_text("18446744073709551615"));
    EXPECT_EQ(gave(blocks).as<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(gave(blocks).as<std::string>(), "18446744073709551615");
    EXPECT_EQ((gave(blocks).as<std::variant<std::uint64_t, std::string>>()->index()), 1u);
    std::vector<Block> json;
    json.push_back(Block::of_json(Array{1, 2}));
    EXPECT_EQ(gave(json).as<std::vector<int>>(), (std::vector<int>{1, 2}));
}

TEST(OutcomeAs, SaysWhereAndWhatDoesNotFit) {
    EXPECT_EQ(why_not<int>(gave(Value("five"))),
              "The result does not fit the type it is read into: it expected integer, got string @");
    EXPECT_EQ(why_not<Mail>(gave(Value(Object{{"to", "ada"}, {"sizes", {1, "two"}}}))),
              "The result does not fit the type it is read into: 'sizes/1' expected integer, got string "
              "@sizes/1");
    EXPECT_EQ(why_not<Mail>(gave(Value(R"({"to": "ada"})"))),
              "The result does not fit the type it is read into: 'sizes' is missing @sizes");
    EXPECT_EQ(why_not<std::string>(gave(Value(nullptr))),
              "The result does not fit the type it is read into: it expected string, got null @");
    EXPECT_EQ(why_not<std::string>(gave(Value(Object{{"a", 1}}))),
              "The result does not fit the type it is read into: it expected string, got object @");
}

TEST(OutcomeAs, NoNumberBecomesInfinity) {
    EXPECT_EQ(why_not<float>(gave(Value(1e300))),
              "The result does not fit the type it is read into: it must be a number from "
              "-3.4028234663852886e+38 to 3.4028234663852886e+38 @");
    EXPECT_EQ(gave(Value(1.5)).as<float>(), 1.5F);
    const auto either = gave(Value(1e300)).as<std::variant<float, double>>();
    ASSERT_TRUE(either);
    EXPECT_EQ(std::get<double>(*either), 1e300);
    EXPECT_EQ((gave(Value(0.1)).as<std::variant<float, double>>().value().index()), 1u);
}

TEST(OutcomeAs, OfAFailureIsItsOwnError) {
    OutcomeData data;
    data.state = State::denied;
    data.error = Error(ErrorCode::denied, "not you");
    const Outcome refused(std::move(data));
    EXPECT_EQ(refused.as<int>().error().message, "not you");
    EXPECT_EQ(refused.as<void>().error().code, ErrorCode::denied);
    EXPECT_EQ(Outcome().as<std::string>().error().code, ErrorCode::internal);
}

}  // namespace
}  // namespace callgate
