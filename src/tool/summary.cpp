#include "tool/summary.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include <fmt/format.h>

#include "json/pointer.h"

namespace callgate {

namespace {

constexpr std::size_t kHops = 8;          // from one reference to the next
constexpr std::size_t kDeepestShown = 4;  // of nested types in one text
constexpr std::size_t kAlternatives = 6;  // shown of an enum or anyOf
constexpr std::size_t kLongestValue = 24;
constexpr std::size_t kMostSteps = 200'000;  // for one schema; after that every type is "any"

const Value* member(const Value& schema, std::string_view name) {
    const Object* object = schema.if_object();
    return object != nullptr ? object->if_contains(name) : nullptr;
}

// The schema that a chain of local references leads to; the last one that could be followed.
const Value& meant(const Value& schema, const Value& root) {
    const Value* at = &schema;
    for (std::size_t hops = 0; hops < kHops; ++hops) {
        const Value* reference = member(*at, "$ref");
        if (reference == nullptr || !reference->is_string()) break;
        const std::string_view text = reference->get_string();
        const Value* target = text.starts_with('#') ? json::find(root, text.substr(1)) : nullptr;
        if (target == nullptr) break;
        at = target;
    }
    return *at;
}

class TypeText {
public:
    explicit TypeText(const Value& root) : root_(root) {}

    std::string of(const Value& given, std::size_t depth = 0) {
        if (++steps_ > kMostSteps) return "any";
        const Value& schema = meant(given, root_);
        if (schema.is_bool()) return schema.get_bool() ? "any" : "never";
        if (depth >= kDeepestShown) return "any";
        if (const Value* constant = member(schema, "const")) return value_text(*constant);
        if (const Value* list = member(schema, "enum"); list != nullptr && list->is_array())
            return joined(list->get_array(), [](const Value& value) { return value_text(value); });
        const Value* type = member(schema, "type");
        if (type != nullptr && type->is_string()) return named(type->get_string(), schema, depth);
        if (type != nullptr && type->is_array())
            return type_of(type->get_array(), [&](const Value& name) {
                return name.is_string() ? named(name.get_string(), schema, depth) : std::string("any");
            });
        for (const std::string_view keyword : {"anyOf", "oneOf"}) {
            const Value* list = member(schema, keyword);
            if (list != nullptr && list->is_array())
                return type_of(list->get_array(), [&](const Value& form) { return of(form, depth + 1); });
        }
        if (const Value* list = member(schema, "allOf"); list != nullptr && list->is_array()) {
            for (const Value& part : list->get_array()) {
                if (std::string text = of(part, depth + 1); text != "any") return text;
            }
        }
        if (member(schema, "properties") != nullptr) return "object";
        if (member(schema, "items") != nullptr) return "array";
        return "any";
    }

private:
    std::string named(std::string_view name, const Value& schema, std::size_t depth) {
        const Value* items = member(schema, "items");
        if (name != "array" || items == nullptr || items->is_array()) return std::string(name);
        const std::string item = of(*items, depth + 1);
        if (item == "any") return "array";
        return item.find(' ') == std::string::npos ? item + "[]" : fmt::format("({})[]", item);
    }

    static std::string value_text(const Value& value) {
        if (value.is_object()) return "object";
        if (value.is_array()) return "array";
        std::string text = json::write(value);
        return text.size() <= kLongestValue ? text : "string";
    }

    // What else may stand where null may: that says more than null does.
    static std::string type_of(const Array& list, auto text_of) {
        std::string text = joined(list, text_of, "null");
        return text.empty() ? joined(list, text_of) : text;
    }

    static std::string joined(const Array& list, auto text_of, std::string_view except = {}) {
        std::vector<std::string> texts;
        bool more = false;
        for (const Value& value : list) {
            if (texts.size() == kAlternatives) {
                more = true;
                break;
            }
            std::string text = text_of(value);
            if (text != except && std::ranges::find(texts, text) == texts.end())
                texts.push_back(std::move(text));
        }
        if (texts.empty()) return except.empty() ? "any" : "";
        return fmt::format("{}{}", fmt::join(texts, " | "), more ? " | …" : "");
    }

    const Value& root_;
    std::size_t steps_ = 0;
};

bool is_plain_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
               c == '$';
    });
}

}  // namespace

std::string type_text(const Value& schema) {
    return TypeText(schema).of(schema);
}

std::vector<ParameterSummary> summarize_parameters(const Value& schema) {
    const Value& root = meant(schema, schema);
    std::vector<ParameterSummary> parameters;
    std::unordered_map<std::string_view, std::size_t> known;
    TypeText types(schema);
    const Value* properties = member(root, "properties");
    if (properties != nullptr && properties->is_object()) {
        for (const auto& entry : properties->get_object()) {
            ParameterSummary parameter;
            parameter.name = entry.key();
            parameter.type = types.of(entry.value());
            const Value* description = member(entry.value(), "description");
            if (description == nullptr) description = member(meant(entry.value(), schema), "description");
            if (description != nullptr && description->is_string())
                parameter.description = description->get_string();
            known.emplace(entry.key(), parameters.size());
            parameters.push_back(std::move(parameter));
        }
    }
    const Value* required = member(root, "required");
    if (required == nullptr || !required->is_array()) return parameters;
    for (const Value& name : required->get_array()) {
        if (!name.is_string()) continue;
        const std::string_view wanted = name.get_string();
        const auto [place, added] = known.emplace(wanted, parameters.size());
        if (added) parameters.push_back({std::string(wanted), "any", "", true});
        parameters[place->second].required = true;
    }
    return parameters;
}

std::string compact_form(std::string_view name, const std::vector<ParameterSummary>& parameters) {
    std::vector<std::string> parts;
    for (const ParameterSummary& parameter : parameters) {
        const std::string shown = is_plain_name(parameter.name)
                                      ? parameter.name
                                      : json::write(Value(std::string_view(parameter.name)));
        parts.push_back(fmt::format("{}{}: {}", shown, parameter.required ? "" : "?", parameter.type));
    }
    return fmt::format("{}({})", name, fmt::join(parts, ", "));
}

}  // namespace callgate
