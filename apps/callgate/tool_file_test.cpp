#include "tool_file.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace callgate::cli {
namespace {

// The only tool of a document, or why it is none.
Result<ToolInFile> recognise(std::string_view text) {
    auto file = read_tool_file(json::parse(text).value());
    if (!file) return tl::unexpected(std::move(file.error()));
    EXPECT_EQ(file->tools.size(), 1u) << text;
    return std::move(file->tools.front().tool);
}

std::string reason_of(const Result<ToolInFile>& tool) {
    return tool ? "" : std::string(tool.error().details.at("reason").as_string());
}

TEST(ToolFile, ToolsHaveTheirForm) {
    const auto tool = recognise(R"({"name": "add", "description": "Adds",
        "inputSchema": {"type": "object"}, "outputSchema": {"type": "integer"}})");
    ASSERT_TRUE(tool);
    EXPECT_EQ(form_word(*tool), "mcp");
    EXPECT_EQ(form_words(*tool), "MCP tool");
    EXPECT_EQ(tool->name, "add");
    EXPECT_EQ(tool->description, "Adds");
    EXPECT_EQ(tool->input.place, "/inputSchema");
    ASSERT_TRUE(tool->output);
    EXPECT_EQ(tool->output->place, "/outputSchema");
    EXPECT_EQ(tool->output->schema.at("type"), "integer");
    EXPECT_TRUE(tool->notes.empty());
}

TEST(ToolFile, ListsHaveAllOfTheirTools) {
    const auto file = read_tool_file(
        json::parse(R"({"result": {"tools": [{"name": "a", "inputSchema": {}}, 7], "nextCursor": "2"}})")
            .value());
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->is_list);
    ASSERT_EQ(file->tools.size(), 2u);
    EXPECT_EQ(file->tools[0].tool->input.place, "/result/tools/0/inputSchema");
    EXPECT_EQ(file->tools[1].place, "/result/tools/1");
    EXPECT_FALSE(file->tools[1].tool);
    EXPECT_EQ(file->notes.size(), 1u);  // it goes on
}

TEST(ToolFile, BareSchemaIsCalledByItsTitle) {
    const auto tool = recognise(R"({"title": "Address", "type": "object"})");
    ASSERT_TRUE(tool);
    EXPECT_EQ(form_word(*tool), "bare_schema");
    EXPECT_EQ(tool->name, "Address");
    EXPECT_EQ(tool->input.place, "");
}

TEST(ToolFile, BooleansAndTheEmptyObjectAreSchemas) {
    for (const auto* text : {"true", "false", "{}"}) {
        const auto tool = recognise(text);
        ASSERT_TRUE(tool) << text;
        EXPECT_FALSE(tool->form);
    }
}

TEST(ToolFile, SchemaThatDescribesAToolIsStillASchema) {
    const auto tool = recognise(R"({"type": "object", "properties": {"name": true, "inputSchema": true}})");
    ASSERT_TRUE(tool);
    EXPECT_FALSE(tool->form);
}

TEST(ToolFile, WhatIsNeitherIsRefusedInsteadOfAcceptingEverything) {
    for (const auto* text :
         {R"({"name": "add", "description": "a tool without a schema"})", R"({"colour": "red"})",
          R"({"name": "x", "schema": {"type": "object"}})", "null", "7", "\"text\""})
        EXPECT_EQ(reason_of(recognise(text)), "not_a_tool") << text;
}

TEST(ToolFile, AnythingCanBeForcedToBeASchema) {
    const ToolInFile tool = as_bare_schema(json::parse(R"({"name": "add", "inputSchema": {}})").value());
    EXPECT_FALSE(tool.form);
    EXPECT_TRUE(tool.input.schema.as_object().contains("inputSchema"));
}

TEST(ToolFile, BrokenToolsAreNotTakenForSchemas) {
    for (const auto* text : {R"({"inputSchema": {}})", R"({"name": "a", "inputSchema": "string"})",
                             R"({"type": "function", "function": {}})"})
        EXPECT_EQ(reason_of(recognise(text)), "bad_tool") << text;
}

TEST(ToolFile, ARootThatIsNoObjectIsNoted) {
    EXPECT_EQ(recognise(R"({"name": "a", "inputSchema": {}})").value().notes.size(), 1u);
    EXPECT_TRUE(recognise(R"({"type": "string"})").value().notes.empty());
}

}  // namespace
}  // namespace callgate::cli
