// The forms of tool definitions: where each keeps its parts, and which names its vendor takes. The only list;
// the reader and the writer go by it.
//
// Threads: constants and pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <callgate/definitions.h>

namespace callgate {

struct FormLayout {
    DefinitionForm form;
    std::string_view word;
    std::string_view described;  ///< for people: "MCP tool"
    std::string_view wrapper;    ///< the member that holds the parts; "" where they stand at the top
    std::string_view input;
    std::string_view output;       ///< "" where the form has none
    bool input_may_be_missing;     ///< the tool then takes no arguments
    bool has_title;                ///< and annotations, and whatever stands beside them
    bool has_strict;               ///< can ask for strict schemas
    std::string_view name_beyond;  ///< characters of names besides letters and digits; "" where any may stand
    std::size_t longest_name;
};

/// In the order of the enumerators.
std::span<const FormLayout> form_layouts() noexcept;
const FormLayout& layout_of(DefinitionForm form) noexcept;

/// "MCP tool", "OpenAI Chat tool", …
std::string_view describe(DefinitionForm form) noexcept;

/// What the form's vendor has against the name, as the end of a sentence; nothing if it takes it.
std::optional<std::string> form_name_fault(std::string_view name, const FormLayout& layout);

/// A JSON pointer as people write places: "/tools/3/inputSchema" is "tools[3].inputSchema".
std::string shown_place(std::string_view pointer);

}  // namespace callgate
