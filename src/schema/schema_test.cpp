#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schema/schema_testing.h"

namespace callgate::schema {
namespace {

TEST(Schema, ComparesNumbersByValueAndBooleansApart) {
    EXPECT_TRUE(accepts(schema_of(R"({"const":1})"), "1.0"));
    EXPECT_FALSE(accepts(schema_of(R"({"const":1})"), "true"));
    EXPECT_TRUE(accepts(schema_of(R"({"enum":[[{"a":1,"b":2}]]})"), R"([{"b":2.0,"a":1}])"));
    EXPECT_FALSE(accepts(schema_of(R"({"type":"integer"})"), "true"));
    EXPECT_TRUE(accepts(schema_of(R"({"type":"integer"})"), "1e3"));
    EXPECT_FALSE(accepts(schema_of(R"({"const":9007199254740993})"), "9007199254740992"));
}

TEST(Schema, CountsCodePointsNotBytes) {
    const Schema two = schema_of(R"({"minLength":2,"maxLength":2})");
    EXPECT_TRUE(accepts(two, R"("é😀")"));
    EXPECT_FALSE(accepts(two, R"("😀")"));
    EXPECT_FALSE(accepts(two, R"("abc")"));
    EXPECT_FALSE(accepts(two, R"("é😀a")"));
}

TEST(Schema, FormatIsAnAnnotationUnlessAsserted) {
    const char* text = R"({"format":"ipv4"})";
    EXPECT_TRUE(accepts(schema_of(text), R"("nonsense")"));
    CompileOptions options;
    options.assert_format = true;
    EXPECT_FALSE(accepts(schema_of(text, options), R"("nonsense")"));
    EXPECT_TRUE(accepts(schema_of(R"({"format":"our-own"})", options), R"("nonsense")"));
}

TEST(Schema, HandsOutTheValueOnlyWhenItIsValid) {
    const Schema schema = schema_of(R"({"required":["a"]})");
    Scratch scratch;
    json::Arena arena;
    const auto good = schema.accept(R"({"a":[1,2]})", scratch, {}, &arena);
    ASSERT_TRUE(good);
    EXPECT_EQ(good->verdict, Verdict::valid);
    EXPECT_EQ(json::write(good->value), R"({"a":[1,2]})");
    const auto bad = schema.accept(R"({"b":1})", scratch);
    ASSERT_TRUE(bad);
    EXPECT_EQ(bad->verdict, Verdict::invalid);
    EXPECT_TRUE(bad->value.is_null());
    EXPECT_FALSE(schema.accept("{", scratch));
    EXPECT_FALSE(schema.check_text(R"({"a":1,"a":2})", scratch));
}

TEST(Schema, MembersThatTellAlternativesApartChangeNoVerdict) {
    // The same alternatives with and without a member that tells them apart.
    const Schema fast = schema_of(R"({"anyOf":[
        {"required":["k"],"properties":{"k":{"enum":["a","b"]},"n":{"type":"integer"}}},
        {"required":["k"],"properties":{"k":{"const":"c"}},"unevaluatedProperties":false}]})");
    EXPECT_TRUE(accepts(fast, R"({"k":"a","x":1})"));
    EXPECT_TRUE(accepts(fast, R"({"k":"c"})"));
    EXPECT_FALSE(accepts(fast, R"({"k":"c","x":1})"));
    EXPECT_FALSE(accepts(fast, R"({"k":"b","n":"1"})"));
    EXPECT_FALSE(accepts(fast, R"({"k":"d"})"));
    EXPECT_TRUE(accepts(fast, R"("not an object")"));
}

