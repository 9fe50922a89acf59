#include <callgate/typed.h>

#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/schema.h>

namespace callgate {
namespace {

using testing::HasSubstr;

enum class Colour { red, green, blue };
BOOST_DESCRIBE_ENUM(Colour, red, green, blue)

struct Address {
    std::string street;
    std::optional<std::int32_t> number;

    friend bool operator==(const Address&, const Address&) = default;
};
BOOST_DESCRIBE_STRUCT(Address, (), (street, number))

struct Person {
    std::string name;
    std::vector<Address> addresses;
    std::optional<Colour> favourite;

    friend bool operator==(const Person&, const Person&) = default;
};
BOOST_DESCRIBE_STRUCT(Person, (), (name, addresses, favourite))

struct Base {
    int id = 0;
};
BOOST_DESCRIBE_STRUCT(Base, (), (id))
struct Derived : Base {
    bool flag = false;
};
BOOST_DESCRIBE_STRUCT(Derived, (Base), (flag))

struct Node {
    std::string label;
    std::vector<Node> children;
};
BOOST_DESCRIBE_STRUCT(Node, (), (label, children))

/// Just enough of a call for a tool to run in.
class FakeContext final : public CallContext {
public:
    const Context& caller() const override { return context_; }
    std::string call_id() const override { return "call-7"; }
    const std::string& action() const override { return action_; }
    std::uint32_t attempt() const override { return 1; }
    std::chrono::nanoseconds time_left() const override { return std::chrono::seconds(1); }
    std::stop_token cancel() const override { return {}; }
    void progress(std::string_view, std::optional<double>, std::optional<double>) override {}
    void partial(Value) override {}
    Result<void> with_secret(std::string_view, const std::function<void(const Secret&)>&) override {
        return {};
    }
    Outcome call(std::string_view, Args) override { return {}; }

private:
    Context context_;
    std::string action_ = "call";
};

ToolReturn run(const Tool& tool, const Object& arguments) {
    FakeContext context;
    return tool.body->run(arguments, context);
}

Value result(const Tool& tool, const Object& arguments) {
    auto answer = run(tool, arguments);
    EXPECT_TRUE(answer) << answer.error().error.message;
    return answer ? answer->value : Value("failed");
}

std::string refusal(const Tool& tool, const Object& arguments) {
    const auto answer = run(tool, arguments);
    if (answer) return "accepted";
    EXPECT_EQ(answer.error().error.code, ErrorCode::invalid_arguments);
    EXPECT_EQ(answer.error().applied, Applied::no);
    return answer.error().error.message;
}

template <class F, class... P>
std::string schema(F callable, P... params) {
    return json::write(tool("t", "d", std::move(callable), params...).definition.input_schema);
}

/// The schema of a parameter `p` of type T.
template <class T>
std::string schema_for() {
    return json::write(tool("t", "d", [](T) {}, param("p")).definition.input_schema.at("properties").at("p"));
}

template <class T>
Tool echo() {
    return tool("echo", "Gives back what it gets", [](T p) { return p; }, param("p"));
}

TEST(TypedTool, AddIsTenLinesAway) {
    const Tool add = tool(
        "add", "Add two numbers", [](std::int64_t a, std::int64_t b) { return a + b; },
        param("a", "first addend"), param("b", "second addend").default_to(0));
    EXPECT_EQ(add.definition.name, "add");
    EXPECT_EQ(add.definition.description, "Add two numbers");
    EXPECT_EQ(json::write(add.definition.input_schema),
              R"({"type":"object","properties":{"a":{"type":"integer","description":"first addend"},)"
              R"("b":{"type":"integer","description":"second addend","default":0}},"required":["a"]})");
    EXPECT_FALSE(add.definition.output_schema);
    EXPECT_EQ(result(add, {{"a", 5}, {"b", 3}}), Value(8));
    EXPECT_EQ(result(add, {{"a", 5}}), Value(5));
}

std::string shout(const std::string& text) {
    return text + "!";
}

struct Counter {
    int step;
    int operator()(int from) const noexcept { return from + step; }
};

TEST(TypedTool, FunctionsFunctorsAndMoveOnlyLambdasAreTools) {
    EXPECT_EQ(result(tool("shout", "", shout, param("text")), {{"text", "hi"}}), Value("hi!"));
    EXPECT_EQ(result(tool("shout", "", &shout, param("text")), {{"text", "hi"}}), Value("hi!"));
    EXPECT_EQ(result(tool("count", "", Counter{2}, param("from")), {{"from", 1}}), Value(3));
    auto owned = std::make_unique<int>(4);
    EXPECT_EQ(result(tool(
                         "owned", "", [p = std::move(owned)](int a) { return a + *p; }, param("a")),
                     {{"a", 1}}),
              Value(5));
    int calls = 0;
    EXPECT_EQ(result(tool("none", "", [&calls]() mutable { ++calls; }), {}), Value(nullptr));
    EXPECT_EQ(calls, 1);
}

TEST(TypedTool, TheContextMayStandAnywhereAndIsNoParameter) {
    const Tool first =
        tool("t", "", [](CallContext& c, std::string a) { return c.call_id() + a; }, param("a"));
    const Tool last =
        tool("t", "", [](std::string a, CallContext& c) { return c.call_id() + a; }, param("a"));
    const Tool middle = tool(
        "t", "", [](int a, CallContext& c, int b) { return c.call_id() + std::to_string(a - b); }, param("a"),
        param("b"));
    EXPECT_EQ(result(first, {{"a", "x"}}), Value("call-7x"));
    EXPECT_EQ(result(last, {{"a", "x"}}), Value("call-7x"));
    EXPECT_EQ(result(middle, {{"a", 5}, {"b", 3}}), Value("call-72"));
    EXPECT_EQ(json::write(first.definition.input_schema),
              R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"]})");
    EXPECT_EQ(result(tool("t", "", [](CallContext& c) { return c.call_id(); }), {}), Value("call-7"));
}

TEST(TypedSchema, EveryTypeHasItsSchema) {
    EXPECT_EQ(schema_for<bool>(), R"({"type":"boolean"})");
    EXPECT_EQ(schema_for<std::int64_t>(), R"({"type":"integer"})");
    EXPECT_EQ(schema_for<std::uint64_t>(), R"({"type":"integer","minimum":0})");
    EXPECT_EQ(schema_for<std::int8_t>(), R"({"type":"integer","minimum":-128,"maximum":127})");
    EXPECT_EQ(schema_for<std::uint16_t>(), R"({"type":"integer","minimum":0,"maximum":65535})");
    EXPECT_EQ(schema_for<int>(), R"({"type":"integer","minimum":-2147483648,"maximum":2147483647})");
    EXPECT_EQ(schema_for<double>(), R"({"type":"number"})");
    EXPECT_EQ(schema_for<float>(), R"({"type":"number"})");
    EXPECT_EQ(schema_for<std::string>(), R"({"type":"string"})");
    EXPECT_EQ(schema_for<Colour>(), R"({"type":"string","enum":["red","green","blue"]})");
    EXPECT_EQ(schema_for<std::vector<std::string>>(), R"({"type":"array","items":{"type":"string"}})");
    EXPECT_EQ((schema_for<std::array<double, 3>>()),
              R"({"type":"array","items":{"type":"number"},"minItems":3,"maxItems":3})");
    EXPECT_EQ(
        (schema_for<std::tuple<std::string, bool>>()),
        R"({"type":"array","prefixItems":[{"type":"string"},{"type":"boolean"}],"minItems":2,"maxItems":2})");
    EXPECT_EQ(
        (schema_for<std::pair<bool, double>>()),
        R"({"type":"array","prefixItems":[{"type":"boolean"},{"type":"number"}],"minItems":2,"maxItems":2})");
    EXPECT_EQ(schema_for<std::set<std::string>>(),
              R"({"type":"array","items":{"type":"string"},"uniqueItems":true})");
    EXPECT_EQ(schema_for<std::unordered_set<std::int64_t>>(),
              R"({"type":"array","items":{"type":"integer"},"uniqueItems":true})");
    EXPECT_EQ((schema_for<std::map<std::string, bool>>()),
              R"({"type":"object","additionalProperties":{"type":"boolean"}})");
    EXPECT_EQ((schema_for<std::unordered_map<std::string, double>>()),
              R"({"type":"object","additionalProperties":{"type":"number"}})");
    EXPECT_EQ(schema_for<Value>(), R"({})");
    EXPECT_EQ(schema_for<Object>(), R"({"type":"object"})");
    EXPECT_EQ(schema_for<Array>(), R"({"type":"array"})");
    EXPECT_EQ(schema_for<Address>(),
              R"({"type":"object","properties":{"street":{"type":"string"},"number":{"type":"integer",)"
              R"("minimum":-2147483648,"maximum":2147483647}},"required":["street"],)"
              R"("additionalProperties":false})");
}

TEST(TypedSchema, AnOptionalHasTheSchemaOfItsTypeAndIsNotRequired) {
    EXPECT_EQ(schema([](std::optional<bool>) {}, param("p")),
              R"({"type":"object","properties":{"p":{"type":"boolean"}}})");
}

TEST(TypedSchema, ParametersMayBeNarrowedAndDescribed) {
    EXPECT_EQ(
        schema([](int, std::string) {}, param("n", "how many").minimum(1).maximum(10),
               param("s").min_length(2).max_length(5).pattern("^a").format("email").one_of({"ab", "ac"})),
        R"({"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":10,)"
        R"("description":"how many"},"s":{"type":"string","minLength":2,"maxLength":5,"pattern":"^a",)"
        R"("format":"email","enum":["ab","ac"]}},"required":["n","s"]})");
}

TEST(TypedSchema, ABoundWiderThanTheTypesOwnChangesNothing) {
    EXPECT_EQ(schema([](std::uint8_t) {}, param("p").minimum(-5).maximum(1000)),
              R"({"type":"object","properties":{"p":{"type":"integer","minimum":0,"maximum":255}},)"
              R"("required":["p"]})");
}

TEST(TypedSchema, MembersOfABaseComeFirst) {
    EXPECT_EQ(schema([](Derived) {}), R"({"type":"object","properties":{)"
                                      R"("id":{"type":"integer","minimum":-2147483648,"maximum":2147483647},)"
                                      R"("flag":{"type":"boolean"}},"required":["id","flag"]})");
}

TEST(TypedSchema, AStructThatContainsItselfEndsSomewhere) {
    EXPECT_EQ(schema([](Node) {}),
              R"({"type":"object","properties":{"label":{"type":"string"},)"
              R"("children":{"type":"array","items":{"type":"object"}}},"required":["label","children"]})");
    const Tool tree =
        tool("tree", "", [](const Node& node) { return node.children.at(0).children.at(0).label; });
    const Value leaf = Object{{"label", "leaf"}, {"children", Array()}};
    EXPECT_EQ(result(tree, {{"label", "root"},
                            {"children", Array{Object{{"label", "inner"}, {"children", Array{leaf}}}}}}),
              Value("leaf"));
}

TEST(TypedSchema, TheSchemasCompile) {
    const Tool all = tool(
        "all", "",
        [](bool, std::int8_t, double, std::string, Colour, std::optional<int>, std::vector<Person>,
           std::array<int, 2>, std::tuple<int, std::string>, std::set<int>, std::map<std::string, Address>,
           Value) {},
        param("a"), param("b"), param("c"), param("d").pattern("^x"), param("e"), param("f"), param("g"),
        param("h"), param("i"), param("j"), param("k"), param("l"));
    EXPECT_TRUE(schema::Schema::compile(all.definition.input_schema));
}

TEST(TypedTool, AStructTakesTheWholeArguments) {
    const Tool greet = tool("greet", "", [](const Person& p, CallContext&) {
        return p.name + " " + p.addresses.at(0).street + " " + (p.favourite == Colour::green ? "green" : "-");
    });
    EXPECT_EQ(json::write(greet.definition.input_schema.at("required")), R"(["name","addresses"])");
    EXPECT_FALSE(greet.definition.input_schema.as_object().contains("additionalProperties"));
    const Object arguments{
        {"name", "Ann"}, {"addresses", Array{Object{{"street", "Main"}}}}, {"favourite", "green"}};
    EXPECT_EQ(result(greet, arguments), Value("Ann Main green"));
    EXPECT_EQ(refusal(greet, {{"name", "Ann"}}), "Missing required parameter: addresses");
    EXPECT_EQ(refusal(greet, {{"name", "Ann"}, {"addresses", Array{Object{{"street", 1}}}}}),
              "Parameter 'addresses/0/street' expected string, got integer");
}

TEST(TypedTool, AnObjectTakesTheWholeArgumentsAsTheyAre) {
    const Tool keys = tool("keys", "", [](const Object& o) { return o.size(); });
    EXPECT_EQ(json::write(keys.definition.input_schema), R"({"type":"object"})");
    EXPECT_EQ(result(keys, {{"a", 1}, {"b", 2}}), Value(2u));
}

TEST(TypedTool, ValuesComeThroughUnchanged) {
    EXPECT_EQ(result(echo<bool>(), {{"p", true}}), Value(true));
    EXPECT_EQ(result(echo<std::int64_t>(), {{"p", std::numeric_limits<std::int64_t>::min()}}),
              Value(std::numeric_limits<std::int64_t>::min()));
    EXPECT_EQ(result(echo<std::uint64_t>(), {{"p", std::numeric_limits<std::uint64_t>::max()}}),
              Value(std::numeric_limits<std::uint64_t>::max()));
    EXPECT_EQ(result(echo<double>(), {{"p", 1.5}}), Value(1.5));
    EXPECT_EQ(result(echo<double>(), {{"p", 2}}), Value(2.0));
    EXPECT_EQ(result(echo<std::string>(), {{"p", "x"}}), Value("x"));
    EXPECT_EQ(result(echo<std::string_view>(), {{"p", "a longer text that needs memory"}}),
              Value("a longer text that needs memory"));
    EXPECT_EQ(result(echo<Colour>(), {{"p", "blue"}}), Value("blue"));
    EXPECT_EQ(result(echo<std::vector<bool>>(), {{"p", Array{true, false}}}), (Value(Array{true, false})));
    EXPECT_EQ((result(echo<std::array<int, 2>>(), {{"p", Array{1, 2}}})), (Value(Array{1, 2})));
    EXPECT_EQ((result(echo<std::tuple<int, std::string>>(), {{"p", Array{1, "x"}}})), (Value(Array{1, "x"})));
    EXPECT_EQ((result(echo<std::pair<int, bool>>(), {{"p", Array{1, true}}})), (Value(Array{1, true})));
    EXPECT_EQ(result(echo<std::set<int>>(), {{"p", Array{2, 1}}}), (Value(Array{1, 2})));
    EXPECT_EQ((result(echo<std::map<std::string, int>>(), {{"p", Object{{"a", 1}}}})),
              Value(Object{{"a", 1}}));
    EXPECT_EQ(result(echo<Value>(), {{"p", Array{1, nullptr}}}), (Value(Array{1, nullptr})));
    EXPECT_EQ(result(echo<std::optional<int>>(), {{"p", 3}}), Value(3));
    EXPECT_EQ(result(echo<std::optional<int>>(), {{"p", nullptr}}), Value(nullptr));
    EXPECT_EQ(result(echo<std::optional<int>>(), Object{}), Value(nullptr));
}

TEST(TypedTool, AWholeNumberWithAFractionPointIsAnInteger) {
    EXPECT_EQ(result(echo<int>(), {{"p", 5.0}}), Value(5));
    EXPECT_EQ(result(echo<std::uint64_t>(), {{"p", 1e19}}),
              Value(std::uint64_t{10'000'000'000'000'000'000u}));
    EXPECT_THAT(refusal(echo<int>(), {{"p", 5.5}}), HasSubstr("must be a whole number"));
}

TEST(TypedTool, WrongTypesAreRefusedByName) {
    EXPECT_EQ(refusal(echo<int>(), {{"p", "5"}}), "Parameter 'p' expected integer, got string");
    EXPECT_EQ(refusal(echo<int>(), {{"p", true}}), "Parameter 'p' expected integer, got boolean");
    EXPECT_EQ(refusal(echo<bool>(), {{"p", 1}}), "Parameter 'p' expected boolean, got integer");
    EXPECT_EQ(refusal(echo<double>(), {{"p", nullptr}}), "Parameter 'p' expected number, got null");
    EXPECT_EQ(refusal(echo<std::string>(), {{"p", Array()}}), "Parameter 'p' expected string, got array");
    EXPECT_EQ(refusal(echo<std::vector<int>>(), {{"p", Object()}}),
              "Parameter 'p' expected array, got object");
    EXPECT_EQ((refusal(echo<std::map<std::string, int>>(), {{"p", 1}})),
              "Parameter 'p' expected object, got integer");
    EXPECT_EQ(refusal(echo<Address>(), {{"p", "x"}}), "Parameter 'p' expected object, got string");
    EXPECT_EQ(refusal(echo<Object>(), {{"p", 1}}), "Parameter 'p' expected object, got integer");
    EXPECT_EQ(refusal(echo<std::int8_t>(), {{"p", 128}}),
              "Parameter 'p' must be a whole number from -128 to 127");
    EXPECT_EQ(refusal(echo<std::uint32_t>(), {{"p", -1}}),
              "Parameter 'p' must be a whole number from 0 to 4294967295");
    EXPECT_THAT(refusal(echo<std::uint64_t>(), {{"p", -1}}), HasSubstr("from 0 to 18446744073709551615"));
    EXPECT_THAT(refusal(echo<std::int64_t>(), {{"p", 1e30}}), HasSubstr("must be a whole number from"));
    EXPECT_EQ(refusal(echo<Colour>(), {{"p", "pink"}}), "Parameter 'p' must be one of: red, green, blue");
    EXPECT_EQ((refusal(echo<std::array<int, 2>>(), {{"p", Array{1}}})),
              "Parameter 'p' must have 2 items, has 1");
    EXPECT_EQ(refusal(echo<std::set<int>>(), {{"p", Array{1, 1}}}), "Parameter 'p/1' is there twice");
    EXPECT_EQ(refusal(echo<std::vector<int>>(), {{"p", Array{1, "x"}}}),
              "Parameter 'p/1' expected integer, got string");
    EXPECT_EQ(refusal(echo<int>(), Object{}), "Missing required parameter: p");
}

TEST(TypedTool, ARefusalNamesTheParameterForPrograms) {
    const auto answer = run(echo<std::vector<int>>(), {{"p", Array{1, "x"}}});
    ASSERT_FALSE(answer);
    EXPECT_EQ(json::write(answer.error().error.details), R"({"reason":"wrong_type","parameter":"p/1"})");
}

TEST(TypedTool, DefaultsOfAnyTypeAreFilledIn) {
    const Tool t = tool(
        "t", "",
        [](std::string s, Colour c, std::vector<int> v) {
            return s + std::to_string(int(c)) + std::to_string(v.size());
        },
        param("s").default_to("text"), param("c").default_to(Colour::blue),
        param("v").default_to(std::vector<int>{1, 2}));
    EXPECT_EQ(result(t, {}), Value("text22"));
    EXPECT_FALSE(t.definition.input_schema.as_object().contains("required"));
    EXPECT_EQ(json::write(t.definition.input_schema.at("properties").at("c")),
              R"({"type":"string","enum":["red","green","blue"],"default":"blue"})");
}

TEST(TypedTool, ProgrammingFaultsAreThrownWhenTheToolIsMade) {
    EXPECT_THROW(tool("t", "", [](int) {}, param("")), std::invalid_argument);
    EXPECT_THROW(tool("t", "", [](int, int) {}, param("a"), param("a")), std::invalid_argument);
    try {
        tool("t", "", [](int) {}, param("a").default_to("zero"));
        FAIL();
    } catch (const std::invalid_argument& fault) {
        EXPECT_STREQ(fault.what(),
                     "tool 't': the default does not fit: Parameter 'a' expected integer, got string");
    }
}

TEST(TypedTool, ReturnsWhatToolsReturn) {
    EXPECT_EQ(result(tool("t", "", [] { return ToolResult(Value("r")); }), {}), Value("r"));
    EXPECT_EQ(result(tool("t", "", []() -> ToolReturn { return ToolResult(Value("r")); }), {}), Value("r"));
    EXPECT_EQ(result(tool("t", "", []() -> Result<int> { return 3; }), {}), Value(3));
    EXPECT_EQ(result(tool("t", "", []() -> Result<void> { return {}; }), {}), Value(nullptr));
    EXPECT_EQ(result(tool("t", "", [] { return "literal"; }), {}), Value("literal"));
    EXPECT_EQ(result(tool("t", "", [] { return Object{{"a", 1}}; }), {}), Value(Object{{"a", 1}}));
    const auto blocks = run(tool("t", "", [] { return std::vector<Block>{Block::of_text("a")}; }), {});
    ASSERT_EQ(blocks->blocks.size(), 1u);
    EXPECT_EQ(run(tool("t", "", [] { return Block::of_text("a"); }), {})->blocks.at(0).text, "a");
}

TEST(TypedTool, AnErrorItReturnsIsToldAsItsOwn) {
    const auto answer = run(
        tool("t", "", []() -> Result<std::string> { return fail(ErrorCode::tool_error, "Access denied"); }),
        {});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().error.message, "Access denied");
    EXPECT_EQ(answer.error().applied, Applied::answered);
    const auto lost =
        run(tool("t", "", []() -> ToolReturn { return tl::unexpected(ToolFailure::lost("gone")); }), {});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().applied, Applied::maybe);
}

