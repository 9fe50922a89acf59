#include "policy/schema_facts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace callgate::policy {

namespace {

constexpr int kDeepest = 16;

const Value* member(const Object& object, std::string_view name) {
    return object.if_contains(name);
}

std::optional<double> number(const Object& object, std::string_view name) {
    const Value* value = member(object, name);
    if (value == nullptr || !value->is_number()) return {};
    return value->to_number<double>();
}

bool contradicts(const Object& schema, std::string_view least, std::string_view most) {
    const auto low = number(schema, least);
    const auto high = number(schema, most);
    return low && high && *low > *high;
}

std::optional<std::string> never(const Value& schema, bool is_object, int depth);

// Keywords that are about one type only rule a value out only if it must be of that type.
bool must_be(const Object& schema, std::initializer_list<std::string_view> types) {
    const Value* type = member(schema, "type");
    if (type == nullptr) return false;
    const auto fits = [&](const Value& one) {
        return one.is_string() && std::ranges::find(types, std::string_view(one.get_string())) != types.end();
    };
    if (type->is_string()) return fits(*type);
    return type->is_array() && !type->get_array().empty() && std::ranges::all_of(type->get_array(), fits);
}

std::optional<std::string> never_by_range(const Object& schema, bool is_object) {
    const bool numbers = must_be(schema, {"integer", "number"});
    if (numbers && contradicts(schema, "minimum", "maximum")) return "minimum is above maximum";
    if (must_be(schema, {"string"}) && contradicts(schema, "minLength", "maxLength")) {
        return "minLength is above maxLength";
    }
    if (must_be(schema, {"array"}) && contradicts(schema, "minItems", "maxItems"))
        return "minItems is above maxItems";
    const bool object = is_object || must_be(schema, {"object"});
    if (object && contradicts(schema, "minProperties", "maxProperties"))
        return "minProperties is above maxProperties";
    const Value* required = member(schema, "required");
    const auto most = number(schema, "maxProperties");
    if (object && most && required != nullptr && required->is_array() &&
        static_cast<double>(required->get_array().size()) > *most) {
        return "more members are required than maxProperties allows";
    }
    return {};
}

std::optional<std::string> never_by_type(const Object& schema, bool is_object) {
    if (!is_object) return {};
    if (const Value* type = member(schema, "type")) {
        const auto object = [](const Value& one) { return one.is_string() && one.get_string() == "object"; };
        const bool possible =
            type->is_array() ? std::ranges::any_of(type->get_array(), object) : object(*type);
        if (!possible) return "arguments are an object, and its type is another";
    }
    if (const Value* all = member(schema, "enum"); all != nullptr && all->is_array()) {
        const auto object = [](const Value& one) { return one.is_object(); };
        if (std::ranges::none_of(all->get_array(), object))
            return "arguments are an object, and no value of enum is one";
    }
    if (const Value* one = member(schema, "const"); one != nullptr && !one->is_object()) {
        return "arguments are an object, and const is none";
    }
    return {};
}

std::optional<std::string> never_by_parts(const Object& schema, bool is_object, int depth) {
    if (const Value* all = member(schema, "allOf"); all != nullptr && all->is_array()) {
        for (const Value& one : all->get_array()) {
            if (auto why = never(one, is_object, depth + 1)) return why;
        }
    }
    for (const std::string_view name : {"anyOf", "oneOf"}) {
        const Value* any = member(schema, name);
        if (any == nullptr || !any->is_array() || any->get_array().empty()) continue;
        const auto cannot = [&](const Value& one) { return never(one, is_object, depth + 1).has_value(); };
        if (std::ranges::all_of(any->get_array(), cannot))
            return fmt::format("no branch of {} can be satisfied", name);
    }
    if (const Value* no = member(schema, "not"); no != nullptr && always_satisfied(*no)) {
        return "'not' excludes everything";
    }
    const Value* required = member(schema, "required");
    const Value* properties = member(schema, "properties");
    if (!is_object || required == nullptr || !required->is_array() || properties == nullptr ||
        !properties->is_object()) {
        return {};
    }
    for (const Value& name : required->get_array()) {
        if (!name.is_string()) continue;
        const Value* property = properties->get_object().if_contains(name.get_string());
        if (property == nullptr) continue;
        if (auto why = never(*property, false, depth + 1)) {
            return fmt::format("the required member '{}' can never be right: {}",
                               std::string_view(name.get_string()), *why);
        }
    }
    return {};
}

std::optional<std::string> never(const Value& schema, bool is_object, int depth) {
    if (schema.is_bool()) return schema.get_bool() ? std::nullopt : std::optional<std::string>("it is false");
    // Next to $ref draft-07 ignores everything, so nothing is certain.
    if (!schema.is_object() || depth > kDeepest || schema.get_object().contains("$ref")) return {};
    const Object& object = schema.get_object();
    if (auto why = never_by_type(object, is_object)) return why;
    if (auto why = never_by_range(object, is_object)) return why;
    return never_by_parts(object, is_object, depth);
}

constexpr std::array<std::string_view, 10> kRemarks{"$schema",     "$id",       "$comment", "title",
                                                    "description", "default",   "examples", "readOnly",
                                                    "writeOnly",   "deprecated"};

bool remark(std::string_view keyword) {
    return std::ranges::find(kRemarks, keyword) != kRemarks.end();
}

}  // namespace

std::optional<std::string> never_satisfied(const Value& schema) {
    return never(schema, true, 0);
}

bool always_satisfied(const Value& schema) {
    if (schema.is_bool()) return schema.get_bool();
    if (!schema.is_object()) return false;
    return std::ranges::all_of(schema.get_object(), [](const auto& one) { return remark(one.key()); });
}

std::optional<std::string> impossible_member(const Value& schema, const Value& tool_schema,
                                             bool open_arguments) {
    if (open_arguments || !schema.is_object() || !tool_schema.is_object()) return {};
    const Value* required = schema.get_object().if_contains("required");
    const Value* known = tool_schema.get_object().if_contains("properties");
    if (required == nullptr || !required->is_array() || known == nullptr || !known->is_object() ||
        schema.get_object().contains("$ref")) {
        return {};
    }
    // Only of a schema with nothing that could let other members in.
    for (const auto& one : tool_schema.get_object()) {
        const std::string_view keyword = one.key();
        const bool closed =
            keyword == "additionalProperties" && one.value().is_bool() && !one.value().get_bool();
        if (!closed && keyword != "type" && keyword != "properties" && keyword != "required" &&
            !remark(keyword))
            return {};
    }
    for (const Value& name : required->get_array()) {
        if (name.is_string() && !known->get_object().contains(name.get_string()))
            return std::string(name.get_string());
    }
    return {};
}

}  // namespace callgate::policy
