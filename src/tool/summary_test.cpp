#include "tool/summary.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace callgate {
namespace {

Value value_of(std::string_view text) {
    return json::parse(text).value();
}
std::string type_in(std::string_view schema) {
    return type_text(value_of(schema));
}

TEST(Summary, PlainTypesAreNamed) {
    EXPECT_EQ(type_in(R"({"type": "string"})"), "string");
    EXPECT_EQ(type_in(R"({"type": ["integer", "string"]})"), "integer | string");
    EXPECT_EQ(type_in("{}"), "any");
    EXPECT_EQ(type_in("true"), "any");
    EXPECT_EQ(type_in("false"), "never");
    EXPECT_EQ(type_in(R"({"properties": {}})"), "object");
}

TEST(Summary, WhereNullMayStandInsteadOfSomethingThatIsShown) {
    EXPECT_EQ(type_in(R"({"type": ["string", "null"]})"), "string");
    EXPECT_EQ(type_in(R"({"type": ["null", "integer", "string"]})"), "integer | string");
    EXPECT_EQ(type_in(R"({"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "string"}}]})"),
              "string[]");
    EXPECT_EQ(type_in(R"({"type": ["null"]})"), "null") << "where there is nothing else";
    EXPECT_EQ(type_in(R"({"anyOf": [{}, {"type": "null"}]})"), "any");
    EXPECT_EQ(type_in(R"({"type": []})"), "any");
}

TEST(Summary, ArraysNameTheirItems) {
    EXPECT_EQ(type_in(R"({"type": "array", "items": {"type": "string"}})"), "string[]");
    EXPECT_EQ(type_in(R"({"type": "array", "items": {"type": ["string", "null"]}})"), "string[]");
    EXPECT_EQ(type_in(R"({"type": "array", "items": {"type": ["string", "integer"]}})"),
              "(string | integer)[]");
    EXPECT_EQ(type_in(R"({"type": "array"})"), "array");
}

TEST(Summary, EnumsAndConstantsShowTheirValues) {
    EXPECT_EQ(type_in(R"({"enum": ["a", 1, null]})"), R"("a" | 1 | null)");
    EXPECT_EQ(type_in(R"({"const": "only"})"), R"("only")");
    EXPECT_EQ(type_in(R"({"enum": [1, 2, 3, 4, 5, 6, 7]})"), "1 | 2 | 3 | 4 | 5 | 6 | …");
}

TEST(Summary, AlternativesAreJoinedOnce) {
    EXPECT_EQ(
        type_in(R"({"anyOf": [{"type": "string"}, {"type": "string", "minLength": 2}, {"type": "null"}]})"),
        "string");
}

TEST(Summary, LocalReferencesAreFollowed) {
    EXPECT_EQ(
        type_in(R"({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "number"}}})"),
        "number");
    EXPECT_EQ(type_in(R"({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}})"), "any");
    EXPECT_EQ(type_in(R"({"$ref": "https://example.org/other.json"})"), "any");
}

TEST(Summary, RecursiveSchemasEnd) {
    EXPECT_EQ(type_in(R"({"type": "array", "items": {"$ref": "#"}})"), "array[][][]");
}

TEST(Summary, NestedAlternativesCostABoundedAmount) {
    Value schema = value_of(R"({"type": "string"})");
    for (int i = 0; i < 200; ++i) schema = {{"anyOf", {schema, {{"$ref", "#"}}, {{"$ref", "#/anyOf/0"}}}}};
    EXPECT_FALSE(type_text(schema).empty());
}

TEST(Summary, ParametersKeepTheOrderOfTheSchema) {
    const auto parameters = summarize_parameters(value_of(R"({
        "properties": {"b": {"type": "string", "description": "the\n  second"}, "a": true},
        "required": ["a", "c"]})"));
    ASSERT_EQ(parameters.size(), 3u);
    EXPECT_EQ(parameters[0].name, "b");
    EXPECT_EQ(parameters[0].description, "the\n  second");
    EXPECT_FALSE(parameters[0].required);
    EXPECT_EQ(parameters[1].name, "a");
    EXPECT_TRUE(parameters[1].required);
    EXPECT_EQ(parameters[2].name, "c");
    EXPECT_TRUE(parameters[2].required);
}

TEST(Summary, CompactFormMarksWhatMayBeLeftOut) {
    const auto schema =
        value_of(R"({"properties": {"p": {"type": "string"}, "q": {"type": "integer"}, "a b": true},
                                     "required": ["p"]})");
    EXPECT_EQ(compact_form("tool", summarize_parameters(schema)),
              R"(tool(p: string, q?: integer, "a b"?: any))");
    EXPECT_EQ(compact_form("tool", {}), "tool()");
}

}  // namespace
}  // namespace callgate
