#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/definitions.h>

#include "json/test_value.h"
#include "tool/definition_forms.h"
#include "tool/tool_testing.h"

namespace callgate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kClosed =
    R"({"type":"object","properties":{"path":{"type":"string"}},"required":["path"],)"
    R"("additionalProperties":false})";

ToolDefinition read_tool(std::string_view schema = kClosed) {
    return ToolDefinition("read", "Read a file", json_of(schema));
}

ToolDefinition full_tool() {
    ToolDefinition tool = read_tool(R"({"type":"object"})");
    tool.title = "Reading";
    tool.output_schema = json_of(R"({"type":"string"})");
    tool.annotations = {{"readOnlyHint", true}};
    return tool;
}

DefinitionWriteOptions strictly() {
    DefinitionWriteOptions options;
    options.strict = true;
    return options;
}

std::string text_of_written(const ToolDefinition& tool, DefinitionForm form) {
    const auto written = write_definition(tool, form);
    return written ? json::write(written->document) : written.error().message;
}

// "reason place" of a refusal; the message is kept.
std::string message_of_writer;
std::string writer_refusal(const ToolDefinition& tool, DefinitionForm form,
                           const DefinitionWriteOptions& options = {}) {
    const auto written = write_definition(tool, form, options);
    if (written) return "written";
    EXPECT_EQ(written.error().code, ErrorCode::config_error);
    message_of_writer = written.error().message;
    const Object& details = written.error().details;
    return std::string(details.at("reason").as_string()) + ' ' + std::string(details.at("place").as_string());
}

TEST(DefinitionWriter, EveryFormIsWrittenAsItsReadersWantIt) {
    const ToolDefinition tool = full_tool();
    EXPECT_EQ(text_of_written(tool, DefinitionForm::mcp),
              R"({"name":"read","title":"Reading","description":"Read a file",)"
              R"("inputSchema":{"type":"object"},)"
              R"("outputSchema":{"type":"string"},"annotations":{"readOnlyHint":true}})");
    EXPECT_EQ(text_of_written(tool, DefinitionForm::openai),
              R"({"type":"function","function":{"name":"read","description":"Read a file",)"
              R"("parameters":{"type":"object"}}})");
    // Without it OpenAI would be strict.
    EXPECT_EQ(text_of_written(tool, DefinitionForm::responses),
              R"({"type":"function","name":"read","description":"Read a file",)"
              R"("parameters":{"type":"object"},)"
              R"("output_schema":{"type":"string"},"strict":false})");
    EXPECT_EQ(text_of_written(tool, DefinitionForm::anthropic),
              R"({"name":"read","description":"Read a file","input_schema":{"type":"object"}})");
    EXPECT_EQ(text_of_written(tool, DefinitionForm::gemini),
              R"({"name":"read","description":"Read a file","parametersJsonSchema":{"type":"object"},)"
              R"("responseJsonSchema":{"type":"string"}})");
    EXPECT_EQ(text_of_written(tool, DefinitionForm::bedrock),
              R"({"toolSpec":{"name":"read","description":"Read a file",)"
              R"("inputSchema":{"json":{"type":"object"}}}})");
    EXPECT_EQ(text_of_written(tool, DefinitionForm::bare), json::write(tool.to_json()));
}

TEST(DefinitionWriter, ListsAreWhatARequestTakes) {
    const std::vector<ToolDefinition> tools = {read_tool("{}")};
    const auto list = [&](DefinitionForm form) {
        return json::write(write_definitions(tools, form)->document);
    };
    EXPECT_THAT(list(DefinitionForm::mcp), testing::StartsWith(R"({"tools":[{"name")"));
    EXPECT_THAT(list(DefinitionForm::openai), testing::StartsWith(R"([{"type":"function")"));
    EXPECT_THAT(list(DefinitionForm::gemini), testing::StartsWith(R"([{"functionDeclarations":[{"name")"));
    EXPECT_THAT(list(DefinitionForm::bedrock), testing::StartsWith(R"({"tools":[{"toolSpec")"));
    // Gemini and Bedrock refuse empty lists of declarations and tools.
    EXPECT_EQ(json::write(write_definitions({}, DefinitionForm::gemini)->document), "[]");
    EXPECT_FALSE(write_definitions({}, DefinitionForm::bedrock));
    EXPECT_FALSE(write_definitions({read_tool(), read_tool()}, DefinitionForm::openai));
}

