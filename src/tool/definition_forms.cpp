#include "tool/definition_forms.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "json/pointer.h"
#include "tool/tool_name.h"

namespace callgate {

namespace {

constexpr std::array kFormLayouts{
    FormLayout{.form = DefinitionForm::mcp,
               .word = "mcp",
               .described = "MCP tool",
               .wrapper = "",
               .input = "inputSchema",
               .output = "outputSchema",
               .input_may_be_missing = false,
               .has_title = true,
               .has_strict = false,
               .name_beyond = "_.-",
               .longest_name = 128},
    FormLayout{.form = DefinitionForm::openai,
               .word = "openai",
               .described = "OpenAI Chat tool",
               .wrapper = "function",
               .input = "parameters",
               .output = "",
               .input_may_be_missing = true,
               .has_title = false,
               .has_strict = true,
               .name_beyond = "_-",
               .longest_name = 64},
    FormLayout{.form = DefinitionForm::responses,
               .word = "responses",
               .described = "OpenAI Responses tool",
               .wrapper = "",
               .input = "parameters",
               .output = "output_schema",
               .input_may_be_missing = true,
               .has_title = false,
               .has_strict = true,
               .name_beyond = "_-",
               .longest_name = 64},
    FormLayout{.form = DefinitionForm::anthropic,
               .word = "anthropic",
               .described = "Anthropic tool",
               .wrapper = "",
               .input = "input_schema",
               .output = "",
               .input_may_be_missing = false,
               .has_title = false,
               .has_strict = true,
               .name_beyond = "_-",
               .longest_name = 128},
    FormLayout{.form = DefinitionForm::gemini,
               .word = "gemini",
               .described = "Gemini function declaration",
               .wrapper = "",
               .input = "parametersJsonSchema",
               .output = "responseJsonSchema",
               .input_may_be_missing = true,
               .has_title = false,
               .has_strict = false,
               .name_beyond = "_.:-",
               .longest_name = 128},
    FormLayout{.form = DefinitionForm::bedrock,
               .word = "bedrock",
               .described = "Bedrock tool",
               .wrapper = "toolSpec",
               .input = "inputSchema",
               .output = "",
               .input_may_be_missing = false,
               .has_title = false,
               .has_strict = true,
               .name_beyond = "_-",
               .longest_name = 64},
    FormLayout{.form = DefinitionForm::bare,
               .word = "bare",
               .described = "bare tool definition",
               .wrapper = "",
               .input = "parameters",
               .output = "output_schema",
               .input_may_be_missing = false,
               .has_title = true,
               .has_strict = false,
               .name_beyond = "",
               .longest_name = 0},
};

static_assert(kFormLayouts.size() == static_cast<std::size_t>(DefinitionForm::bare) + 1);
static_assert([] {
    for (std::size_t i = 0; i < kFormLayouts.size(); ++i) {
        if (static_cast<std::size_t>(kFormLayouts[i].form) != i) return false;
    }
    return true;
}());

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

}  // namespace

std::span<const FormLayout> form_layouts() noexcept {
    return kFormLayouts;
}

const FormLayout& layout_of(DefinitionForm form) noexcept {
    return kFormLayouts[std::min(static_cast<std::size_t>(form), kFormLayouts.size() - 1)];
}

std::string_view to_string(DefinitionForm form) noexcept {
    return layout_of(form).word;
}

std::string_view describe(DefinitionForm form) noexcept {
    return layout_of(form).described;
}

std::optional<DefinitionForm> definition_form_from_string(std::string_view text) noexcept {
    const auto* const found = std::ranges::find(kFormLayouts, text, &FormLayout::word);
    if (found == kFormLayouts.end()) return std::nullopt;
    return found->form;
}

NameRules name_rules(DefinitionForm form) {
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const FormLayout& layout = layout_of(form);
    NameRules rules;
    if (layout.longest_name == 0) return rules;
    rules.max_bytes = layout.longest_name;
    rules.characters = fmt::format("{}0123456789{}", kLetters, layout.name_beyond);
    if (form == DefinitionForm::gemini) rules.first = fmt::format("{}_", kLetters);
    return rules;
}

std::optional<std::string> form_name_fault(std::string_view name, const FormLayout& layout) {
    if (name.empty()) return "is empty";
    if (layout.longest_name == 0) return std::nullopt;
    if (name.size() > layout.longest_name)
        return fmt::format("has {} bytes, and {} are allowed", name.size(), layout.longest_name);
    const auto* const other = std::ranges::find_if(name, [&](char c) {
        return !is_letter(c) && !is_digit(c) && layout.name_beyond.find(c) == std::string_view::npos;
    });
    if (other != name.end())
        return fmt::format("has '{}' at byte {}; letters, digits and any of \"{}\" are allowed",
                           shown_name({other, 1}), other - name.begin(), layout.name_beyond);
    if (layout.form == DefinitionForm::gemini && !is_letter(name.front()) && name.front() != '_')
        return "does not begin with a letter or '_'";
    return std::nullopt;
}

std::string shown_place(std::string_view pointer) {
    std::string shown;
    const auto parsed = json::Pointer::parse(pointer);
    if (!parsed) return std::string(pointer.substr(0, 64));
    for (const std::string& token : parsed->tokens()) {
        if (json::array_index(token)) {
            shown += fmt::format("[{}]", token);
        } else {
            if (!shown.empty()) shown += '.';
            shown += shown_name(token);
        }
    }
    return shown;
}

}  // namespace callgate
