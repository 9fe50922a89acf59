#include <string>

#include <gtest/gtest.h>

#include "schema/schema_testing.h"

namespace callgate::schema {
namespace {

Schema closed(std::string_view text) {
    CompileOptions options;
    options.unknown_members = UnknownMembers::reject;
    return schema_of(text, options);
}

const char* const kTool = R"({"type":"object","required":["name"],"properties":{
    "name":{"type":"string"},"count":{"type":"integer"},"enabled":{"type":"boolean"},
    "format":{"enum":["a","b"]},"options":{"type":"object","required":["depth"],
        "properties":{"depth":{"type":"integer","minimum":1}},"additionalProperties":false}}})";

TEST(Explain, SpeaksTheSentencesAModelCanActOn) {
    const Schema schema = closed(kTool);
    EXPECT_EQ(complaints(schema, R"({"name":"test","count":5})"), "");
    EXPECT_EQ(complaints(schema, R"({"count":5})"), "Missing required parameter: name");
    EXPECT_EQ(complaints(schema, R"({"name":"x","count":"5"})"),
              "Parameter 'count' expected integer, got string");
    EXPECT_EQ(complaints(schema, R"({"name":"x","count":true})"),
              "Parameter 'count' expected integer, got boolean");
    EXPECT_EQ(complaints(schema, R"({"name":"x","format":"c"})"), "Parameter 'format' must be one of: a, b");
    EXPECT_EQ(complaints(schema, R"({"name":"x","other":1})"), "Unknown parameter: other");
    EXPECT_EQ(complaints(schema, R"({"name":"x","cuont":1})"),
              "Unknown parameter: cuont. Did you mean 'count'?");
    EXPECT_EQ(complaints(schema, "[]"), "The value expected object, got array");
}

TEST(Explain, CollectsEveryViolation) {
    const Explanation explanation =
        closed(kTool).explain(json_of(R"({"count":"wrong type","unknown":"value"})"));
    EXPECT_EQ(explanation.violations.size(), 3u) << to_text(explanation);
}

TEST(Explain, NamesNestedPlaces) {
    const Explanation explanation =
        closed(kTool).explain(json_of(R"({"name":"x","options":{"depth":0,"dept":1}})"));
    ASSERT_EQ(explanation.violations.size(), 2u) << to_text(explanation);
    EXPECT_EQ(explanation.violations[0].instance_path, "/options/depth");
    EXPECT_EQ(explanation.violations[0].schema_path, "#/properties/options/properties/depth/minimum");
    EXPECT_EQ(explanation.violations[0].keyword, "minimum");
    EXPECT_EQ(explanation.violations[0].message, "Parameter 'options.depth' must be at least 1");
    EXPECT_EQ(explanation.violations[1].message, "Unknown parameter: options.dept. Did you mean 'depth'?");
    EXPECT_EQ(complaints(closed(kTool), R"({"name":"x","options":{}})"),
              "Missing required parameter: options.depth");
}

TEST(Explain, HasASentenceForEveryKeyword) {
    const auto says = [](std::string_view schema, std::string_view instance) {
        CompileOptions options;
        options.assert_format = true;
        return complaints(schema_of(schema, options), instance);
    };
    EXPECT_EQ(says(R"({"minLength":2})", R"("é")"), "The value must have at least 2 characters");
    EXPECT_EQ(says(R"({"maxLength":1})", R"("ab")"), "The value must have at most 1 character");
    EXPECT_EQ(says(R"({"pattern":"^a"})", R"("b")"), "The value must match the pattern ^a");
    EXPECT_EQ(says(R"({"format":"date"})", R"("b")"), "The value must be a valid date");
    EXPECT_EQ(says(R"({"maximum":1.5})", "2"), "The value must be at most 1.5");
    EXPECT_EQ(says(R"({"exclusiveMinimum":0})", "0"), "The value must be greater than 0");
    EXPECT_EQ(says(R"({"exclusiveMaximum":3})", "3"), "The value must be less than 3");
    EXPECT_EQ(says(R"({"multipleOf":0.1})", "0.15"), "The value must be a multiple of 0.1");
    EXPECT_EQ(says(R"({"minItems":1})", "[]"), "The value must have at least 1 item, got 0");
    EXPECT_EQ(says(R"({"maxItems":1})", "[1,2]"), "The value must have at most 1 item, got 2");
    EXPECT_EQ(says(R"({"uniqueItems":true})", "[1,2,1.0]"),
              "The value must not repeat an item: items 0 and 2 are equal");
    EXPECT_EQ(says(R"({"contains":{"type":"string"}})", "[1]"),
              "The value must have at least 1 item of the required kind, got 0");
    EXPECT_EQ(says(R"({"contains":{"const":1},"maxContains":1})", "[1,1]"),
              "The value must have at most 1 item of the required kind, got 2");
    EXPECT_EQ(says(R"({"minProperties":1})", "{}"), "The value must have at least 1 member, got 0");
    EXPECT_EQ(says(R"({"maxProperties":0})", R"({"a":1})"), "The value must have at most 0 members, got 1");
    EXPECT_EQ(says(R"({"propertyNames":{"maxLength":1}})", R"({"ab":1})"),
              "Parameter name 'ab' is not allowed here");
    EXPECT_EQ(says(R"({"dependentRequired":{"a":["b"]}})", R"({"a":1})"),
              "Missing required parameter: b (needed because 'a' is given)");
    EXPECT_EQ(says(R"({"const":{"a":1}})", "2"), R"(The value must be: {"a":1})");
    EXPECT_EQ(says(R"({"not":{"type":"string"}})", R"("a")"), "The value has a value that is ruled out");
    EXPECT_EQ(says(R"({"properties":{"a":false}})", R"({"a":1})"), "Parameter 'a' is not allowed");
    EXPECT_EQ(says(R"({"prefixItems":[{}],"unevaluatedItems":false})", "[1,2]"),
              "Parameter '[1]' is one item too many");
    EXPECT_EQ(says(R"({"properties":{"a":{}},"unevaluatedProperties":false})", R"({"b":1})"),
              "Unknown parameter: b");
}