TEST(Schema, FindsRepeatedItemsInALargeArrayWithinItsBudget) {
    std::string items = "[";
    for (int i = 0; i < 100'000; ++i) items += std::to_string(i) + ",";
    const Schema schema = schema_of(R"({"uniqueItems":true})");
    EXPECT_EQ(verdict_of(schema, items + "-1]"), Verdict::valid);
    EXPECT_EQ(verdict_of(schema, items + "77777.0]"), Verdict::invalid);
}

TEST(Schema, StopsABombOfNestedAlternativesAtItsBudget) {
    // Every level doubles the paths: 2^40 of them.
    std::string defs;
    for (int i = 0; i < 40; ++i) {
        const std::string next = "{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"}";
        defs += "\"d" + std::to_string(i) + "\":{\"anyOf\":[" + next + "," + next + "]},";
    }
    const Schema bomb =
        schema_of("{\"$ref\":\"#/$defs/d0\",\"$defs\":{" + defs + "\"d40\":{\"type\":\"null\"}}}");
    EXPECT_EQ(verdict_of(bomb, "1"), Verdict::over_budget);
    EXPECT_EQ(verdict_of(bomb, "null"), Verdict::valid);
    const std::string said = complaints(bomb, "1");
    EXPECT_NE(said.find("too costly"), std::string::npos) << said;
}

TEST(Schema, ANegatedBombIsOverBudgetToo) {
    std::string defs;
    for (int i = 0; i < 40; ++i) {
        const std::string next = "{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"}";
        defs += "\"d" + std::to_string(i) + "\":{\"anyOf\":[" + next + "," + next + "]},";
    }
    const std::string tail = ",\"$defs\":{" + defs + "\"d40\":{\"type\":\"null\"}}}";
    EXPECT_EQ(verdict_of(schema_of("{\"not\":{\"$ref\":\"#/$defs/d0\"}" + tail), "1"), Verdict::over_budget);
    EXPECT_EQ(
        verdict_of(schema_of("{\"if\":{\"$ref\":\"#/$defs/d0\"},\"then\":false,\"else\":true" + tail), "1"),
        Verdict::over_budget);
    EXPECT_EQ(
        verdict_of(
            schema_of("{\"contains\":{\"$ref\":\"#/$defs/d0\"},\"minContains\":0,\"maxContains\":5" + tail),
            "[1]"),
        Verdict::over_budget);
}

