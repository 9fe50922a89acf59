#include "tool_file.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "schema/keywords.h"
#include "tool/definition_forms.h"

namespace callgate::cli {

namespace {

std::string_view string_in(const Object& object, std::string_view member) {
    const Value* value = object.if_contains(member);
    return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                  : std::string_view();
}

// Something that a schema can be judged by, so that its author must have meant one.
bool looks_like_schema(const Value& document) {
    if (document.is_bool()) return true;
    const Object* object = document.if_object();
    if (object == nullptr) return false;
    if (object->empty()) return true;
    return std::ranges::any_of(*object, [](const auto& entry) {
        return std::ranges::any_of(schema::all_keywords(), [&](const schema::Keyword& keyword) {
            return keyword.name == entry.key() && keyword.vocabulary != schema::Vocabulary::metadata;
        });
    });
}

void note_root_type(ToolInFile& tool) {
    const Object* root = tool.input.schema.if_object();
    if (root != nullptr && string_in(*root, "type") == "object") return;
    tool.notes.push_back(fmt::format(
        R"({}: the root should say "type": "object"; clients refuse the tool otherwise)", tool.input.place));
}

ToolInFile as_in_file(ReadDefinition read) {
    ToolInFile tool;
    tool.form = read.form;
    tool.name = std::move(read.definition.name);
    tool.description = std::move(read.definition.description);
    tool.input = {std::move(read.definition.input_schema), std::move(read.input_place)};
    if (read.definition.output_schema)
        tool.output = PlacedSchema{std::move(*read.definition.output_schema), std::move(read.output_place)};
    note_root_type(tool);
    return tool;
}

}  // namespace

std::string_view form_word(const ToolInFile& tool) noexcept {
    return tool.form ? to_string(*tool.form) : "bare_schema";
}

std::string_view form_words(const ToolInFile& tool) noexcept {
    return tool.form ? describe(*tool.form) : "bare JSON Schema";
}

ToolInFile as_bare_schema(const Value& document) {
    ToolInFile tool;
    if (const Object* object = document.if_object()) {
        tool.name = string_in(*object, "title");
        tool.description = string_in(*object, "description");
    }
    tool.input.schema = document;
    return tool;
}

Result<ToolFile> read_tool_file(const Value& document, const DefinitionLimits& limits) {
    ToolFile file;
    auto list = read_definition_list(document, limits);
    if (!list) {
        if (list.error().details.at("reason") != "not_a_tool") return tl::unexpected(std::move(list.error()));
        if (!looks_like_schema(document)) {
            list.error().message +=
                " Nor has it a keyword of JSON Schema; give --schema if it is meant as a schema "
                "nevertheless.";
            return tl::unexpected(std::move(list.error()));
        }
        file.tools.push_back({"", as_bare_schema(document)});
        return file;
    }
    file.is_list = list->is_list;
    for (DefinitionEntry& entry : list->entries)
        file.tools.push_back({std::move(entry.place), std::move(entry.read).map(as_in_file)});
    if (list->next_cursor)
        file.notes.emplace_back(
            "the list goes on at its nextCursor: these are not all of the server's tools");
    return file;
}

}  // namespace callgate::cli