TEST(Explain, TellsWhichAlternativeComesClosest) {
    const Schema schema = schema_of(R"({"properties":{"to":{"anyOf":[
        {"type":"string","minLength":3},
        {"type":"object","required":["mail"],"properties":{"mail":{"type":"string"}}}]}}})");
    EXPECT_EQ(complaints(schema, R"({"to":5})"), "Parameter 'to' expected string or object, got integer");
    EXPECT_EQ(complaints(schema, R"({"to":{"mail":1}})"),
              "Parameter 'to' fits none of the 2 allowed forms; the closest is form 2\n"
              "Parameter 'to.mail' expected string, got integer");
    EXPECT_EQ(complaints(schema_of(R"({"oneOf":[{"minimum":1},{"maximum":5}]})"), "3"),
              "The value fits more than one of the 2 allowed forms; make it fit exactly one");
}

TEST(Explain, UsesTheMemberThatTellsAlternativesApart) {
    const Schema schema = schema_of(R"({"oneOf":[
        {"type":"object","required":["kind","radius"],"properties":{"kind":{"const":"circle"},"radius":{"type":"number"}}},
        {"type":"object","required":["kind","side"],"properties":{"kind":{"const":"square"},"side":{"type":"number"}}}]})");
    EXPECT_TRUE(accepts(schema, R"({"kind":"square","side":1})"));
    EXPECT_EQ(complaints(schema, R"({"kind":"circle","side":1})"), "Missing required parameter: radius");
    EXPECT_EQ(complaints(schema, R"({"kind":"line"})"), "Parameter 'kind' must be one of: circle, square");
    EXPECT_EQ(complaints(schema, R"({})"), "Parameter 'kind' must be one of: circle, square");
    EXPECT_EQ(complaints(schema, R"({"kind":1})"), "Parameter 'kind' must be one of: circle, square");
}

TEST(Explain, KeepsAtMostAsManyAsAsked) {
    const Schema schema = schema_of(R"({"items":{"type":"string"}})");
    const Explanation explanation = schema.explain(json_of("[1,2,3,4,5]"), 2);
    EXPECT_EQ(explanation.violations.size(), 2u);
    EXPECT_TRUE(explanation.truncated);
    EXPECT_FALSE(schema.explain(json_of("[1,2]"), 2).truncated);
}

TEST(Explain, CutsLongNamesAndLists) {
    const std::string many = [] {
        std::string list;
        for (int i = 0; i < 100; ++i) list += (i == 0 ? "" : ",") + ("\"v" + std::to_string(i) + "\"");
        return list;
    }();
    const std::string said = complaints(schema_of("{\"enum\":[" + many + "]}"), "1");
    EXPECT_NE(said.find("(and 80 more)"), std::string::npos) << said;
    const std::string key(10'000, 'x');
    const Schema closed_schema = schema_of(R"({"additionalProperties":false})");
    EXPECT_LT(complaints(closed_schema, "{\"" + key + "\":1}").size(), 300u);
    EXPECT_LE(closed_schema.explain(json_of("{\"" + key + "\":1}")).violations.at(0).instance_path.size(),
              4'096u);
}

}  // namespace
}  // namespace callgate::schema
