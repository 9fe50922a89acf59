// Tools that answer at once: each kind of content, an error, and a schema with everything in it.
#include "fixtures.h"
#include "samples.h"

namespace conformance {
namespace {

using Blocks = std::vector<cg::Block>;

// A tool without arguments that always answers this.
cg::Tool constant(std::string name, std::string description, Blocks content) {
    return fixture(std::move(name), std::move(description), object_schema(),
                   [content = std::move(content)](const cg::Object&, cg::CallContext&) -> cg::ToolReturn {
                       return cg::ToolResult(content);
                   });
}

cg::Tool error_handling() {
    return fixture("test_error_handling", "Always fails", object_schema(),
                   [](const cg::Object&, cg::CallContext&) -> cg::ToolReturn {
                       return tl::unexpected(
                           cg::ToolFailure::answered("This tool intentionally returns an error for testing"));
                   });
}

cg::Tool schema_2020_12() {
    const auto schema = cg::json::parse(R"({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                              "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                       "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                       "phone": {"type": "string"}, "email": {"type": "string"}},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    })");
    return fixture("json_schema_2020_12_tool", "A tool whose schema uses what is new in JSON Schema 2020-12",
                   schema.value(), [](const cg::Object& arguments, cg::CallContext&) -> cg::ToolReturn {
                       return text("called with " + cg::json::write(arguments));
                   });
}

cg::Tool header_parameter() {
    cg::Object region = string_schema();
    region["x-mcp-header"] = "Region";
    return fixture("test_x_mcp_header", "Takes a parameter that a header repeats",
                   object_schema({{"region", std::move(region)}}),
                   [](const cg::Object& arguments, cg::CallContext&) -> cg::ToolReturn {
                       return text("called with " + cg::json::write(arguments));
                   });
}

cg::Tool greet() {
    return fixture(
        "greet", "Greets", object_schema({{"name", string_schema()}}),
        [](const cg::Object& arguments, cg::CallContext&) -> cg::ToolReturn {
            const cg::Value* name = arguments.if_contains("name");
            return text("Hello, " + (name == nullptr ? "you" : std::string(name->as_string())) + "!");
        });
}

}  // namespace

void add_content_tools(cg::Registry& tools) {
    const cg::Block image = cg::Block::of_image(png(), "image/png");
    tools
        .add_or_throw(constant("test_simple_text", "Answers with a text",
                               {cg::Block::of_text("This is a simple text response for testing.")}))
        .add_or_throw(constant("test_image_content", "Answers with an image", {image}))
        .add_or_throw(
            constant("test_audio_content", "Answers with a sound", {cg::Block::of_audio(wav(), "audio/wav")}))
        .add_or_throw(
            constant("test_embedded_resource", "Answers with a resource",
                     {cg::Block::of_resource("test://embedded-resource",
                                             "This is an embedded resource content.", "text/plain")}))
        .add_or_throw(
            constant("test_multiple_content_types", "Answers with a text, an image and a resource",
                     {cg::Block::of_text("Multiple content types test:"), image,
                      cg::Block::of_resource("test://mixed-content-resource",
                                             R"({"test":"data","value":123})", "application/json")}))
        .add_or_throw(error_handling())
        .add_or_throw(schema_2020_12())
        .add_or_throw(header_parameter())
        .add_or_throw(greet());
}

}  // namespace conformance
