#include "mcp/client_headers.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "mcp/members.h"
#include "wire/header_value.h"

namespace callgate::mcp {
namespace {

constexpr std::string_view kHeaderKeyword = "x-mcp-header";
constexpr std::size_t kDeepestSchema = 64;

constexpr std::array<std::string_view, 12> kOneSchema{"items",
                                                      "contains",
                                                      "additionalProperties",
                                                      "propertyNames",
                                                      "unevaluatedItems",
                                                      "unevaluatedProperties",
                                                      "not",
                                                      "if",
                                                      "then",
                                                      "else",
                                                      "additionalItems",
                                                      "contentSchema"};
constexpr std::array<std::string_view, 4> kSchemaList{"anyOf", "oneOf", "allOf", "prefixItems"};
constexpr std::array<std::string_view, 4> kSchemaMap{"$defs", "definitions", "patternProperties",
                                                     "dependentSchemas"};

bool is_one_of(std::string_view key, std::span<const std::string_view> all) {
    return std::find(all.begin(), all.end(), key) != all.end();
}

/// Whether a header is declared where no list of properties leads.
bool declares_elsewhere(const Value& schema, bool reached, std::size_t depth) {
    const Object* object = schema.if_object();
    if (object == nullptr) return false;
    if (depth > kDeepestSchema) return true;  // nobody knows
    if (!reached && object->contains(kHeaderKeyword)) return true;
    const auto inside = [depth](const Value& one, bool still) {
        return declares_elsewhere(one, still, depth + 1);
    };
    for (const auto& [key, value] : *object) {
        if (key == "properties" || is_one_of(key, kSchemaMap)) {
            const Object* all = value.if_object();
            const bool still = reached && key == "properties";
            if (all != nullptr && std::any_of(all->begin(), all->end(), [&](const auto& member) {
                    return inside(member.value(), still);
                }))
                return true;
        } else if (value.is_object() && is_one_of(key, kOneSchema)) {
            if (inside(value, false)) return true;
        } else if (value.is_array() && (key == "items" || is_one_of(key, kSchemaList))) {
            const Array& all = value.get_array();
            if (std::any_of(all.begin(), all.end(), [&](const Value& one) { return inside(one, false); }))
                return true;
        }
    }
    return false;
}

const Value* argument_for(const ParamHeader& header, const Object& arguments) {
    const Object* in = &arguments;
    const Value* value = nullptr;
    for (const std::string& key : header.path) {
        value = in == nullptr ? nullptr : in->if_contains(key);
        if (value == nullptr || value->is_null()) return nullptr;
        in = value->if_object();
    }
    return value;
}

}  // namespace

Result<std::vector<ParamHeader>> read_param_headers(const Value& schema) {
    auto headers = param_headers_of(schema);
    if (headers && !declares_elsewhere(schema, true, 0)) return *std::move(headers);
    return fail(
        ErrorCode::config_error,
        "The tool's schema declares a header where it cannot be one: x-mcp-header is a name of its own "
        "for a string, an integer or a truth value that properties alone lead to.",
        {{"reason", "bad_header"}});
}

Result<std::vector<std::pair<std::string, std::string>>> write_param_headers(
    const std::vector<ParamHeader>& headers, const Object& arguments) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const ParamHeader& one : headers) {
        const Value* argument = argument_for(one, arguments);
        if (argument == nullptr) continue;
        const auto text = wire::value_of(*argument);
        if (!text)
            return fail(ErrorCode::invalid_arguments,
                        fmt::format("The argument for the header Mcp-Param-{} is none that a header can say.",
                                    one.name),
                        {{"reason", "header_value"}});
        all.emplace_back("Mcp-Param-" + one.name, *text);
    }
    return all;
}

std::string_view name_header_of(std::string_view method, const Object& params) {
    if (method == "tools/call" || method == "prompts/get") return string_member(params, "name");
    if (method == "resources/read") return string_member(params, "uri");
    if (method.starts_with("tasks/")) return string_member(params, "taskId");
    return {};
}

}  // namespace callgate::mcp
