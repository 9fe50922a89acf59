#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schema/schema_testing.h"

namespace callgate::schema {
namespace {

struct Outcome {
    std::string value;
    std::string rules;
};

Outcome coerced(std::string_view schema, std::string_view instance,
                CoercionMode mode = CoercionMode::standard) {
    const Coerced result = schema_of(schema).coerce(json_of(instance), mode);
    std::string rules;
    for (const Coercion& change : result.changes)
        rules += (rules.empty() ? "" : " ") + change.instance_path + ":" + change.rule;
    return {json::write(result.value), rules};
}

TEST(Coerce, TurnsWholeStringsIntoNumbers) {
    const auto as_integer = [](std::string_view text) {
        return coerced(R"({"properties":{"n":{"type":"integer"}}})",
                       "{\"n\":" + json::write(Value(text)) + "}")
            .value;
    };
    EXPECT_EQ(as_integer("42"), R"({"n":42})");
    EXPECT_EQ(as_integer("-7"), R"({"n":-7})");
    for (const std::string_view text :
         {"abc", "42abc", "3.7", "", " 42", "42 ", "+42", "0x10", "042", "1e", "--1"})
        EXPECT_EQ(as_integer(text), "{\"n\":" + json::write(Value(text)) + "}") << text;
    EXPECT_EQ(coerced(R"({"type":"number"})", R"("3.14")").value, "3.14");
    EXPECT_EQ(coerced(R"({"type":"number"})", R"("3")").rules, ":string_to_number");
    EXPECT_EQ(coerced(R"({"type":"integer"})", R"("99999999999999999999999")").value,
              R"("99999999999999999999999")");
}

TEST(Coerce, LeavesValuesThatAreAlreadyValid) {
    EXPECT_EQ(coerced(R"({"type":["string","integer"]})", R"("42")").value, R"("42")");
    EXPECT_EQ(coerced(R"({})", R"({"n":"42"})").value, R"({"n":"42"})");
    EXPECT_EQ(coerced(R"({"type":"number"})", "3").rules, "");
    EXPECT_EQ(coerced(R"({"anyOf":[{"type":"integer"},{"type":"string"}]})", R"("42")").value, R"("42")");
}

TEST(Coerce, TurnsWordsIntoBooleansOnlyInFullMode) {
    EXPECT_EQ(coerced(R"({"type":"boolean"})", R"("true")").value, R"("true")");
    EXPECT_EQ(coerced(R"({"type":"boolean"})", R"("true")", CoercionMode::full).value, "true");
    EXPECT_EQ(coerced(R"({"type":"boolean"})", R"("false")", CoercionMode::full).value, "false");
    EXPECT_EQ(coerced(R"({"type":"boolean"})", R"("yes")", CoercionMode::full).value, R"("yes")");
    EXPECT_EQ(coerced(R"({"type":"boolean"})", "1", CoercionMode::full).value, "1");
}

TEST(Coerce, ReadsJsonTextWhereAnObjectOrArrayIsExpected) {
    const char* schema =
        R"({"properties":{"o":{"type":"object","properties":{"n":{"type":"integer"}}},"l":{"type":"array"}}})";
    const Outcome outcome = coerced(schema, R"({"o":"{\"n\":\"5\"}","l":"[1,2]"})");
    EXPECT_EQ(outcome.value, R"({"o":{"n":5},"l":[1,2]})");
    EXPECT_EQ(outcome.rules, "/o:json_text /o/n:string_to_integer /l:json_text");
    EXPECT_EQ(coerced(R"({"type":"object"})", R"("[1]")").value, R"("[1]")");
    EXPECT_EQ(coerced(R"({"type":"object"})", R"("{broken")").value, R"("{broken")");
}

TEST(Coerce, DropsNullWhereAnOptionalParameterDoesNotTakeIt) {
    const char* schema =
        R"({"required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":["string","null"]}}})";
    const Outcome outcome = coerced(schema, R"({"a":null,"b":null,"c":null,"d":null})");
    EXPECT_EQ(outcome.value, R"({"a":null,"c":null,"d":null})");
    EXPECT_EQ(outcome.rules, "/b:null_dropped");
}

TEST(Coerce, FollowsReferencesAndCombinators) {
    EXPECT_EQ(coerced(R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}})", R"("1")").value, "1");
    EXPECT_EQ(coerced(R"({"allOf":[{"properties":{"n":{"type":"integer"}}}]})", R"({"n":"1"})").value,
              R"({"n":1})");
    EXPECT_EQ(coerced(R"({"anyOf":[{"type":"object"},{"type":"integer"}]})", R"("1")").value, "1");
    EXPECT_EQ(coerced(R"({"items":{"type":"integer"}})", R"(["1",2,"x"])").value, R"([1,2,"x"])");
    EXPECT_EQ(coerced(R"({"prefixItems":[{"type":"integer"}]})", R"(["1","2"])").value, R"([1,"2"])");
    EXPECT_EQ(coerced(R"({"additionalProperties":{"type":"integer"}})", R"({"z":"1"})").value, R"({"z":1})");
    EXPECT_EQ(coerced(R"({"patternProperties":{"^n":{"type":"integer"}}})", R"({"n1":"1","m":"1"})").value,
              R"({"n1":1,"m":"1"})");
    EXPECT_EQ(coerced(R"({"if":{"required":["k"]},"then":{"properties":{"n":{"type":"integer"}}}})",
                      R"({"k":1,"n":"2"})")
                  .value,
              R"({"k":1,"n":2})");
}

TEST(Coerce, ChangesNothingWhereNoAlternativeCanBeReached) {
    const Outcome outcome =
        coerced(R"({"oneOf":[{"type":"integer","minimum":10},{"type":"null"}]})", R"("5")");
    EXPECT_EQ(outcome.value, R"("5")");
    EXPECT_EQ(outcome.rules, "");
}

// What is valid stays to the byte, whatever it is; what is changed is reported.
RC_GTEST_PROP(Coerce, ReportsExactlyWhenItChangesSomething, (std::int64_t n, bool quoted)) {
    const std::string number = std::to_string(n);
    const std::string instance = "{\"n\":" + (quoted ? "\"" + number + "\"" : number) + "}";
    const Outcome outcome = coerced(R"({"properties":{"n":{"type":"integer"}}})", instance);
    RC_ASSERT(outcome.value == "{\"n\":" + number + "}");
    RC_ASSERT(outcome.rules.empty() != quoted);
}

}  // namespace
}  // namespace callgate::schema
