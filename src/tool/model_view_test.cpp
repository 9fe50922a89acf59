#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/runtime.h>
#include <callgate/views.h>

#include "base/utf8.h"
#include "tool/cut.h"

namespace callgate::views {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr std::size_t kLimit = 10'000;

std::string text(const Value& value) {
    return std::string(value.as_string());
}

TEST(FormatResult, SmallResultsAreUnchanged) {
    for (const Value& value : {Value("hello"), Value(Object{{"a", 1}, {"b", 2}}), Value(42), Value(true),
                               Value(nullptr), Value(1.5), Value(Array{1, "two"})}) {
        EXPECT_EQ(format_result(value), value);
    }
}

TEST(FormatResult, TextOfExactlyTheLimitIsUnchangedAndOneMoreIsCut) {
    EXPECT_EQ(format_result(Value(std::string(kLimit, 'x'))), Value(std::string(kLimit, 'x')));
    const std::string cut = text(format_result(Value(std::string(kLimit + 1, 'x'))));
    EXPECT_EQ(cut.size(), kLimit);
    EXPECT_THAT(cut, EndsWith("x... [truncated, 10001 bytes total]"));
}

TEST(FormatResult, LongTextSaysHowLongItWas) {
    const std::string cut = text(format_result(Value(std::string(15'000, 'x'))));
    EXPECT_THAT(cut, HasSubstr("[truncated, 15000 bytes total]"));
    EXPECT_LE(cut.size(), kLimit);
}

TEST(FormatResult, ACodePointIsNeverSplit) {
    for (std::size_t shift = 0; shift < 4; ++shift) {
        std::string long_text(shift, 'x');
        while (long_text.size() < 15'000) long_text += "\xF0\x9F\x98\x80";
        const std::string cut = text(format_result(Value(long_text)));
        EXPECT_TRUE(base::is_valid_utf8(cut)) << shift;
        EXPECT_LE(cut.size(), kLimit);
        EXPECT_GT(cut.size(), kLimit - 8);
    }
}

TEST(FormatResult, ALargeMapBecomesItsSizeAndItsFirstKeys) {
    const Value cut = format_result(Object{{"data", std::string(15'000, 'x')}, {"more", 1}});
    EXPECT_EQ(json::write(cut), R"({"truncated":true,"size_bytes":15020,"keys":["data","more"],)"
                                R"json("message":"Result map truncated (15020 bytes)"})json");
}

TEST(FormatResult, AtMostTenKeysOfALargeMapAreNamed) {
    Object many;
    for (int i = 0; i < 5'000; ++i) many.emplace("key" + std::to_string(i), i);
    const Value cut = format_result(many);
    ASSERT_EQ(cut.at("keys").as_array().size(), 10u);
    EXPECT_EQ(cut.at("keys").as_array().front(), Value("key0"));
    EXPECT_EQ(cut.at("keys").as_array().back(), Value("key9"));
}

TEST(FormatResult, ALargeListBecomesItsCountItsSizeAndASample) {
    Array many;
    for (int i = 0; i < 5'000; ++i) many.emplace_back(i);
    const Value cut = format_result(many);
    EXPECT_EQ(cut.at("truncated"), Value(true));
    EXPECT_EQ(cut.at("count"), Value(5'000));
    EXPECT_EQ(cut.at("size_bytes"), Value(json::write(many).size()));
    EXPECT_EQ(cut.at("sample"), Value(Array{0, 1, 2}));
    EXPECT_EQ(cut.at("message"), Value("Result list truncated (5000 items, " +
                                       std::to_string(json::write(many).size()) + " bytes)"));
}

TEST(FormatResult, HugeSampleItemsAreCutThemselves) {
    Array list;
    list.emplace_back(std::string(50'000, 'x'));
    list.emplace_back(Object{{"a", std::string(50'000, 'y')}});
    list.emplace_back(Array(20'000, Value(7)));
    const Value cut = format_result(list);
    EXPECT_LE(json::write(cut).size(), kLimit);
    const Array& sample = cut.at("sample").as_array();
    ASSERT_EQ(sample.size(), 3u);
    EXPECT_THAT(text(sample[0]), EndsWith("... [truncated, 50000 bytes total]"));
    EXPECT_EQ(sample[1].at("truncated"), Value(true));
    EXPECT_EQ(sample[2].at("count"), Value(20'000));
}

TEST(FormatResult, HugeKeysAreCut) {
    Object object;
    for (int i = 0; i < 12; ++i) object.emplace(std::to_string(i) + std::string(5'000, '"'), i);
    const Value cut = format_result(object);
    EXPECT_LE(json::write(cut).size(), kLimit);
    ASSERT_EQ(cut.at("keys").as_array().size(), 10u);
    EXPECT_THAT(text(cut.at("keys").as_array()[0]), EndsWith("..."));
}

TEST(FormatResult, ManyBytesThatNeedEscapesStillFit) {
    Array list;
    for (int i = 0; i < 3; ++i) list.emplace_back(std::string(9'000, '\x01'));
    EXPECT_LE(json::write(format_result(list)).size(), kLimit);
}

TEST(FormatResult, SmallBinaryDataIsBase64) {
    EXPECT_EQ(json::write(format_result(Value(std::string_view("\xFF\xFE\x00\x01", 4)))),
              R"({"type":"binary","encoding":"base64","data":"//4AAQ==","size_bytes":4})");
    EXPECT_EQ(format_result(Value(std::string(1'000, '\xff'))).at("encoding"), Value("base64"));
}

TEST(FormatResult, LargeBinaryDataIsDescribed) {
    EXPECT_EQ(json::write(format_result(Value(std::string(2'000, '\xff')))),
              R"json({"type":"binary","encoding":"description",)json"
              R"json("message":"Binary data (2000 bytes)","size_bytes":2000})json");
    EXPECT_EQ(format_result(Value(std::string(1'001, '\xff'))).at("encoding"), Value("description"));
}

TEST(FormatResult, TheBase64LimitCanBeRaisedTo7500) {
    Limits limits;
    limits.base64_bytes = 1'000'000;
    EXPECT_EQ(model(Value(std::string(2'000, '\xff')), limits).at("encoding"), Value("base64"));
    EXPECT_EQ(model(Value(std::string(7'500, '\xff')), limits).at("encoding"), Value("base64"));
    EXPECT_EQ(model(Value(std::string(7'501, '\xff')), limits).at("encoding"), Value("description"));
}

TEST(FormatResult, BinaryDataInsideAMapIsShownTheSameWay) {
    EXPECT_EQ(json::write(format_result(Object{{"name", "x"}, {"bytes", std::string(20'000, '\xff')}})),
              R"({"name":"x","bytes":{"type":"binary","encoding":"description",)"
              R"json("message":"Binary data (20000 bytes)","size_bytes":20000}})json");
}

TEST(FormatResult, AnAbsurdlySmallLimitIsRaised) {
    Limits limits;
    limits.model_bytes = 1;
    const Value cut = model(Object{{"data", std::string(15'000, 'x')}}, limits);
    EXPECT_EQ(cut.at("truncated"), Value(true));
    EXPECT_LE(json::write(cut).size(), 256u);
}

rc::Gen<std::string> any_text() {
    return rc::gen::mapcat(rc::gen::element<std::size_t>(3, 300, 12'000), [](std::size_t size) {
        return rc::gen::map(
            rc::gen::pair(rc::gen::element<std::string>("x", "\"", "\n", "\x02", "\xC3\xA9", "\xE2\x82\xAC",
                                                        "\xF0\x9F\x98\x80", "\xff"),
                          rc::gen::inRange<std::size_t>(0, size)),
            [](const auto& made) {
                std::string out;
                for (std::size_t i = 0; i < made.second; ++i) out += made.first;
                return out;
            });
    });
}

Value any_value(int depth) {
    const int kind = *rc::gen::inRange(0, depth > 0 ? 4 : 2);
    if (kind == 0) return Value(*any_text());
    if (kind == 1) return Value(*rc::gen::arbitrary<std::int64_t>());
    const int count = *rc::gen::inRange(0, 14);
    if (kind == 2) {
        Array out;
        for (int i = 0; i < count; ++i) out.push_back(any_value(depth - 1));
        return out;
    }
    Object out;
    for (int i = 0; i < count; ++i) out.emplace(*any_text(), any_value(depth - 1));
    return out;
}

RC_GTEST_PROP(FormatResultProperty, WhateverTheResultTheViewIsBoundedAndOfText, ()) {
    Limits limits;
    limits.model_bytes = *rc::gen::element<std::size_t>(256, 700, 10'000);
    limits.list_items = *rc::gen::inRange<std::size_t>(0, 20);
    limits.map_keys = *rc::gen::inRange<std::size_t>(0, 20);
    limits.base64_bytes = 60;
    const Value value = any_value(2);
    const Value view = model(value, limits);
    const std::string shown = view.is_string() ? text(view) : json::write(view);
    RC_ASSERT(shown.size() <= limits.model_bytes);
    RC_ASSERT(base::is_valid_utf8(shown));
}

TEST(Cut, CharactersAreCountedButACutTextIsBoundedInBytes) {
    std::string accents;
    for (int i = 0; i < 10; ++i) accents += "\xC3\xA9";
    EXPECT_EQ(cut_to_characters(accents, 10), accents);
    EXPECT_EQ(cut_to_characters(accents + "x", 10), accents.substr(0, 10));
    EXPECT_EQ(cut_to_characters(accents + "x", 10, "..."), accents.substr(0, 6) + "...");
    EXPECT_EQ(cut_to_characters("abc", 3, "..."), "abc");
    EXPECT_EQ(cut_to_bytes("abcdef", 2, "..."), "..");
}

TEST(NormalizeParams, NumbersInTextBecomeNumbers) {
    const Value schema = Object{{"type", "object"},
                                {"properties", Object{{"count", Object{{"type", "integer"}}},
                                                      {"value", Object{{"type", "number"}}}}}};
    EXPECT_EQ(*normalize_params(Object{{"count", "42"}}, schema), (Object{{"count", 42}}));
    EXPECT_EQ(*normalize_params(Object{{"value", "3.14"}}, schema), (Object{{"value", 3.14}}));
    EXPECT_EQ(*normalize_params(Object{}, schema), Object{});
    EXPECT_EQ(*normalize_params(nullptr, schema), Object{});
    EXPECT_EQ(*normalize_params(Value(R"({"count":"42"})"), schema), (Object{{"count", 42}}));
    EXPECT_EQ(*normalize_params(Object{{"count", "abc"}}, schema), (Object{{"count", "abc"}}));
    EXPECT_EQ(*normalize_params(Object{{"count", "42abc"}}, schema), (Object{{"count", "42abc"}}));
}

TEST(NormalizeParams, UndeclaredParametersAreLeftOutUnlessTheSchemaRulesOnThem) {
    Object schema{{"type", "object"}, {"properties", Object{{"a", Object{{"type", "integer"}}}}}};
    const Object params{{"a", 1}, {"b", 2}};
    EXPECT_EQ(*normalize_params(params, schema), (Object{{"a", 1}}));
    schema["additionalProperties"] = false;
    EXPECT_EQ(*normalize_params(params, schema), (Object{{"a", 1}}));
    schema["additionalProperties"] = Object{{"type", "integer"}};
    EXPECT_EQ(*normalize_params(params, schema), params);
    EXPECT_EQ(*normalize_params(params, Object{{"type", "object"}}), params);
}

TEST(NormalizeParams, WhatIsNoObjectAndWhatIsNoSchemaIsSaid) {
    const auto list = normalize_params(Array{1}, Object{{"type", "object"}});
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().code, ErrorCode::invalid_arguments);
    EXPECT_FALSE(normalize_params(Value("{bad json"), Object{{"type", "object"}}));
    const auto schema = normalize_params(Object{}, Object{{"type", "nonsense"}});
    ASSERT_FALSE(schema);
    EXPECT_EQ(schema.error().code, ErrorCode::config_error);
}

}  // namespace
}  // namespace callgate::views
