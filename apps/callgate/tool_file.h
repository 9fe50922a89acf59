// The tools of a file, in whichever form it has them (callgate/definitions.h), and bare JSON Schemas.
//
// A document that is neither is refused rather than taken for a schema that accepts everything.
//
// Threads: plain values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/definitions.h>
#include <callgate/error.h>
#include <callgate/json.h>

namespace callgate::cli {

/// A schema and where in the file it stands.
struct PlacedSchema {
    Value schema;
    std::string place;  ///< JSON pointer
};

struct ToolInFile {
    std::optional<DefinitionForm> form;  ///< nothing: a bare JSON Schema
    std::string name;                    ///< of a bare schema its title, which may be empty
    std::string description;
    PlacedSchema input;
    std::optional<PlacedSchema> output;
    std::vector<std::string>
        notes;  ///< what a consumer of this form would object to though the schema is fine
};

/// Stable, for programs: "mcp", "openai", …, "bare_schema".
std::string_view form_word(const ToolInFile& tool) noexcept;

/// For people: "MCP tool", …, "bare JSON Schema".
std::string_view form_words(const ToolInFile& tool) noexcept;

/// One tool of a file, and where it stands.
struct FoundTool {
    std::string place;  ///< JSON pointer
    Result<ToolInFile> tool;
};

struct ToolFile {
    bool is_list = false;
    std::vector<FoundTool> tools;  ///< one if it is no list
    std::vector<std::string> notes;
};

/// On failure, of the file or of one tool: as read_definition_list.
Result<ToolFile> read_tool_file(const Value& document, const DefinitionLimits& limits = {});

/// The document as a bare schema, whatever it looks like.
ToolInFile as_bare_schema(const Value& document);

}  // namespace callgate::cli
