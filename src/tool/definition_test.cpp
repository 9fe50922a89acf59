#include <gtest/gtest.h>

#include "tool/tool_testing.h"

namespace callgate {
namespace {

TEST(Definition, IsShownToModelsWithNameDescriptionAndParameters) {
    const ToolDefinition definition("add", "Add two numbers", json_of(R"({"type":"object"})"));
    EXPECT_EQ(json::write(definition.to_json()),
              R"({"name":"add","description":"Add two numbers","parameters":{"type":"object"}})");
}

TEST(Definition, ShowsTitleOutputSchemaAndAnnotationsWhereGiven) {
    ToolDefinition definition("add", "Add", json_of(R"({"type":"object"})"));
    definition.title = "Addition";
    definition.output_schema = json_of(R"({"type":"integer"})");
    definition.annotations = {{"readOnlyHint", true}};
    EXPECT_EQ(json::write(definition.to_json()),
              R"({"name":"add","title":"Addition","description":"Add","parameters":{"type":"object"},)"
              R"("output_schema":{"type":"integer"},"annotations":{"readOnlyHint":true}})");
}

TEST(Definition, WithoutASchemaOfItsOwnTakesAnyObject) {
    EXPECT_EQ(ToolDefinition().input_schema, json_of(R"({"type":"object"})"));
}

TEST(Definition, CompactFormIsOneLineOfParameters) {
    const ToolDefinition definition("write_file", "", json_of(R"({
        "type": "object", "required": ["path", "content"],
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}, "append": {"type": "boolean"}}})"));
    EXPECT_EQ(definition.compact(), "write_file(path: string, content: string, append?: boolean)");
}

TEST(Definition, CompactFormWithoutParametersIsEmpty) {
    EXPECT_EQ(ToolDefinition("now", "", Object{{"type", "object"}}).compact(), "now()");
}

}  // namespace
}  // namespace callgate
