#include "schema/defaults.h"

#include <string>

#include <gtest/gtest.h>

namespace callgate::schema {
namespace {

Value value_of(std::string_view text) {
    auto parsed = json::parse(text);
    EXPECT_TRUE(parsed) << text;
    return parsed ? std::move(*parsed) : Value();
}

std::string filled(std::string_view schema, std::string_view text) {
    Value value = value_of(text);
    Defaults(value_of(schema)).fill(value);
    return json::write(value);
}

TEST(Defaults, StandForAbsentMembers) {
    constexpr std::string_view kSchema = R"({"type":"object","properties":{
        "a":{},"b":{"default":5},"c":{"default":null},"d":{"default":[1]}}})";
    EXPECT_EQ(filled(kSchema, "{}"), R"({"b":5,"c":null,"d":[1]})");
    EXPECT_EQ(filled(kSchema, R"({"b":null,"c":1})"), R"({"b":null,"c":1,"d":[1]})") << "what is there stays";
    EXPECT_EQ(filled(kSchema, "[]"), "[]");
    EXPECT_TRUE(Defaults(value_of(R"({"properties":{"a":{"properties":{"b":{}}}}})")).empty());
    EXPECT_TRUE(Defaults(value_of("true")).empty());
    EXPECT_FALSE(Defaults(value_of(kSchema)).empty());
}

TEST(Defaults, ReachIntoObjectsAndArraysThatAreThere) {
    constexpr std::string_view kSchema = R"({"properties":{
        "options":{"properties":{"limit":{"default":10}}},
        "rows":{"items":{"properties":{"unit":{"default":"m"}}}},
        "pair":{"prefixItems":[{}, {"properties":{"x":{"default":0}}}]}}})";
    EXPECT_EQ(filled(kSchema, "{}"), "{}") << "nobody said that there are options";
    EXPECT_EQ(filled(kSchema, R"({"options":{},"rows":[{},{"unit":"s"},5],"pair":[{},{}]})"),
              R"({"options":{"limit":10},"rows":[{"unit":"m"},{"unit":"s"},5],"pair":[{},{"x":0}]})");
}

TEST(Defaults, ThatAreObjectsHaveTheirOwnDefaults) {
    EXPECT_EQ(filled(R"({"properties":{"o":{"default":{},"properties":{"limit":{"default":10}}}}})", "{}"),
              R"({"o":{"limit":10}})");
    EXPECT_EQ(filled(R"({"properties":{"next":{"default":{},"$ref":"#"}}})", "{}"), R"({"next":{}})")
        << "one that would contain itself stays as it is";
    EXPECT_EQ(filled(R"({"properties":{"next":{"$ref":"#"},"n":{"default":1}}})", R"({"next":{"next":{}}})"),
              R"({"next":{"next":{"n":1},"n":1},"n":1})");
}

TEST(Defaults, AreFoundThroughReferencesAndAllOf) {
    EXPECT_EQ(filled(R"({"$defs":{"n":{"default":3}},"properties":{"a":{"$ref":"#/$defs/n"}}})", "{}"),
              R"({"a":3})");
    EXPECT_EQ(filled(R"({"allOf":[{"properties":{"a":{"default":1}}},
                                  {"properties":{"a":{"default":2},"b":{"default":3}}}]})",
                     "{}"),
              R"({"a":1,"b":3})");
    EXPECT_EQ(filled(R"({"$ref":"#/$defs/x","$defs":{"x":{"$ref":"#/$defs/x"}}})", "{}"), "{}");
}

TEST(Defaults, ThatMayOrMayNotApplyAreLeftAlone) {
    for (const char* keyword : {"anyOf", "oneOf"}) {
        const std::string schema =
            std::string(R"({")") + keyword + R"(":[{"properties":{"a":{"default":1}}}]})";
        EXPECT_EQ(filled(schema, "{}"), "{}") << keyword;
    }
    EXPECT_EQ(filled(R"({"if":{},"then":{"properties":{"a":{"default":1}}},
                         "not":{"properties":{"b":{"default":1}}}})",
                     "{}"),
              "{}");
    EXPECT_EQ(filled(R"({"properties":{"a":{"$id":"https://x/y","$ref":"#/$defs/n"}},
                         "$defs":{"n":{"default":1}}})",
                     "{}"),
              "{}")
        << "another document's references are its own";
}

TEST(Defaults, AreTakenOutAgainByTheirPlaces) {
    const Value schema = value_of(R"({"properties":{
        "a":{"default":1},"o":{"properties":{"b/c":{"default":2}}},
        "rows":{"items":{"properties":{"u":{"default":3}}}}}})");
    const Value given = value_of(R"({"o":{},"rows":[{"u":9},{}]})");
    Value value = given;
    std::vector<std::string> places;
    EXPECT_EQ(Defaults(schema).fill(value, &places), 3u);
    EXPECT_EQ(places, (std::vector<std::string>{"/a", "/o/b~1c", "/rows/1/u"}));
    EXPECT_EQ(json::canonical(without(value, places)), json::canonical(given));
    EXPECT_EQ(without(Value(5), places), Value(5));
}

TEST(Defaults, CostOfASchemaIsBounded) {
    // Members that contain each other in every combination.
    Object properties;
    for (int i = 0; i < 40; ++i)
        properties.emplace("p" + std::to_string(i), Object{{"default", Object()}, {"$ref", "#"}});
    Value value = Object();
    Defaults(Object{{"properties", properties}}).fill(value);
    EXPECT_EQ(value.get_object().size(), 40u);
    EXPECT_EQ(value.at("p0"), Value(Object())) << "too many: each stays as it is written";
}

}  // namespace
}  // namespace callgate::schema
