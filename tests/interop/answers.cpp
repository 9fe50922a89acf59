// Tools that answer at once: every kind of content, structured content, failures, and what is known of the
// client.
#include "offers.h"

namespace interop {
namespace {

using Blocks = std::vector<cg::Block>;

cg::Tool echo() {
    return offer("echo", "Says it again", all_of({{"text", string_type()}}),
                 [](const cg::Object& given, cg::CallContext&) -> cg::ToolReturn {
                     return say(text_at(given, "text"));
                 });
}

// The value twice: as text, digit by digit, and as structured content.
cg::Tool exact() {
    return offer("exact", "Gives a value back as it came", all_of({{"value", cg::Object{}}}),
                 [](const cg::Object& given, cg::CallContext&) -> cg::ToolReturn {
                     cg::ToolResult result = say(cg::json::write(given.at("value")));
                     result.structured = cg::Object{{"value", given.at("value")}};
                     return result;
                 });
}

cg::Tool area() {
    const cg::Object number{{"type", "number"}};
    cg::Tool tool = offer("area", "The area of a rectangle", all_of({{"width", number}, {"height", number}}),
                          [](const cg::Object& given, cg::CallContext&) -> cg::ToolReturn {
                              const double area = given.at("width").to_number<double>() *
                                                  given.at("height").to_number<double>();
                              return cg::ToolResult(cg::Object{{"area", area}, {"unit", "m²"}});
                          });
    tool.definition.title = "Area";
    tool.definition.annotations = {{"title", "Area"}, {"readOnlyHint", true}, {"openWorldHint", false}};
    return std::move(tool).output(all_of({{"area", number}, {"unit", string_type()}}));
}

cg::Tool blocks() {
    return offer("blocks", "Answers with every kind of content", all_of(),
                 [](const cg::Object&, cg::CallContext&) -> cg::ToolReturn {
                     cg::Block noted = cg::Block::of_text("for the user");
                     noted.extra["annotations"] =
                         cg::Object{{"audience", cg::Array{"user"}}, {"priority", 0.5}};
                     return cg::ToolResult(
                         Blocks{std::move(noted), cg::Block::of_image(picture(), "image/png"),
                                cg::Block::of_audio("RIFF", "audio/wav"),
                                cg::Block::of_resource("interop://inside", "a text inside", "text/plain"),
                                cg::Block::of_binary_resource("interop://bytes", picture(), "image/png"),
                                cg::Block::of_link("interop://text", "text", "text/plain")});
                 });
}

cg::Tool failing() {
    return offer("failing", "Fails, and shows why", all_of(),
                 [](const cg::Object&, cg::CallContext&) -> cg::ToolReturn {
                     return tl::unexpected(
                         cg::ToolFailure::answered("It cannot be drawn.")
                             .with_content(Blocks{cg::Block::of_text("It cannot be drawn: see the picture."),
                                                  cg::Block::of_image(picture(), "image/png")}));
                 });
}

cg::Tool caller() {
    return offer("caller", "What is known of who calls", all_of(),
                 [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                     const auto* client = cg::mcp::caller(context);
                     if (client == nullptr) return say("nobody");
                     cg::ToolResult result = say("somebody");
                     const cg::Value* note = client->meta().if_contains("example.com/note");
                     result.structured = cg::Object{{"revision", client->revision()},
                                                    {"client", client->client_info()},
                                                    {"capabilities", client->capabilities()},
                                                    {"note", note == nullptr ? cg::Value() : *note}};
                     result.extra["_meta"] = cg::Object{{"example.com/answer", 42}};
                     return result;
                 });
}

// A client of the stateless era repeats the region in a header, over HTTP.
cg::Tool in_region() {
    cg::Object region = string_type();
    region["x-mcp-header"] = "Region";
    return offer("in_region", "Says a region that a header repeats", all_of({{"region", std::move(region)}}),
                 [](const cg::Object& given, cg::CallContext&) -> cg::ToolReturn {
                     return say("in " + text_at(given, "region"));
                 });
}

cg::Tool speak() {
    return offer("speak", "Logs one line at each of four levels", all_of(),
                 [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                     using cg::mcp::LogLevel;
                     const auto* client = cg::mcp::caller(context);
                     if (client == nullptr) return say("to nobody");
                     client->log(LogLevel::debug, "a detail", "interop");
                     client->log(LogLevel::info, cg::Object{{"step", 1}}, "interop");
                     client->log(LogLevel::warning, "a warning", "interop");
                     client->log(LogLevel::error, cg::Object{{"failed", true}});
                     return say("said");
                 });
}

}  // namespace

cg::Tool offer(std::string name, std::string description, cg::Value schema, cg::ToolFunction run) {
    return cg::schema_tool(cg::ToolDefinition(std::move(name), std::move(description), std::move(schema)),
                           std::move(run))
        .read_only()
        .risk(cg::Risk::low);
}

cg::Value all_of(cg::Object properties) {
    cg::Array names;
    for (const auto& [name, schema] : properties) {
        names.emplace_back(name);
    }
    cg::Object schema{{"type", "object"}, {"properties", std::move(properties)}};
    if (!names.empty()) schema["required"] = std::move(names);
    return schema;
}

cg::Object string_type() {
    return {{"type", "string"}};
}

cg::ToolResult say(std::string what) {
    return cg::ToolResult(Blocks{cg::Block::of_text(std::move(what))});
}

std::string text_at(const cg::Object& object, std::string_view name) {
    const cg::Value* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

void add_answers(cg::Registry& tools) {
    tools.add_or_throw(echo())
        .add_or_throw(exact())
        .add_or_throw(area())
        .add_or_throw(blocks())
        .add_or_throw(failing())
        .add_or_throw(caller())
        .add_or_throw(in_region())
        .add_or_throw(speak());
}

}  // namespace interop
