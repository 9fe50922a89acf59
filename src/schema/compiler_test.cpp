#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "schema/schema_testing.h"

namespace callgate::schema {
namespace {

Error refusal(std::string_view schema, const CompileOptions& options = {}) {
    const auto compiled = Schema::compile(json_of(schema), options);
    return compiled ? Error(ErrorCode::internal, "it was accepted") : compiled.error();
}

std::string reason(std::string_view schema, const CompileOptions& options = {}) {
    const Error error = refusal(schema, options);
    EXPECT_TRUE(error.code == ErrorCode::config_error) << error.message;
    const auto* found = error.details.if_contains("reason");
    return found != nullptr ? std::string(found->as_string()) : error.message;
}

TEST(Compile, RefusesADocumentThatIsNoSchemaAndSaysWhere) {
    EXPECT_EQ(reason("3"), "not_a_schema");
    EXPECT_EQ(reason("[]"), "not_a_schema");
    const Error error =
        refusal(R"({"type":"object","properties":{"a":{"type":"strnig"},"b":{"minLength":-1}}})");
    EXPECT_EQ(error.code, ErrorCode::config_error);
    EXPECT_NE(error.message.find("/properties/a/type"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("must be one of: array, boolean"), std::string::npos) << error.message;
    EXPECT_NE(json::write(error.details).find("properties.b.minLength"), std::string::npos);
}

TEST(Compile, ChecksEveryKeywordAgainstTheMetaschema) {
    for (const std::string_view schema : {R"({"type":5})",
                                          R"({"type":[]})",
                                          R"({"type":["string","string"]})",
                                          R"({"enum":1})",
                                          R"({"required":"a"})",
                                          R"({"required":["a","a"]})",
                                          R"({"minimum":"1"})",
                                          R"({"multipleOf":0})",
                                          R"({"multipleOf":-1})",
                                          R"({"maxLength":1.5})",
                                          R"({"pattern":1})",
                                          R"({"items":[{}]})",
                                          R"({"prefixItems":[]})",
                                          R"({"allOf":[]})",
                                          R"({"anyOf":{}})",
                                          R"({"not":1})",
                                          R"({"if":"x"})",
                                          R"({"properties":[]})",
                                          R"({"properties":{"a":1}})",
                                          R"({"patternProperties":{"a":null}})",
                                          R"({"dependentRequired":{"a":[1]}})",
                                          R"({"dependentSchemas":{"a":[]}})",
                                          R"({"$ref":1})",
                                          R"({"$anchor":"1a"})",
                                          R"({"$defs":{"a":7}})",
                                          R"({"uniqueItems":1})",
                                          R"({"contains":[]})",
                                          R"({"minContains":-1})",
                                          R"({"title":1})",
                                          R"({"format":1})",
                                          R"({"unevaluatedProperties":"no"})",
                                          R"({"$vocabulary":{"a":1}})",
                                          R"({"readOnly":"yes"})"})
        EXPECT_EQ(reason(schema), "not_a_schema") << schema;
}

TEST(Compile, ChecksOlderDialectsByTheirOwnRules) {
    EXPECT_EQ(reason(R"({"$schema":"http://json-schema.org/draft-07/schema#","items":[1]})"), "not_a_schema");
    EXPECT_TRUE(
        Schema::compile(json_of(R"({"$schema":"http://json-schema.org/draft-07/schema#","items":[{}]})")));
    EXPECT_EQ(reason(R"({"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":1})"),
              "not_a_schema");
}

TEST(Compile, ChoosesTheDialectByDollarSchema) {
    EXPECT_EQ(schema_of("{}").dialect(), Dialect::draft2020_12);
    EXPECT_EQ(schema_of(R"({"$schema":"http://json-schema.org/draft-07/schema#"})").dialect(),
              Dialect::draft7);
    EXPECT_EQ(schema_of(R"({"$schema":"https://json-schema.org/draft/2019-09/schema"})").dialect(),
              Dialect::draft2019_09);
    CompileOptions options;
    options.default_dialect = Dialect::draft7;
    EXPECT_EQ(schema_of("{}", options).dialect(), Dialect::draft7);
    EXPECT_EQ(reason(R"({"$schema":"http://json-schema.org/draft-04/schema#"})"), "unknown_dialect");
}

TEST(Compile, NeverReachesForTheNetwork) {
    const Error error = refusal(R"({"$ref":"https://example.com/schema.json"})");
    EXPECT_EQ(error.details.at("reason").as_string(), "remote_ref");
    EXPECT_NE(error.message.find("never fetched"), std::string::npos);
    EXPECT_EQ(reason(R"({"$ref":"file:///etc/passwd"})"), "remote_ref");
}

TEST(Compile, FindsResourcesTheOperatorGives) {
    Resources resources;
    ASSERT_TRUE(
        resources.add("https://example.com/name.json", json_of(R"({"$defs":{"short":{"maxLength":3}}})")));
    CompileOptions options;
    options.resources = &resources;
    const Schema schema = schema_of(R"({"$ref":"https://example.com/name.json#/$defs/short"})", options);
    EXPECT_TRUE(accepts(schema, R"("abc")"));
    EXPECT_FALSE(accepts(schema, R"("abcd")"));
    EXPECT_FALSE(resources.add("no scheme", Value()));
    EXPECT_FALSE(resources.add("https://example.com/a#b", Value()));
}

TEST(Compile, RefusesAResourceThatIsNoSchema) {
    Resources resources;
    ASSERT_TRUE(resources.add("https://example.com/bad.json", json_of(R"({"type":1})")));
    CompileOptions options;
    options.resources = &resources;
    EXPECT_EQ(reason(R"({"$ref":"https://example.com/bad.json"})", options), "not_a_schema");
}

TEST(Compile, RefusesReferencesThatPointNowhere) {
    for (const std::string_view schema :
         {R"({"$ref":"#/$defs/none"})", R"({"$ref":"#none"})", R"({"$ref":"other.json"})",
          R"({"$ref":"urn:none"})", R"({"$ref":"#/$defs/a~2b"})", R"({"$ref":"#/title","title":"x"})",
          R"({"$dynamicRef":"#none"})"})
        EXPECT_EQ(reason(schema), "unresolved_ref") << schema;
}

TEST(Compile, RefusesReferencesThatGoInACircle) {
    for (const std::string_view schema :
         {R"({"$ref":"#"})",
          R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})",
          R"({"allOf":[{"$ref":"#"}]})", R"({"anyOf":[{"type":"string"},{"not":{"$ref":"#"}}]})",
          R"({"if":{"$ref":"#"}})", R"({"dependentSchemas":{"a":{"$ref":"#"}}})", R"({"$dynamicRef":"#"})",
          R"({"properties":{"x":{"oneOf":[{"$ref":"#/properties/x"},{"type":"null"}]}}})"})
        EXPECT_EQ(reason(schema), "cyclic_ref") << schema;
}

TEST(Compile, AllowsRecursionThatDescends) {
    const Schema tree = schema_of(
        R"({"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false})");
    EXPECT_TRUE(accepts(tree, R"({"children":[{"children":[]},{}]})"));
    EXPECT_FALSE(accepts(tree, R"({"children":[{"children":[{"x":1}]}]})"));
}

TEST(Compile, RefusesTwoSchemasWithOneIdentity) {
    EXPECT_EQ(reason(R"({"$id":"a#b"})"), "bad_id");
    EXPECT_EQ(reason(R"({"$defs":{"a":{"$id":"urn:x"},"b":{"$id":"urn:x"}}})"), "duplicate_id");
    EXPECT_EQ(reason(R"({"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}})"), "duplicate_anchor");
}

TEST(Compile, RefusesPatternsThatCannotRunInLinearTimeUnlessAllowed) {
    EXPECT_EQ(reason(R"x({"pattern":"(?=a)b"})x"), "unsupported_pattern");
    EXPECT_EQ(reason(R"({"pattern":"a("})"), "bad_pattern");
    EXPECT_EQ(reason(R"x({"patternProperties":{"(a)\\1":true}})x"), "unsupported_pattern");
    CompileOptions options;
    options.allow_pcre2 = true;
    const Schema schema = schema_of(R"x({"pattern":"^(?!.*secret)"})x", options);
    EXPECT_TRUE(accepts(schema, R"("open")"));
    EXPECT_FALSE(accepts(schema, R"("a secret")"));
}

TEST(Compile, HoldsItsLimits) {
    CompileOptions options;
    options.limits.max_schema_nodes = 10;
    EXPECT_EQ(reason(R"({"enum":[1,2,3,4,5,6,7,8,9,10]})", options), "too_large");
    options = {};
    options.limits.max_subschemas = 3;
    EXPECT_EQ(reason(R"({"allOf":[{},{},{}]})", options), "too_large");
    options = {};
    options.limits.max_pattern_bytes = 3;
    EXPECT_EQ(reason(R"({"pattern":"aaaa"})", options), "unsupported_pattern");

    std::string deep = "{}";
    for (int i = 0; i < 400; ++i) deep = R"({"not":)" + deep + "}";
    EXPECT_EQ(reason(deep), "too_deep");
}

TEST(Compile, BoundsWhatAllPatternsCostTogether) {
    std::string patterns;
    for (int i = 0; i < 300; ++i)
        patterns += (i == 0 ? "" : ",") +
                    ("\"^[^\\\\p{Lu}]{30,}[\\\\p{L}\\\\p{N}]{" + std::to_string(200 + i) + "}$\":{}");
    EXPECT_EQ(reason("{\"patternProperties\":{" + patterns + "}}"), "too_large");
}

TEST(Compile, FollowsALongChainOfReferencesOnce) {
    // Every link is asked for on its own, too: walking the rest of the chain each time would be quadratic.
    std::string defs = "\"d0\":{\"type\":\"integer\"}";
    std::string all;
    for (int i = 1; i <= 3'000; ++i) {
        const std::string n = std::to_string(i);
        defs += ",\"d" + n + "\":{\"$ref\":\"#/$defs/d" + std::to_string(i - 1) + "\"}";
        all += (i == 1 ? "" : ",") + ("{\"$ref\":\"#/$defs/d" + n + "\"}");
    }
    const Schema schema = schema_of("{\"allOf\":[" + all + "],\"$defs\":{" + defs + "}}");
    EXPECT_TRUE(accepts(schema, "1"));
    EXPECT_FALSE(accepts(schema, "true"));
}

TEST(Compile, KeepsItsMessagesShort) {
    const std::string far(1'000'000, 'x');
    EXPECT_LT(refusal("{\"$ref\":\"#/" + far + "\"}").message.size(), 2'000u);
    EXPECT_LT(refusal("{\"$ref\":\"https://example.com/" + far + "\"}").message.size(), 2'000u);
    EXPECT_LT(json::write(refusal("{\"properties\":{\"" + far + "\":{\"$ref\":\"#none\"}}}").details).size(),
              2'000u);
}

TEST(Compile, RefusesUnknownMembersWhereTheContractSaysSo) {
    CompileOptions closed;
    closed.unknown_members = UnknownMembers::reject;
    const auto unknown_ok = [&](std::string_view schema) {
        return accepts(schema_of(schema, closed), R"({"x":1})");
    };
    EXPECT_FALSE(unknown_ok(R"({"properties":{"a":{}}})"));
    EXPECT_FALSE(unknown_ok(R"({"type":"object","properties":{}})"));
    // Where the schema itself rules on other members, or might, it decides.
    EXPECT_TRUE(unknown_ok(R"({"type":"object"})"));
    EXPECT_TRUE(unknown_ok(R"({"properties":{"a":{}},"additionalProperties":true})"));
    EXPECT_TRUE(unknown_ok(R"({"properties":{"a":{}},"patternProperties":{"^b":{}}})"));
    EXPECT_TRUE(unknown_ok(R"({"properties":{"a":{}},"unevaluatedProperties":true})"));
    EXPECT_TRUE(unknown_ok(R"({"properties":{"a":{}},"allOf":[{}]})"));
    EXPECT_TRUE(unknown_ok(R"({"properties":{"a":{}},"$ref":"#/$defs/b","$defs":{"b":true}})"));
    // Only the top level is closed.
    EXPECT_TRUE(
        accepts(schema_of(R"({"properties":{"a":{"properties":{"b":{}}}}})", closed), R"({"a":{"x":1}})"));
}

TEST(Compile, OneSchemaDoesNotDependOnWhatItWasMadeFrom) {
    Value document = json_of(R"({"enum":["a",{"deep":[1]}],"$defs":{"x":{"const":[true]}}})");
    const auto schema = Schema::compile(document);
    ASSERT_TRUE(schema);
    document = nullptr;
    EXPECT_TRUE(accepts(*schema, R"({"deep":[1.0]})"));
}

}  // namespace
}  // namespace callgate::schema
