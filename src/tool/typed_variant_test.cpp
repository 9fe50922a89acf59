// std::variant and std::filesystem::path as parameters and results of typed tools.
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/schema.h>
#include <callgate/typed.h>

namespace callgate {
namespace {

using testing::HasSubstr;

struct Circle {
    double radius = 0;
    std::optional<std::string> colour;
};
BOOST_DESCRIBE_STRUCT(Circle, (), (radius, colour))

struct Labelled {
    double radius = 0;
    std::string label;
};
BOOST_DESCRIBE_STRUCT(Labelled, (), (radius, label))

struct Left;
struct Right;
using Either = std::variant<Left, Right>;
struct Left {
    std::vector<Either> next;
};
struct Right {
    std::vector<Either> next;
};
BOOST_DESCRIBE_STRUCT(Left, (), (next))
BOOST_DESCRIBE_STRUCT(Right, (), (next))

template <class T>
std::string schema_of_type() {
    return json::write(typed::schema_of<T>());
}

template <class T>
T read_as(const Value& value) {
    T out{};
    typed::Fault fault;
    EXPECT_TRUE(typed::read(value, out, fault)) << fault.message();
    return out;
}

template <class T>
std::string why_unread(const Value& value) {
    T out{};
    typed::Fault fault;
    return typed::read(value, out, fault) ? "read" : fault.message();
}

TEST(TypedVariant, HasTheSchemasOfItsAlternatives) {
    EXPECT_EQ((schema_of_type<std::variant<std::int64_t, std::string>>()),
              R"({"anyOf":[{"type":"integer"},{"type":"string"}]})");
    EXPECT_EQ((schema_of_type<std::variant<std::monostate, bool>>()),
              R"({"anyOf":[{"type":"null"},{"type":"boolean"}]})");
    const Tool draw = tool("draw", "", [](const std::variant<Circle, Labelled>&) {}, param("shape"));
    EXPECT_TRUE(schema::Schema::compile(draw.definition.input_schema));
}

TEST(TypedVariant, TakesTheFirstAlternativeThatFitsExactly) {
    using Number = std::variant<double, std::int64_t>;
    EXPECT_EQ(read_as<Number>(5), Number(std::int64_t{5})) << "a whole number is an integer";
    EXPECT_EQ(read_as<Number>(5.0), Number(5.0));
    EXPECT_EQ(read_as<Number>(9'007'199'254'740'993), Number(std::int64_t{9'007'199'254'740'993}));
    using Shape = std::variant<Circle, Labelled>;
    EXPECT_EQ(read_as<Shape>(Object{{"radius", 1.0}}).index(), 0u);
    EXPECT_EQ(read_as<Shape>(Object{{"radius", 1.5}, {"label", "x"}}).index(), 1u)
        << "a Circle knows no label";
    EXPECT_EQ((read_as<std::variant<std::string, std::filesystem::path>>("a").index()), 0u);
}

TEST(TypedVariant, TakesTheFirstThatFitsAtAllWhereNoneFitsExactly) {
    EXPECT_EQ((read_as<std::variant<std::string, double>>(5)), (std::variant<std::string, double>(5.0)));
    EXPECT_EQ((read_as<std::variant<bool, std::int64_t>>(5.0)),
              (std::variant<bool, std::int64_t>(std::int64_t{5})));
    EXPECT_EQ((read_as<std::variant<Labelled, Circle>>(Object{{"radius", 1}, {"odd", 1}}).index()), 1u);
    using Lists = std::variant<std::vector<double>, std::vector<std::int64_t>>;
    EXPECT_EQ(read_as<Lists>(Array{1, 2}).index(), 1u) << "exactly goes for what is inside, too";
    EXPECT_EQ(read_as<Lists>(Array{1, 2.5}).index(), 0u);
}

TEST(TypedVariant, RefusesWhatFitsNone) {
    EXPECT_EQ((why_unread<std::variant<int, bool>>("x")),
              "Parameter '' fits none of the types it may have, got string");
    const Tool take = tool("take", "", [](std::variant<int, bool>) {}, param("p"));
    EXPECT_THAT((why_unread<std::vector<std::variant<int, bool>>>(Array{1, true, nullptr})),
                HasSubstr("'2'"));
}

TEST(TypedVariant, ThatIsNestedIsReadInBoundedTime) {
    // Each level could be tried as either, in all combinations: the innermost value fits neither.
    Value deep = Object{{"next", Array{Value(1)}}};
    for (int i = 0; i < 60; ++i) deep = Object{{"next", Array{std::move(deep)}}};
    EXPECT_EQ(why_unread<Either>(deep), "Parameter '' could be read in more ways than are tried");
    const Array many(100'000, Value("x"));
    using Item = std::variant<bool, std::int64_t, std::string>;
    EXPECT_EQ(read_as<std::vector<Item>>(many).size(), 100'000u) << "as many as there may be";
    EXPECT_EQ(read_as<Either>(Object{{"next", Array{Object{{"next", Array()}}}}}).index(), 0u);
}

TEST(TypedVariant, IsReturnedAsWhatItHolds) {
    using Any = std::variant<std::monostate, std::int64_t, Labelled, std::filesystem::path>;
    EXPECT_EQ(typed::to_value(Any()), Value(nullptr));
    EXPECT_EQ(typed::to_value(Any(std::int64_t{5})), Value(5));
    EXPECT_EQ(typed::to_value(Any(Labelled{1.5, "x"})), Value(Object{{"radius", 1.5}, {"label", "x"}}));
    EXPECT_EQ(typed::to_value(Any(std::filesystem::path("/a"))), Value("/a"));
}

TEST(TypedPath, IsAStringThatIsOne) {
    EXPECT_EQ(schema_of_type<std::filesystem::path>(), R"({"type":"string"})");
    EXPECT_EQ(read_as<std::filesystem::path>("/tmp/ü"), std::filesystem::path("/tmp/ü"));
    EXPECT_THAT(why_unread<std::filesystem::path>(5), HasSubstr("expected string"));
    const Value cut_short(std::string("/etc/passwd\0.txt", 16));
    EXPECT_THAT(why_unread<std::filesystem::path>(cut_short), HasSubstr("NUL"));
}

}  // namespace
}  // namespace callgate