TEST(TypedTool, AReturnedStructGivesAnOutputSchema) {
    const Tool t = tool("t", "", [] { return Address{"Main", {}}; });
    EXPECT_EQ(result(t, {}), Value(Object{{"street", "Main"}}));
    ASSERT_TRUE(t.definition.output_schema);
    EXPECT_EQ(json::write(t.definition.output_schema->at("required")), R"(["street"])");
    EXPECT_TRUE(tool("t", "", []() -> Result<Address> { return Address(); }).definition.output_schema);
    EXPECT_FALSE(tool("t", "", [] { return std::vector<Address>(); }).definition.output_schema);
}

TEST(TypedTool, WhatItThrowsPasses) {
    const Tool t = tool("t", "", [] { throw std::runtime_error("boom"); });
    EXPECT_THROW(run(t, {}), std::runtime_error);
}

RC_GTEST_PROP(TypedToolProperty, StructsSurviveTheWayToJsonAndBack, ()) {
    Person person;
    person.name = *rc::gen::string<std::string>();
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
        Address address{*rc::gen::string<std::string>(), {}};
        if (*rc::gen::arbitrary<bool>()) address.number = *rc::gen::arbitrary<std::int32_t>();
        person.addresses.push_back(address);
    }
    if (*rc::gen::arbitrary<bool>()) person.favourite = Colour(*rc::gen::inRange(0, 3));
    const Value json = typed::to_value(person);
    Person back;
    typed::Fault fault;
    RC_ASSERT(typed::read(json, back, fault));
    RC_ASSERT(back == person);
    const auto schema = schema::Schema::compile(typed::schema_of<Person>());
    schema::Scratch scratch;
    RC_ASSERT(schema->check(json, scratch) == schema::Verdict::valid);
}

