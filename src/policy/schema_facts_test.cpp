#include "policy/schema_facts.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <callgate/schema.h>

#include "json/test_value.h"

namespace callgate::policy {
namespace {

bool never(std::string_view schema) {
    return never_satisfied(json::parse(schema).value()).has_value();
}

TEST(SchemaFacts, SeeThatNothingSatisfiesASchema) {
    EXPECT_TRUE(never("false"));
    EXPECT_TRUE(never(R"({"not": {}})"));
    EXPECT_TRUE(never(R"({"not": {"description": "anything"}})"));
    EXPECT_TRUE(never(R"({"type": "string"})"));
    EXPECT_TRUE(never(R"({"type": ["string", "array"]})"));
    EXPECT_TRUE(never(R"({"enum": ["a", 1]})"));
    EXPECT_TRUE(never(R"({"const": 1})"));
    EXPECT_TRUE(never(R"({"minProperties": 3, "maxProperties": 2})"));
    EXPECT_TRUE(never(R"({"required": ["a", "b"], "maxProperties": 1})"));
    EXPECT_TRUE(never(R"({"required": ["a"], "properties": {"a": false}})"));
    EXPECT_TRUE(never(
        R"({"required": ["a"], "properties": {"a": {"type": "integer", "minimum": 3, "maximum": 2}}})"));
    EXPECT_TRUE(never(
        R"({"required": ["a"], "properties": {"a": {"type": "string", "minLength": 3, "maxLength": 2}}})"));
    EXPECT_TRUE(never(
        R"({"required": ["a"], "properties": {"a": {"type": "array", "minItems": 3, "maxItems": 2}}})"));
    EXPECT_TRUE(never(R"({"allOf": [{}, false]})"));
    EXPECT_TRUE(never(R"({"anyOf": [{"type": "string"}, false]})"));
    EXPECT_TRUE(never(R"({"oneOf": [false]})"));
}

TEST(SchemaFacts, SayNothingWhereItIsNotCertain) {
    EXPECT_FALSE(never("true"));
    EXPECT_FALSE(never("{}"));
    EXPECT_FALSE(never(R"({"type": ["string", "object"]})"));
    EXPECT_FALSE(never(R"({"enum": [1, {"a": 1}]})"));
    EXPECT_FALSE(never(R"({"minimum": 3, "maximum": 2})"));  // about numbers, and arguments are none
    EXPECT_FALSE(never(R"({"properties": {"a": false}})"));
    EXPECT_FALSE(never(
        R"({"required": ["a"], "properties": {"a": {"minimum": 3, "maximum": 2}}})"));  // a text is fine
    EXPECT_FALSE(never(
        R"({"required": ["a"], "properties": {"a": {"type": "integer", "minimum": 2, "maximum": 2}}})"));
    EXPECT_FALSE(never(R"({"anyOf": [{"type": "string"}, {}]})"));
    EXPECT_FALSE(never(R"({"$ref": "#/$defs/a", "type": "string", "$defs": {"a": {}}})"));
    EXPECT_FALSE(never(R"({"not": {"type": "string"}})"));
}

TEST(SchemaFacts, KnowTheSchemaThatLetsEverythingThrough) {
    EXPECT_TRUE(always_satisfied(true));
    EXPECT_TRUE(always_satisfied(Object{{"title", "x"}}));
    EXPECT_FALSE(always_satisfied(false));
    EXPECT_FALSE(always_satisfied(Object{{"type", "object"}}));
    EXPECT_FALSE(always_satisfied(7));
}

TEST(SchemaFacts, SeeAnArgumentThatTheToolDoesNotHave) {
    const Value tool = json::parse(R"({"type": "object", "properties": {"path": {}}})").value();
    const Value misspelt = json::parse(R"({"required": ["pth"]})").value();
    EXPECT_EQ(impossible_member(misspelt, tool, false), "pth");
    EXPECT_FALSE(impossible_member(misspelt, tool, true));
    EXPECT_FALSE(impossible_member(json::parse(R"({"required": ["path"]})").value(), tool, false));
    EXPECT_FALSE(impossible_member(misspelt, json::parse(R"({"type": "object"})").value(), false));
    EXPECT_FALSE(impossible_member(
        misspelt, json::parse(R"({"properties": {}, "patternProperties": {"^p": {}}})").value(), false));
}

// Schemas out of the keywords that the proofs look at.
rc::Gen<Value> any_schema(int depth) {
    const auto small = rc::gen::map(rc::gen::inRange(0, 3), [](int n) { return Value(n); });
    const auto type =
        rc::gen::element<Value>("object", "string", "integer", "array", Value(Array{"object", "integer"}),
                                Value(Array{"string", "array"}));
    return rc::gen::exec([=] {
        if (*rc::gen::inRange(0, 6) == 0) return Value(*rc::gen::arbitrary<bool>());
        Object schema;
        const auto maybe = [] { return *rc::gen::inRange(0, 3) == 0; };
        if (maybe()) schema["type"] = *type;
        for (const char* name : {"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
                                 "minProperties", "maxProperties"}) {
            if (maybe()) schema[name] = *small;
        }
        if (maybe()) schema["required"] = Array{"a"};
        if (maybe()) schema["enum"] = maybe() ? Value(Array{1, "x"}) : Value(Array{Object{{"a", 1}}, 2});
        if (depth > 0) {
            if (maybe()) schema["properties"] = Object{{"a", *any_schema(depth - 1)}};
            for (const char* name : {"allOf", "anyOf", "oneOf"}) {
                if (maybe()) schema[name] = Array{*any_schema(depth - 1), *any_schema(depth - 1)};
            }
            if (maybe()) schema["not"] = *any_schema(0);
        }
        return Value(std::move(schema));
    });
}

RC_GTEST_PROP(SchemaFacts, AreNeverWrong, ()) {
    const Value document = *any_schema(2);
    const auto schema = schema::Schema::compile(document).value();
    schema::Scratch scratch;
    const bool never_holds = never_satisfied(document).has_value();
    const bool always_holds = always_satisfied(document);
    for (int i = 0; i < 20; ++i) {
        Object arguments;
        if (*rc::gen::arbitrary<bool>()) arguments["a"] = *json::any_value(1);
        if (*rc::gen::arbitrary<bool>()) arguments["b"] = *rc::gen::inRange(0, 3);
        const bool valid = schema.check(Value(arguments), scratch) == schema::Verdict::valid;
        RC_ASSERT(!(never_holds && valid));
        RC_ASSERT(!always_holds || valid);
    }
}

}  // namespace
}  // namespace callgate::policy
