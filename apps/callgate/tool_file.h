// A tool definition in whichever form its file has it.
//
// Recognised by shape: MCP, OpenAI (Chat Completions and Responses), a plain function declaration, Anthropic,
// Bedrock, and a bare JSON Schema. A document that is none of them is refused rather than taken for a schema
// that accepts everything.
//
// Threads: plain values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>

namespace callgate::cli {

enum class ToolForm : std::uint8_t {
    mcp,          ///< {name, inputSchema, outputSchema?}
    openai,       ///< {type: function, function: {name, parameters}}
    openai_flat,  ///< {type: function, name, parameters}
    function,     ///< {name, parameters}
    anthropic,    ///< {name, input_schema}
    bedrock,      ///< {toolSpec: {name, inputSchema: {json}}}
    bare_schema
};

/// Stable, for programs: "mcp", "openai", …
std::string_view to_string(ToolForm form) noexcept;

/// For people: "MCP tool", "bare JSON Schema", …
std::string_view describe(ToolForm form) noexcept;

/// A schema and where in the file it stands.
struct PlacedSchema {
    Value schema;
    std::string place;  ///< JSON pointer
};

struct ToolFile {
    ToolForm form = ToolForm::bare_schema;
    std::string name;  ///< of a bare schema its title, which may be empty
    std::string description;
    PlacedSchema input;
    std::optional<PlacedSchema> output;
    std::vector<std::string>
        notes;  ///< what a consumer of this form would object to though the schema is fine
};

/// On failure: config_error, details.reason not_a_tool, tool_list or bad_tool, and details.path.
Result<ToolFile> recognise_tool(const Value& document);

/// The document as a bare schema, whatever it looks like.
ToolFile as_bare_schema(const Value& document);

}  // namespace callgate::cli