Value any_json(int depth) {
    switch (*rc::gen::inRange(0, depth > 0 ? 8 : 6)) {
        case 0: return nullptr;
        case 1: return Value(*rc::gen::arbitrary<bool>());
        case 2: return Value(*rc::gen::arbitrary<std::int64_t>());
        case 3: return Value(*rc::gen::arbitrary<std::uint64_t>());
        case 4: return Value(*rc::gen::arbitrary<double>());
        case 5: return Value(*rc::gen::element<std::string>("", "red", "street", "5"));
        case 6: {
            Array out;
            for (int i = *rc::gen::inRange(0, 4); i > 0; --i) out.push_back(any_json(depth - 1));
            return out;
        }
        default: {
            Object out;
            for (const auto* name : {"name", "addresses", "favourite", "street", "number"}) {
                if (*rc::gen::inRange(0, 3) != 0) out.emplace(name, any_json(depth - 1));
            }
            return out;
        }
    }
}

/// Whatever the schema lets through (except integers beyond 64 bits, which only the conversion refuses) is
/// read.
RC_GTEST_PROP(TypedToolProperty, AnyJsonIsReadOrRefusedAsTheSchemaSays, ()) {
    using Mixed = std::tuple<std::optional<Person>, std::vector<std::uint8_t>, std::map<std::string, double>>;
    Array items;
    for (int i = 0; i < 3; ++i) items.push_back(any_json(3));
    static const auto schema = schema::Schema::compile(typed::schema_of<Mixed>());
    schema::Scratch scratch;
    Mixed out;
    typed::Fault fault;
    const bool good = typed::read(Value(items), out, fault);
    RC_ASSERT(good || !fault.message().empty());
    if (schema->check(Value(items), scratch) == schema::Verdict::valid) RC_ASSERT(good);
}

}  // namespace
}  // namespace callgate
