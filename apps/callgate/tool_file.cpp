#include "tool_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "schema/keywords.h"

namespace callgate::cli {

namespace {

std::string_view text_at(const Object& object, std::string_view member) {
    const Value* value = object.if_contains(member);
    return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                  : std::string_view();
}

tl::unexpected<Error> bad_tool(ToolForm form, std::string_view place, std::string_view problem) {
    return fail(ErrorCode::config_error, fmt::format("Not a usable {}: {}", describe(form), problem),
                {{"reason", "bad_tool"}, {"form", to_string(form)}, {"place", place}});
}

// Something that a schema can be judged by, so that its author must have meant one.
bool looks_like_schema(const Object& object) {
    if (object.empty()) return true;
    return std::ranges::any_of(object, [](const auto& entry) {
        return std::ranges::any_of(schema::all_keywords(), [&](const schema::Keyword& keyword) {
            return keyword.name == entry.key() && keyword.vocabulary != schema::Vocabulary::metadata;
        });
    });
}

// Where a form keeps its parts.
struct Layout {
    ToolForm form;
    std::string_view wrapper;  // "" where the parts stand at the top
    std::string_view input;
    std::string_view output;    // "" where the form has none
    bool input_may_be_missing;  // the tool then takes no arguments
};

constexpr std::array kLayouts = {
    Layout{ToolForm::mcp, "", "inputSchema", "outputSchema", false},
    Layout{ToolForm::openai, "/function", "parameters", "", true},
    Layout{ToolForm::openai_flat, "", "parameters", "", true},
    Layout{ToolForm::function, "", "parameters", "", false},
    Layout{ToolForm::anthropic, "", "input_schema", "", false},
    Layout{ToolForm::bedrock, "/toolSpec", "inputSchema", "", false},
};

const Layout& layout_of(ToolForm form) {
    return *std::ranges::find(kLayouts, form, &Layout::form);
}

Result<PlacedSchema> schema_of(const Layout& layout, const Object& parts) {
    std::string place = fmt::format("{}/{}", layout.wrapper, layout.input);
    const Value* schema = parts.if_contains(layout.input);
    if (schema == nullptr || schema->is_null()) {
        if (layout.input_may_be_missing)
            return PlacedSchema{{{"type", "object"}, {"properties", Object()}}, std::move(place)};
        return bad_tool(layout.form, place,
                        fmt::format("it has no '{}'. Add the schema of its arguments.", layout.input));
    }
    if (layout.form == ToolForm::bedrock) {
        const Object* holder = schema->if_object();
        place += "/json";
        schema = holder != nullptr ? holder->if_contains("json") : nullptr;
        if (schema == nullptr)
            return bad_tool(layout.form, place, "its 'inputSchema' has no 'json'. Put the schema there.");
    }
    if (!schema->is_object() && !schema->is_bool())
        return bad_tool(
            layout.form, place,
            fmt::format("its '{}' is no JSON Schema: a schema is an object or a boolean.", layout.input));
    return PlacedSchema{*schema, std::move(place)};
}

void note_root_type(ToolFile& tool) {
    const Object* root = tool.input.schema.if_object();
    if (root != nullptr && text_at(*root, "type") == "object") return;
    tool.notes.push_back(fmt::format(
        R"({}: the root should say "type": "object"; clients refuse the tool otherwise)", tool.input.place));
}

Result<ToolFile> read_tool(ToolForm form, const Object& parts) {
    const Layout& layout = layout_of(form);
    ToolFile tool;
    tool.form = form;
    tool.name = text_at(parts, "name");
    tool.description = text_at(parts, "description");
    if (tool.name.empty())
        return bad_tool(form, fmt::format("{}/name", layout.wrapper),
                        "it has no 'name', or the name is no text. Add one.");
    auto input = schema_of(layout, parts);
    if (!input) return tl::unexpected<Error>(std::move(input.error()));
    tool.input = std::move(*input);
    const Value* output = layout.output.empty() ? nullptr : parts.if_contains(layout.output);
    if (output != nullptr && !output->is_null()) {
        std::string place = fmt::format("{}/{}", layout.wrapper, layout.output);
        if (!output->is_object() && !output->is_bool())
            return bad_tool(form, place,
                            fmt::format("its '{}' is no JSON Schema: a schema is an object or a boolean.",
                                        layout.output));
        tool.output = PlacedSchema{*output, std::move(place)};
    }
    note_root_type(tool);
    return tool;
}

}  // namespace

std::string_view to_string(ToolForm form) noexcept {
    switch (form) {
        case ToolForm::mcp: return "mcp";
        case ToolForm::openai: return "openai";
        case ToolForm::openai_flat: return "openai_flat";
        case ToolForm::function: return "function";
        case ToolForm::anthropic: return "anthropic";
        case ToolForm::bedrock: return "bedrock";
        case ToolForm::bare_schema: break;
    }
    return "bare_schema";
}

std::string_view describe(ToolForm form) noexcept {
    switch (form) {
        case ToolForm::mcp: return "MCP tool";
        case ToolForm::openai: return "OpenAI tool";
        case ToolForm::openai_flat: return "OpenAI tool (flat form)";
        case ToolForm::function: return "function declaration";
        case ToolForm::anthropic: return "Anthropic tool";
        case ToolForm::bedrock: return "Bedrock tool";
        case ToolForm::bare_schema: break;
    }
    return "bare JSON Schema";
}

ToolFile as_bare_schema(const Value& document) {
    ToolFile tool;
    if (const Object* object = document.if_object()) {
        tool.name = text_at(*object, "title");
        tool.description = text_at(*object, "description");
    }
    tool.input.schema = document;
    return tool;
}

Result<ToolFile> recognise_tool(const Value& document) {
    if (document.is_bool()) return as_bare_schema(document);
    const Object* object = document.if_object();
    const bool wrapped_list = object != nullptr && object->contains("tools") && !looks_like_schema(*object);
    if (document.is_array() || wrapped_list)
        return fail(
            ErrorCode::config_error,
            "This is a list of tools, and one is checked at a time. Put one of them into a file of its own.",
            {{"reason", "tool_list"}});
    if (object == nullptr)
        return fail(ErrorCode::config_error,
                    "Neither a tool definition nor a JSON Schema: both are JSON objects.",
                    {{"reason", "not_a_tool"}});

    const Value* specification = object->if_contains("toolSpec");
    if (specification != nullptr && specification->is_object())
        return read_tool(ToolForm::bedrock, specification->get_object());
    if (text_at(*object, "type") == "function") {
        const Value* function = object->if_contains("function");
        if (function == nullptr) return read_tool(ToolForm::openai_flat, *object);
        if (!function->is_object())
            return bad_tool(ToolForm::openai, "/function", "its 'function' is no object.");
        return read_tool(ToolForm::openai, function->get_object());
    }
    if (object->contains("inputSchema")) return read_tool(ToolForm::mcp, *object);
    if (object->contains("input_schema")) return read_tool(ToolForm::anthropic, *object);
    if (object->contains("name") && object->contains("parameters"))
        return read_tool(ToolForm::function, *object);
    if (looks_like_schema(*object)) return as_bare_schema(document);
    return fail(
        ErrorCode::config_error,
        "Neither a tool definition nor a JSON Schema: there is no 'inputSchema', 'input_schema' or "
        "'parameters', and no keyword of JSON Schema. Give --schema if it is meant as a schema nevertheless.",
        {{"reason", "not_a_tool"}});
}

}  // namespace callgate::cli