TEST(DefinitionWriter, WhatTheFormHasNoPlaceForIsNoted) {
    EXPECT_THAT(write_definition(full_tool(), DefinitionForm::mcp)->notes, IsEmpty());
    EXPECT_THAT(write_definition(full_tool(), DefinitionForm::anthropic)->notes,
                ElementsAre("read: the form anthropic has no place for its title, left out.",
                            "read: the form anthropic has no place for its output schema, left out.",
                            "read: the form anthropic has no place for its annotations, left out."));
    EXPECT_EQ(write_definition(full_tool(), DefinitionForm::responses)->notes.size(), 2u);
}

TEST(DefinitionWriter, NamesThatTheVendorDoesNotTakeAreRefused) {
    ToolDefinition tool = read_tool();
    tool.name = "files/read";
    for (const FormLayout& layout : form_layouts()) {
        const bool any = layout.form == DefinitionForm::mcp || layout.form == DefinitionForm::bare;
        EXPECT_EQ(writer_refusal(tool, layout.form), any ? "written" : "bad_name /name") << layout.word;
    }
    EXPECT_THAT(message_of_writer, HasSubstr("has '/' at byte 5"));
    EXPECT_EQ(write_definition(tool, DefinitionForm::mcp)->notes.size(), 1u);  // only recommended there
    tool.name = "files.read";
    EXPECT_EQ(writer_refusal(tool, DefinitionForm::gemini), "written");
    EXPECT_EQ(writer_refusal(tool, DefinitionForm::openai), "bad_name /name");
    tool.name = "7up";
    EXPECT_EQ(writer_refusal(tool, DefinitionForm::gemini), "bad_name /name");
    EXPECT_EQ(writer_refusal(tool, DefinitionForm::openai), "written");
    tool.name = std::string(65, 'n');
    EXPECT_EQ(writer_refusal(tool, DefinitionForm::openai), "bad_name /name");
    EXPECT_EQ(writer_refusal(tool, DefinitionForm::bedrock), "bad_name /name");
    EXPECT_EQ(write_definition(tool, DefinitionForm::anthropic)->notes.size(), 1u);
    tool.name.clear();
    EXPECT_EQ(writer_refusal(tool, DefinitionForm::bare), "bad_name /name");
}

TEST(DefinitionWriter, TheRootSaysThatArgumentsAreAnObject) {
    for (const char* const schema : {R"({"properties":{}})", R"({"properties":{},"type":["object"]})"})
        EXPECT_THAT(text_of_written(read_tool(schema), DefinitionForm::anthropic),
                    HasSubstr(R"({"properties":{},"type":"object"})"));
    EXPECT_EQ(writer_refusal(read_tool(R"({"type":"string"})"), DefinitionForm::mcp),
              "bad_schema /inputSchema/type");
    EXPECT_EQ(writer_refusal(read_tool("true"), DefinitionForm::mcp), "bad_schema /inputSchema");
}

TEST(DefinitionWriter, SchemasThatTheVendorWouldRefuseAreRefused) {
    const ToolDefinition choice =
        read_tool(R"({"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]})");
    EXPECT_EQ(writer_refusal(choice, DefinitionForm::openai), "bad_schema /function/parameters");
    EXPECT_THAT(message_of_writer, HasSubstr("'anyOf' at the top"));
    EXPECT_EQ(writer_refusal(choice, DefinitionForm::anthropic), "bad_schema /input_schema");
    EXPECT_EQ(writer_refusal(choice, DefinitionForm::gemini), "written");
    EXPECT_EQ(writer_refusal(choice, DefinitionForm::mcp), "written");
    const ToolDefinition excluded = read_tool(R"({"type":"object","not":{"required":["a","b"]}})");
    EXPECT_EQ(writer_refusal(excluded, DefinitionForm::responses), "bad_schema /parameters");
    EXPECT_EQ(writer_refusal(excluded, DefinitionForm::anthropic), "written");
    const ToolDefinition below = read_tool(R"({"type":"object","properties":{"a":{"anyOf":[true]}}})");
    EXPECT_EQ(writer_refusal(below, DefinitionForm::openai), "written");
}