TEST(Schema, StopsAtADepthOfEvaluationThatIsSafe) {
    const Schema schema = schema_of(R"({"items":{"$ref":"#"}})");
    const std::string deep = std::string(900, '[') + std::string(900, ']');
    EXPECT_EQ(verdict_of(schema, deep), Verdict::valid);
    // A program can build what no text may hold.
    Value value;
    for (int i = 0; i < 5'000; ++i) value = Array{std::move(value)};
    Scratch scratch;
    EXPECT_EQ(schema.check(value, scratch), Verdict::over_budget);
    EXPECT_EQ(schema_of(R"({"uniqueItems":true})").check(Array{value, value}, scratch), Verdict::over_budget);
}

TEST(Schema, ChargesEveryPatternTriedOnEveryMember) {
    std::string patterns, members;
    for (int i = 0; i < 2'000; ++i) {
        patterns += (i == 0 ? "" : ",") + ("\"^x" + std::to_string(i) + "$\":{}");
        members += (i == 0 ? "" : ",") + ("\"m" + std::to_string(i) + "\":1");
    }
    EXPECT_EQ(verdict_of(schema_of("{\"patternProperties\":{" + patterns + "}}"), "{" + members + "}"),
              Verdict::over_budget);
}

TEST(Schema, SaysWhenItWasDepthAndNotLengthThatWasTooMuch) {
    std::string defs;
    for (int i = 0; i < 2'000; ++i)
        defs += "\"d" + std::to_string(i) + "\":{\"minLength\":0,\"$ref\":\"#/$defs/d" +
                std::to_string(i + 1) + "\"},";
    const Schema schema = schema_of("{\"$ref\":\"#/$defs/d0\",\"$defs\":{" + defs + "\"d2000\":{}}}");
    EXPECT_EQ(verdict_of(schema, "1"), Verdict::over_budget);
    EXPECT_NE(complaints(schema, "1").find("nested too deep"), std::string::npos);
}

TEST(Schema, SpendsLittleOnAnEvilPattern) {
    const Schema schema = schema_of(R"({"pattern":"^(a+)+$"})");
    EXPECT_EQ(verdict_of(schema, "\"" + std::string(100'000, 'a') + "!\""), Verdict::invalid);
}

TEST(Schema, AStepLimitIsAVerdictOfItsOwn) {
    CompileOptions options;
    options.limits.max_steps = 5;
    const Schema schema = schema_of(R"({"items":{"type":"integer"}})", options);
    EXPECT_EQ(verdict_of(schema, "[1,2]"), Verdict::valid);
    EXPECT_EQ(verdict_of(schema, "[1,2,3,4,5,6,7,8]"), Verdict::over_budget);
}

TEST(Schema, ReadsSchemasOfFortyRealToolsWorthOfKeywordsTogether) {
    const Schema schema = schema_of(R"({
        "$id":"https://tools.example/search","type":"object","additionalProperties":false,"required":["query"],
        "properties":{
            "query":{"type":"string","minLength":1,"maxLength":200,"pattern":"\\S"},
            "filters":{"type":"array","maxItems":3,"items":{"$ref":"#/$defs/filter"}},
            "page":{"type":"integer","minimum":1,"default":1},
            "sort":{"oneOf":[{"const":"relevance"},{"type":"object","required":["by"],"properties":{"by":{"enum":["date","size"]}}}]}},
        "$defs":{"filter":{"type":"object","required":["field","op"],"unevaluatedProperties":false,
            "properties":{"field":{"type":"string"},"op":{"enum":["eq","lt"]}},
            "if":{"properties":{"op":{"const":"lt"}}},"then":{"properties":{"value":{"type":"number"}},"required":["value"]},
            "else":{"properties":{"value":true}}}}})");
    EXPECT_TRUE(accepts(
        schema,
        R"({"query":"a","filters":[{"field":"x","op":"lt","value":1},{"field":"x","op":"eq","value":"s"}],"sort":{"by":"date"}})"));
    EXPECT_FALSE(accepts(schema, R"({"query":"a","filters":[{"field":"x","op":"lt","value":"1"}]})"));
    EXPECT_FALSE(accepts(schema, R"({"query":"a","filters":[{"field":"x","op":"eq","other":1}]})"));
    EXPECT_FALSE(accepts(schema, R"({"query":" "})"));
    EXPECT_FALSE(accepts(schema, R"({"query":"a","sort":"date"})"));
}

// The fast way, the text way and the explaining way are one engine: they never disagree.
RC_GTEST_PROP(Schema, EveryWayToAskGivesTheSameAnswer, ()) {
    static const std::vector<std::string> kSchemas = {
        R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"enum":[1,"x",null]}},"required":["a"]})",
        R"({"items":{"anyOf":[{"type":"string","minLength":1},{"type":"integer","multipleOf":2}]},"uniqueItems":true})",
        R"({"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":{"type":"boolean"}})",
        R"({"contains":{"const":1},"maxContains":1,"unevaluatedItems":false})",
        R"({"if":{"type":"array"},"then":{"minItems":1},"else":{"not":{"const":false}}})",
    };
    static const std::vector<std::string> kScalars = {"null", "true", "false", "0",     "1",  "1.0",
                                                      "2",    "2.5",  "\"\"",  "\"x\"", "[]", "{}"};
    const auto& schema_text = *rc::gen::elementOf(kSchemas);
    const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kScalars));
    std::string instance;
    const bool object = *rc::gen::arbitrary<bool>();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i != 0) instance += ",";
        if (object)
            instance +=
                "\"" + std::string(1, static_cast<char>('a' + i % 26)) + std::to_string(i / 26) + "\":";
        instance += parts[i];
    }
    instance = object ? "{" + instance + "}" : "[" + instance + "]";
    verdict_of(schema_of(schema_text), instance);
}

}  // namespace
}  // namespace callgate::schema
