// Tool definitions, read and written in the forms of MCP and of models' vendors.
//
// Reading: a document is one definition or many, in any form and in the envelopes they come in, all
// recognised by shape. Each definition is read whole or refused with its place and what to do. Its schema is
// read as it stands, except Gemini's `parameters` and `response`, a kind of their own: they become JSON
// Schema (types in lower case, `nullable` as a type, an INTEGER's or NUMBER's `enum` as numbers). What a
// vendor runs itself (web search, a shell of its own) is no definition, and is refused. Reading judges the
// form; whether a schema is sound is judged by registration, or by schema::Schema::compile.
//
// Writing: what is written says the same as the definition. A root's "type": "object" is added where
// it is missing, except in the bare form, which has the schema as it is; what a form has no place for is
// noted (Gemini has none for "$schema": a schema that means something else under 2020-12 is refused there); a
// name that its vendor does not take, or a schema that it would refuse, is refused here, with the reason.
// What was written gives the same definition when it is read again, as far as the form has places for it, and
// within the reader's limits.
//
// Threads: plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>
#include <callgate/tool.h>

namespace callgate {

enum class DefinitionForm : std::uint8_t {
    mcp,        ///< {name, title?, description?, inputSchema, outputSchema?, annotations?, …}
    openai,     ///< Chat Completions: {type: function, function: {name, description?, parameters?, strict?}}
    responses,  ///< OpenAI's: {type: function, name, description?, parameters, strict, output_schema?}
    anthropic,  ///< {name, description?, input_schema, strict?}
    gemini,     ///< {name, description?, parametersJsonSchema or parameters, responseJsonSchema?}
    bedrock,    ///< {toolSpec: {name, description?, inputSchema: {json}, strict?}}
    bare        ///< {name, title?, description?, parameters, output_schema?, annotations?, …}
};
std::string_view to_string(DefinitionForm form) noexcept;  ///< "mcp", "openai", …
std::optional<DefinitionForm> definition_form_from_string(std::string_view text) noexcept;

/// Which names a model's vendor takes. A name that is not one of them is written otherwise: what may not
/// stand there becomes '_', what is too long is cut, and a suffix that belongs to the tool alone makes it say
/// exactly which tool is meant (Registry::shown_definitions). The same tool has the same suffix in every
/// process.
struct NameRules {
    std::string characters;     ///< the ASCII characters that may stand in a name; "": all characters
    std::string first;          ///< those that a name may begin with; "": as `characters`
    std::size_t max_bytes = 0;  ///< 0: any length
    NameRules() {}
    friend bool operator==(const NameRules&, const NameRules&) = default;
};
/// Those of a form. `bare` takes all names.
NameRules name_rules(DefinitionForm form);

/// What exceeds them is refused. The document as a whole is bounded where it is parsed (json::ParseLimits).
struct DefinitionLimits {
    std::size_t max_definitions = 10'000;
    std::size_t max_depth = 128;       ///< of one definition
    std::size_t max_bytes = 1u << 20;  ///< of one definition, about as its text has
    DefinitionLimits() {}
};

/// A definition as it stood in a document.
struct ReadDefinition {
    ToolDefinition definition;
    DefinitionForm form = DefinitionForm::bare;
    bool strict = false;       ///< its vendor was asked to hold the model to the schema
    std::string input_place;   ///< JSON pointer to the schema of the arguments; "" if it was left out
    std::string output_place;  ///< the same of the output schema
    /// Members that a ToolDefinition has no place for (`cache_control`, …): not kept. MCP's and the bare form
    /// have none such: all that they have beside is ToolDefinition::extra. Not everything that was passed
    /// over: members of other forms may be missing here.
    std::vector<std::string> ignored;

    ReadDefinition() = default;
};

struct DefinitionEntry {
    std::string place;  ///< JSON pointer to it in the document: "/tools/3"
    Result<ReadDefinition> read;
};

struct DefinitionList {
    bool is_list = false;  ///< false: the document is one definition
    std::vector<DefinitionEntry> entries;
    /// A tools/list answer goes on: ask again with this cursor. An empty text is a cursor, too.
    std::optional<std::string> next_cursor;
    std::string cursor_place;  ///< JSON pointer to it

    DefinitionList() = default;
};

/// Every definition of a document by itself, in its order. Lists are arrays, {"tools": […]}, the answer to
/// MCP's tools/list or its result, Bedrock's toolConfig, and Gemini's [{"functionDeclarations": […]}]. Fails
/// where the document is neither a definition nor a list of them: config_error {reason: not_a_tool | bad_tool
/// | too_many_tools, place}.
Result<DefinitionList> read_definition_list(const Value& document, const DefinitionLimits& limits = {});

/// All of them or none: config_error {reason: not_a_tool | bad_tool | vendor_tool | too_deep | too_large |
/// too_many_tools | more_pages, place}. An answer that goes on (next_cursor) is not all, and refused.
Result<std::vector<ToolDefinition>> read_definitions(const Value& document,
                                                     const DefinitionLimits& limits = {});

/// The only one in the document.
Result<ToolDefinition> read_definition(const Value& document, const DefinitionLimits& limits = {});

struct DefinitionWriteOptions {
    /// Ask the vendor to hold the model to the schema: openai, responses, anthropic and bedrock. A schema
    /// that cannot be used so is refused: objects must be closed ("additionalProperties": false), OpenAI's
    /// must require all of their members, and some keywords are not known there.
    bool strict = false;
    DefinitionWriteOptions() {}
};

struct WrittenDefinition {
    Value document;
    /// What the form has no place for, and what some endpoints may object to: one sentence each.
    std::vector<std::string> notes;

    WrittenDefinition() = default;
};

/// One definition. config_error {reason: bad_name | bad_text | bad_schema | not_strict | …, form, place}
/// where the form cannot say it.
Result<WrittenDefinition> write_definition(const ToolDefinition& definition, DefinitionForm form,
                                           const DefinitionWriteOptions& options = {});

/// Many, as a request takes them: the value of `tools` (openai, responses, anthropic, gemini) or `toolConfig`
/// (bedrock), the result of tools/list (mcp), an array (bare). All or none; two of one name are refused.
Result<WrittenDefinition> write_definitions(const std::vector<ToolDefinition>& definitions,
                                            DefinitionForm form, const DefinitionWriteOptions& options = {});

/// A contract that follows from what a definition says of itself, for an operator to review. It is never
/// applied by itself: annotations are the claims of whoever wrote them.
struct ContractProposal {
    Contract contract;
    std::vector<std::string> reasons;  ///< one sentence for each hint that was used, or that could not be

    ContractProposal() = default;
};

/// From MCP's annotations: a hint that is absent counts as MCP's default (not read-only, destructive, not
/// idempotent, open world). Reads are proposed as `read` and low; what only adds, in a closed world, as
/// medium; everything else as high. The provider is `mcp`.
ContractProposal propose_contract(const ToolDefinition& definition);

}  // namespace callgate
