#include "tool_file.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace callgate::cli {
namespace {

Result<ToolFile> recognise(std::string_view text) {
    return recognise_tool(json::parse(text).value());
}

std::string reason_of(const Result<ToolFile>& tool) {
    return tool ? "" : std::string(tool.error().details.at("reason").as_string());
}

TEST(ToolFile, McpToolHasAnInputAndAnOutputSchema) {
    const auto tool = recognise(R"({"name": "add", "description": "Adds",
        "inputSchema": {"type": "object"}, "outputSchema": {"type": "integer"}})");
    ASSERT_TRUE(tool);
    EXPECT_EQ(tool->form, ToolForm::mcp);
    EXPECT_EQ(tool->name, "add");
    EXPECT_EQ(tool->description, "Adds");
    EXPECT_EQ(tool->input.place, "/inputSchema");
    ASSERT_TRUE(tool->output);
    EXPECT_EQ(tool->output->place, "/outputSchema");
    EXPECT_EQ(tool->output->schema.at("type"), "integer");
    EXPECT_TRUE(tool->notes.empty());
}

TEST(ToolFile, OpenAiToolIsUnwrapped) {
    const auto tool = recognise(R"({"type": "function", "function": {"name": "add",
        "parameters": {"type": "object", "required": ["a"]}}})");
    ASSERT_TRUE(tool);
    EXPECT_EQ(tool->form, ToolForm::openai);
    EXPECT_EQ(tool->name, "add");
    EXPECT_EQ(tool->input.place, "/function/parameters");
    EXPECT_TRUE(tool->input.schema.as_object().contains("required"));
}

TEST(ToolFile, OpenAiToolMayBeFlat) {
    const auto tool = recognise(R"({"type": "function", "name": "add", "parameters": {"type": "object"}})");
    ASSERT_TRUE(tool);
    EXPECT_EQ(tool->form, ToolForm::openai_flat);
    EXPECT_EQ(tool->input.place, "/parameters");
}

TEST(ToolFile, OpenAiToolWithoutParametersTakesNone) {
    for (const auto* text : {R"({"type": "function", "name": "now"})",
                             R"({"type": "function", "name": "now", "parameters": null})",
                             R"({"type": "function", "function": {"name": "now"}})"}) {
        const auto tool = recognise(text);
        ASSERT_TRUE(tool) << text;
        EXPECT_TRUE(tool->input.schema.at("properties").as_object().empty()) << text;
    }
}

TEST(ToolFile, FunctionDeclarationNeedsNoType) {
    const auto tool = recognise(R"({"name": "add", "parameters": {"type": "object"}})");
    ASSERT_TRUE(tool);
    EXPECT_EQ(tool->form, ToolForm::function);
}

TEST(ToolFile, AnthropicTool) {
    const auto tool = recognise(R"({"name": "add", "input_schema": {"type": "object"}})");
    ASSERT_TRUE(tool);
    EXPECT_EQ(tool->form, ToolForm::anthropic);
    EXPECT_EQ(tool->input.place, "/input_schema");
}

TEST(ToolFile, BedrockToolIsUnwrappedTwice) {
    const auto tool =
        recognise(R"({"toolSpec": {"name": "add", "inputSchema": {"json": {"type": "object"}}}})");
    ASSERT_TRUE(tool);
    EXPECT_EQ(tool->form, ToolForm::bedrock);
    EXPECT_EQ(tool->input.place, "/toolSpec/inputSchema/json");
    EXPECT_EQ(tool->input.schema.at("type"), "object");
}

TEST(ToolFile, BareSchemaIsCalledByItsTitle) {
    const auto tool = recognise(R"({"title": "Address", "type": "object"})");
    ASSERT_TRUE(tool);
    EXPECT_EQ(tool->form, ToolForm::bare_schema);
    EXPECT_EQ(tool->name, "Address");
    EXPECT_EQ(tool->input.place, "");
}

TEST(ToolFile, BooleansAndTheEmptyObjectAreSchemas) {
    for (const auto* text : {"true", "false", "{}"}) {
        const auto tool = recognise(text);
        ASSERT_TRUE(tool) << text;
        EXPECT_EQ(tool->form, ToolForm::bare_schema);
    }
}

TEST(ToolFile, SchemaThatDescribesAToolIsStillASchema) {
    const auto tool = recognise(R"({"type": "object", "properties": {"name": true, "inputSchema": true}})");
    ASSERT_TRUE(tool);
    EXPECT_EQ(tool->form, ToolForm::bare_schema);
}

TEST(ToolFile, WhatIsNeitherIsRefusedInsteadOfAcceptingEverything) {
    for (const auto* text :
         {R"({"name": "add", "description": "a tool without a schema"})", R"({"colour": "red"})",
          R"({"name": "x", "schema": {"type": "object"}})", "null", "7", "\"text\""})
        EXPECT_EQ(reason_of(recognise(text)), "not_a_tool") << text;
}

TEST(ToolFile, AnythingCanBeForcedToBeASchema) {
    const ToolFile tool = as_bare_schema(json::parse(R"({"name": "add", "inputSchema": {}})").value());
    EXPECT_EQ(tool.form, ToolForm::bare_schema);
    EXPECT_TRUE(tool.input.schema.as_object().contains("inputSchema"));
}

TEST(ToolFile, ListsOfToolsAreRefusedWithAdvice) {
    EXPECT_EQ(reason_of(recognise("[]")), "tool_list");
    EXPECT_EQ(reason_of(recognise(R"({"tools": []})")), "tool_list");
}

TEST(ToolFile, BrokenToolsSayWhatIsMissing) {
    const auto expect_message = [](std::string_view text, std::string_view part) {
        const auto tool = recognise(text);
        ASSERT_FALSE(tool) << text;
        EXPECT_EQ(reason_of(tool), "bad_tool") << text;
        EXPECT_NE(tool.error().message.find(part), std::string::npos) << tool.error().message;
    };
    expect_message(R"({"inputSchema": {}})", "no 'name'");
    expect_message(R"({"name": 7, "inputSchema": {}})", "no 'name'");
    expect_message(R"({"name": "a", "inputSchema": null})", "no 'inputSchema'");
    expect_message(R"({"name": "a", "inputSchema": "string"})", "'inputSchema' is no JSON Schema");
    expect_message(R"({"name": "a", "inputSchema": {}, "outputSchema": 1})",
                   "'outputSchema' is no JSON Schema");
    expect_message(R"({"name": "a", "input_schema": []})", "'input_schema' is no JSON Schema");
    expect_message(R"({"type": "function", "function": []})", "'function' is no object");
    expect_message(R"({"type": "function", "function": {}})", "no 'name'");
    expect_message(R"({"toolSpec": {"name": "a", "inputSchema": {"type": "object"}}})", "no 'json'");
}

TEST(ToolFile, ARootThatIsNoObjectIsNoted) {
    EXPECT_EQ(recognise(R"({"name": "a", "inputSchema": {}})").value().notes.size(), 1u);
    EXPECT_TRUE(recognise(R"({"type": "string"})").value().notes.empty());
}

}  // namespace
}  // namespace callgate::cli