TEST(DefinitionWriter, GeminiGetsNoDialectIfItMeansTheSameWithout) {
    const auto with = [](std::string_view dialect, std::string_view rest) {
        return read_tool(R"({"$schema":")" + std::string(dialect) + R"(","type":"object")" +
                         std::string(rest) + "}");
    };
    constexpr std::string_view k7 = "http://json-schema.org/draft-07/schema#";
    constexpr std::string_view k20 = "https://json-schema.org/draft/2020-12/schema";
    const auto of = [&](const ToolDefinition& tool) { return writer_refusal(tool, DefinitionForm::gemini); };
    EXPECT_THAT(text_of_written(with(k7, ""), DefinitionForm::gemini),
                HasSubstr(R"("parametersJsonSchema":{"type":"object"})"));
    EXPECT_THAT(text_of_written(with(k7, ""), DefinitionForm::mcp), HasSubstr("draft-07"));
    EXPECT_EQ(of(with(k20, R"(,"properties":{"a":{"prefixItems":[true]}})")), "written");
    EXPECT_EQ(of(with(k7, R"(,"properties":{"a":{"items":[true]}})")),
              "bad_schema /parametersJsonSchema/properties/a");
    EXPECT_EQ(of(with(k7, R"(,"properties":{"a":{"prefixItems":[true]}})")),
              "bad_schema /parametersJsonSchema/properties/a");
    EXPECT_EQ(of(with(k7, R"(,"dependencies":{"a":["b"]})")), "bad_schema /parametersJsonSchema");
    EXPECT_EQ(of(with(k7, R"(,"definitions":{"b":{}},"properties":{"a":{"$ref":"#/definitions/b"}})")),
              "written");
    EXPECT_EQ(of(with(k7, R"(,"properties":{"a":{"$ref":"#/definitions/b","minLength":1}})")),
              "bad_schema /parametersJsonSchema/properties/a");
    EXPECT_EQ(of(with(k7, R"(,"properties":{"a":{"$ref":"#/definitions/b","description":"x"}})")), "written");
    EXPECT_EQ(of(with("https://example.org/mine", "")), "bad_schema /parametersJsonSchema/$schema");
    constexpr std::string_view k19 = "https://json-schema.org/draft/2019-09/schema";
    EXPECT_EQ(of(with(k19, R"(,"properties":{"a":{"contains":{},"unevaluatedItems":false}})")),
              "bad_schema /parametersJsonSchema/properties/a");
    EXPECT_EQ(of(with(k19, R"(,"properties":{"a":{"contains":{}},"b":{"type":"null"}})")), "written");
    EXPECT_THAT(write_definition(with(k7, ""), DefinitionForm::gemini)->notes,
                ElementsAre("read: the form gemini has no place for its schema's \"$schema\", left out."));
}

TEST(DefinitionWriter, WhatNoReaderCouldReadIsRefused) {
    for (const Value& schema : {Value(5), Value(Array()), Value("object"), Value()}) {
        ToolDefinition tool = read_tool();
        tool.output_schema = schema;
        EXPECT_EQ(writer_refusal(tool, DefinitionForm::mcp), "bad_schema /outputSchema");
        EXPECT_EQ(writer_refusal(tool, DefinitionForm::responses), "bad_schema /output_schema");
        EXPECT_EQ(writer_refusal(tool, DefinitionForm::bare), "bad_schema /output_schema");
        EXPECT_EQ(writer_refusal(tool, DefinitionForm::openai), "written");  // without it
    }
    ToolDefinition number = read_tool();
    number.input_schema.as_object()["minProperties"] = std::numeric_limits<double>::quiet_NaN();
    ToolDefinition text = read_tool();
    text.description = "\xff";
    for (const FormLayout& layout : form_layouts()) {
        EXPECT_THAT(writer_refusal(number, layout.form), testing::EndsWith("/minProperties"));
        EXPECT_EQ(writer_refusal(text, layout.form), "bad_text /description");
    }
}

TEST(DefinitionWriter, OnlyTheBareFormKeepsASchemaWithoutItsType) {
    for (const FormLayout& layout : form_layouts()) {
        const bool typed =
            text_of_written(read_tool("{}"), layout.form).find(R"("type":"object")") != std::string::npos;
        EXPECT_EQ(typed, layout.form != DefinitionForm::bare) << layout.word;
    }
}

TEST(DefinitionWriter, StrictIsAskedForOnlyWhereTheSchemaAllowsIt) {
    const auto of = [](std::string_view schema, DefinitionForm form = DefinitionForm::openai) {
        return writer_refusal(read_tool(schema), form, strictly());
    };
    EXPECT_THAT(json::write(write_definition(read_tool(), DefinitionForm::openai, strictly())->document),
                HasSubstr(R"("strict":true)"));
    EXPECT_EQ(of(R"({"type":"object","properties":{}})"), "not_strict /function/parameters");
    EXPECT_THAT(message_of_writer, HasSubstr("additionalProperties"));
    const std::string_view optional =
        R"({"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false})";
    EXPECT_EQ(of(optional), "not_strict /function/parameters");
    EXPECT_THAT(message_of_writer, HasSubstr("'a' is not required"));
    EXPECT_EQ(of(optional, DefinitionForm::anthropic), "written");
    EXPECT_EQ(of(optional, DefinitionForm::bedrock), "written");
    const std::string_view bounded =
        R"({"type":"object","properties":{"a":{"type":"integer","minimum":1}},"required":["a"],)"
        R"("additionalProperties":false})";
    EXPECT_EQ(of(bounded), "written");
    EXPECT_EQ(of(bounded, DefinitionForm::anthropic), "not_strict /input_schema/properties/a");
    const std::string_view nested =
        R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},)"
        R"("required":["a"],"additionalProperties":false})";
    EXPECT_EQ(of(nested, DefinitionForm::anthropic), "not_strict /input_schema/properties/a/items");
    EXPECT_EQ(of(R"({"type":"object","properties":{"a":true},"required":["a"],)"
                 R"("additionalProperties":false})"),
              "not_strict /function/parameters/properties/a");
    EXPECT_EQ(of(R"({"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},"required":["a"],)"
                 R"("additionalProperties":false})"),
              "not_strict /function/parameters/properties/a");
    for (const DefinitionForm form : {DefinitionForm::mcp, DefinitionForm::gemini, DefinitionForm::bare})
        EXPECT_EQ(of(kClosed, form), "not_strict ");
}

TEST(DefinitionWriter, LongDescriptionsAreNoted) {
    ToolDefinition tool = read_tool();
    tool.description = std::string(1'025, 'x');
    EXPECT_EQ(write_definition(tool, DefinitionForm::openai)->notes.size(), 1u);
    EXPECT_THAT(write_definition(tool, DefinitionForm::anthropic)->notes, IsEmpty());
}

TEST(DefinitionWriter, WhatIsTooDeepIsRefused) {
    Value deep = Object();
    for (int i = 0; i < 300; ++i) deep = Object{{"not", std::move(deep)}};
    EXPECT_EQ(writer_refusal(ToolDefinition("a", "", deep), DefinitionForm::mcp), "too_deep ");
}

TEST(DefinitionWriter, WhatStandsBesideIsWrittenWhereThereIsAPlace) {
    ToolDefinition tool = read_tool(R"({"type":"object"})");
    tool.extra = {{"icons", Array{}}, {"_meta", {{"v", 1}}}};
    EXPECT_EQ(text_of_written(tool, DefinitionForm::mcp),
              R"({"name":"read","description":"Read a file","inputSchema":{"type":"object"},)"
              R"("icons":[],"_meta":{"v":1}})");
    EXPECT_EQ(text_of_written(tool, DefinitionForm::bare),
              R"({"name":"read","description":"Read a file","parameters":{"type":"object"},)"
              R"("icons":[],"_meta":{"v":1}})");
    EXPECT_EQ(text_of_written(tool, DefinitionForm::anthropic),
              R"({"name":"read","description":"Read a file","input_schema":{"type":"object"}})");
    EXPECT_THAT(write_definition(tool, DefinitionForm::anthropic)->notes,
                ElementsAre(HasSubstr(R"("icons", "_meta")")));
    EXPECT_FALSE(tool.to_json().get_object().contains("icons")) << "no model is shown them";
}

TEST(DefinitionWriter, AMemberWithoutANameIsOneLikeAnyOther) {
    ToolDefinition tool = read_tool(R"({"type":"object"})");
    tool.extra = {{"", 1}};
    for (const DefinitionForm form : {DefinitionForm::mcp, DefinitionForm::bare}) {
        const auto written = write_definition(tool, form);
        EXPECT_THAT(json::write(written->document), HasSubstr(R"(,"":1})"));
        EXPECT_TRUE(written->notes.empty());
    }
}

TEST(DefinitionWriter, NothingBesideTakesThePlaceOfTheDefinitionsOwn) {
    ToolDefinition tool = read_tool(R"({"type":"object"})");
    tool.extra = {{"name", "other"}, {"outputSchema", true}, {"toolSpec", 1}, {"input_schema", 2}};
    const auto written = write_definition(tool, DefinitionForm::mcp);
    EXPECT_EQ(json::write(written->document),
              R"({"name":"read","description":"Read a file","inputSchema":{"type":"object"}})");
    EXPECT_EQ(written->notes.size(), 1u);
    tool.extra = {{"_meta", std::numeric_limits<double>::infinity()}};
    EXPECT_EQ(writer_refusal(tool, DefinitionForm::mcp), "bad_schema /_meta");
}

// Names that every form takes, schemas that every form takes, and any texts.
rc::Gen<ToolDefinition> any_definition() {
    const auto name = rc::gen::suchThat(
        rc::gen::map(rc::gen::container<std::string>(rc::gen::elementOf(std::string("abzAZ_0-"))),
                     [](const std::string& rest) { return "t" + rest; }),
        [](const std::string& text) { return text.size() <= 64; });
    const auto value = rc::gen::scale(0.3, json::any_value());
    return rc::gen::map(
        rc::gen::tuple(name, json::any_text(), json::any_text(), value, value, rc::gen::arbitrary<bool>()),
        [](const std::tuple<std::string, std::string, std::string, Value, Value, bool>& parts) {
            ToolDefinition tool;
            tool.name = std::get<0>(parts);
            tool.description = std::get<1>(parts);
            tool.title = std::get<2>(parts);
            Object schema{{"type", "object"}, {"default", std::get<3>(parts)}};
            schema.emplace("properties", Object{{"p", Object{{"const", std::get<4>(parts)}}}});
            tool.input_schema = std::move(schema);
            if (std::get<5>(parts)) {
                tool.output_schema = Object{{"enum", Array{std::get<3>(parts), std::get<4>(parts)}}};
                tool.annotations = {{"x", std::get<4>(parts)}};
                tool.extra = {{"_meta", std::get<4>(parts)}, {"icons", Array{std::get<3>(parts)}}};
            }
            return tool;
        });
}

// What the form has places for.
ToolDefinition as_far_as(DefinitionForm form, ToolDefinition tool) {
    const FormLayout& layout = layout_of(form);
    if (!layout.has_title) {
        tool.title.clear();
        tool.annotations.clear();
        tool.extra.clear();
    }
    if (layout.output.empty()) tool.output_schema.reset();
    return tool;
}

RC_GTEST_PROP(DefinitionRoundTrip, WhatWasWrittenIsReadAsTheSame, ()) {
    const ToolDefinition tool = *any_definition();
    for (const FormLayout& layout : form_layouts()) {
        const auto written = write_definition(tool, layout.form);
        RC_ASSERT(written.has_value());
        // As text, so that what is written is JSON.
        const auto document = json::parse(json::write(written->document));
        RC_ASSERT(document.has_value());
        const auto list = read_definition_list(*document);
        RC_ASSERT(list.has_value());
        RC_ASSERT(list->entries.size() == 1U);
        RC_ASSERT(list->entries[0].read.has_value());
        const ReadDefinition& read = *list->entries[0].read;
        RC_ASSERT(read.form == layout.form);
        RC_ASSERT(read.ignored.empty());
        RC_ASSERT(json::write(read.definition.to_json()) ==
                  json::write(as_far_as(layout.form, tool).to_json()));
        RC_ASSERT(json::write(Value(read.definition.extra)) ==
                  json::write(Value(as_far_as(layout.form, tool).extra)));
        // And in the list of a request.
        const auto all = read_definitions(write_definitions({tool}, layout.form)->document);
        RC_ASSERT(all.has_value());
        RC_ASSERT(all->size() == 1U);
        RC_ASSERT(json::write(all->front().to_json()) == json::write(read.definition.to_json()));
    }
}

}  // namespace
}  // namespace callgate
