#include "tool/vendor_schema.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "json/pointer.h"
#include "schema/keywords.h"
#include "tool/tool_name.h"

namespace callgate {

namespace {

using schema::Dialect;
using schema::Shape;

constexpr std::array<std::string_view, 6> kOpenAiNeverAtTop{"allOf", "anyOf", "const",
                                                            "enum",  "not",   "oneOf"};
constexpr std::array<std::string_view, 3> kAnthropicNeverAtTop{"allOf", "anyOf", "oneOf"};

constexpr std::array<std::string_view, 24> kOpenAiStrict{"$comment",
                                                         "$defs",
                                                         "$ref",
                                                         "$schema",
                                                         "additionalProperties",
                                                         "anyOf",
                                                         "const",
                                                         "definitions",
                                                         "description",
                                                         "enum",
                                                         "exclusiveMaximum",
                                                         "exclusiveMinimum",
                                                         "format",
                                                         "items",
                                                         "maxItems",
                                                         "maximum",
                                                         "minItems",
                                                         "minimum",
                                                         "multipleOf",
                                                         "pattern",
                                                         "properties",
                                                         "required",
                                                         "title",
                                                         "type"};
// Of the other vendors' grammars: bounds of numbers, lengths and counts cannot be expressed in them.
constexpr std::array<std::string_view, 19> kGrammarStrict{
    "$comment",    "$defs",    "$ref",   "$schema", "additionalProperties",
    "allOf",       "anyOf",    "const",  "default", "definitions",
    "description", "enum",     "format", "items",   "pattern",
    "properties",  "required", "title",  "type"};

template <class Names>
bool among(const Names& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

bool lists(const Array& array, std::string_view text) {
    return std::ranges::any_of(array,
                               [&](const Value& one) { return one.is_string() && one.get_string() == text; });
}

const schema::Keyword* keyword_of_any(std::string_view name) {
    for (const Dialect dialect : {Dialect::draft7, Dialect::draft2020_12, Dialect::draft2019_09}) {
        if (const schema::Keyword* const found = schema::find_keyword(name, dialect)) return found;
    }
    return nullptr;
}

using MaybeFault = std::optional<SchemaFault>;

// Calls `look` with every schema below and including this one, and its place, until it finds a fault.
template <class Look>
class SchemaWalk {
public:
    explicit SchemaWalk(const Look& look) : look_(look) {}

    MaybeFault walk(const Value& value, const std::string& place) const {
        if (MaybeFault fault = look_(value, place)) return fault;
        const Object* const object = value.if_object();
        if (object == nullptr) return {};
        for (const auto& member : *object) {
            const schema::Keyword* const keyword = keyword_of_any(member.key());
            if (keyword == nullptr) continue;
            std::string at = place;
            json::append_token(at, member.key());
            if (MaybeFault fault = below(keyword->shape, member.value(), at)) return fault;
        }
        return {};
    }

private:
    MaybeFault below(Shape shape, const Value& value, const std::string& place) const {
        switch (shape) {
            case Shape::schema: return walk(value, place);
            case Shape::schema_or_list: return value.is_array() ? list(value, place) : walk(value, place);
            case Shape::schema_list: return list(value, place);
            case Shape::schema_map:
            case Shape::pattern_map:
            case Shape::dependencies: return map(value, place);
            default: return {};
        }
    }

    MaybeFault list(const Value& value, const std::string& place) const {
        const Array* const array = value.if_array();
        for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
            std::string at = place;
            json::append_index(at, i);
            if (MaybeFault fault = walk((*array)[i], at)) return fault;
        }
        return {};
    }

    MaybeFault map(const Value& value, const std::string& place) const {
        const Object* const object = value.if_object();
        if (object == nullptr) return {};
        for (const auto& member : *object) {
            if (member.value().is_array()) continue;  // of dependencies: names
            std::string at = place;
            json::append_token(at, member.key());
            if (MaybeFault fault = walk(member.value(), at)) return fault;
        }
        return {};
    }

    const Look& look_;
};

template <class Look>
MaybeFault first_fault(const Object& schema, const Look& look) {
    return SchemaWalk<Look>(look).walk(Value(schema), "");
}

bool may_be_object(const Object& schema) {
    if (schema.contains("properties")) return true;
    const Value* const type = schema.if_contains("type");
    if (type == nullptr) return false;
    if (const Array* const several = type->if_array()) return lists(*several, "object");
    return *type == Value("object");
}

MaybeFault not_closed(const Object& schema, const std::string& place) {
    const Value* const more = schema.if_contains("additionalProperties");
    if (more != nullptr && *more == Value(false)) return {};
    return SchemaFault{place,
                       "A strict schema must be closed: add \"additionalProperties\": false to this object."};
}

MaybeFault not_required(const Object& schema, const std::string& place) {
    const Value* const properties = schema.if_contains("properties");
    if (properties == nullptr || !properties->is_object()) return {};
    const Value* const required = schema.if_contains("required");
    const Array* const names = required != nullptr ? required->if_array() : nullptr;
    for (const auto& member : properties->get_object()) {
        if (names != nullptr && lists(*names, member.key())) continue;
        return SchemaFault{place,
                           fmt::format("A strict schema must require all of its members, and '{}' is not "
                                       "required. Require it, and allow null where it may be missing.",
                                       shown_name(member.key()))};
    }
    return {};
}

// Recursion ends only at the limit of the grammar, so nothing is said about it.
MaybeFault strict_fault_here(const Value& value, const std::string& place, bool openai) {
    const Object* const object = value.if_object();
    if (object == nullptr) {
        if (value == Value(false) && place.ends_with("/additionalProperties")) return {};
        return SchemaFault{place, "A strict schema cannot say true or false here. Say which type it is."};
    }
    for (const auto& member : *object) {
        const std::string_view name = member.key();
        bool fine = openai ? among(kOpenAiStrict, name) : among(kGrammarStrict, name);
        if (!openai && name == "minItems") fine = member.value() == Value(0) || member.value() == Value(1);
        if (!fine)
            return SchemaFault{place, fmt::format("A strict schema cannot have '{}'. Write the tool without "
                                                  "strict: its arguments are checked either way.",
                                                  shown_name(name))};
    }
    if (!may_be_object(*object)) return {};
    if (MaybeFault fault = not_closed(*object, place)) return fault;
    return openai ? not_required(*object, place) : MaybeFault();
}

std::optional<Dialect> dialect_named_by(std::string_view uri) {
    if (uri.ends_with('#')) uri.remove_suffix(1);
    if (uri.starts_with("http://")) uri.remove_prefix(7);
    if (uri.starts_with("https://")) uri.remove_prefix(8);
    if (uri == "json-schema.org/draft/2020-12/schema") return Dialect::draft2020_12;
    if (uri == "json-schema.org/draft/2019-09/schema") return Dialect::draft2019_09;
    if (uri == "json-schema.org/draft-07/schema") return Dialect::draft7;
    return std::nullopt;
}

// What another dialect reads differently in this one schema.
MaybeFault differs_here(const Value& value, const std::string& place, Dialect dialect, bool has_contains) {
    const Object* const object = value.if_object();
    if (object == nullptr) return {};
    const auto other = [&](std::string_view name) {
        return SchemaFault{place,
                           fmt::format("'{}' means something else without \"$schema\", which this form does "
                                       "not take. Write the schema for 2020-12.",
                                       name)};
    };
    for (const auto& member : *object) {
        const std::string_view name = member.key();
        if (name == "$schema" && !place.empty()) return other(name);
        const schema::Keyword* const then = schema::find_keyword(name, dialect);
        const schema::Keyword* const now = schema::find_keyword(name, Dialect::draft2020_12);
        const schema::Keyword* const either = then != nullptr ? then : now;
        if (either == nullptr || either->vocabulary == schema::Vocabulary::metadata || name == "$defs" ||
            name == "definitions")
            continue;
        if ((then == nullptr) != (now == nullptr)) return other(name);
        if (name == "items" && member.value().is_array()) return other(name);
        // What `contains` finds counts as evaluated since 2020-12, and the two may be far apart.
        if (name == "unevaluatedItems" && has_contains) return other(name);
        if (dialect != Dialect::draft7) continue;
        if (name == "dependencies") return other(name);  // kept later for its form only
        if (name == "$id" && member.value().is_string() && member.value().get_string().starts_with('#'))
            return other(name);
        const bool counts = name != "$ref" && name != "$comment" && name != "$schema";
        if (counts && object->contains("$ref")) return other("$ref");
    }
    return {};
}

}  // namespace

std::optional<SchemaFault> input_schema_fault(const Object& schema, DefinitionForm form) {
    std::span<const std::string_view> never;
    if (form == DefinitionForm::openai || form == DefinitionForm::responses) never = kOpenAiNeverAtTop;
    if (form == DefinitionForm::anthropic) never = kAnthropicNeverAtTop;
    for (const std::string_view keyword : never) {
        if (!schema.contains(keyword)) continue;
        return SchemaFault{"", fmt::format("The vendor refuses '{}' at the top of a schema. Put it into one "
                                           "of the parameters, or describe in words what it says.",
                                           keyword)};
    }
    return {};
}

std::optional<SchemaFault> strict_schema_fault(const Object& schema, DefinitionForm form) {
    const bool openai = form == DefinitionForm::openai || form == DefinitionForm::responses;
    return first_fault(schema, [&](const Value& value, const std::string& place) {
        return strict_fault_here(value, place, openai);
    });
}

std::optional<SchemaFault> dialect_fault(const Object& schema) {
    const Value* const named = schema.if_contains("$schema");
    if (named == nullptr) return {};
    const auto dialect =
        named->is_string() ? dialect_named_by(std::string_view(named->get_string())) : std::nullopt;
    if (!dialect) return SchemaFault{"/$schema", "This is no dialect of JSON Schema that is known here."};
    if (*dialect == Dialect::draft2020_12) return {};
    const bool has_contains =
        first_fault(schema, [](const Value& value, const std::string& place) -> MaybeFault {
            const Object* const object = value.if_object();
            if (object == nullptr || !object->contains("contains")) return {};
            return SchemaFault{place, ""};
        }).has_value();
    return first_fault(schema, [&](const Value& value, const std::string& place) {
        return differs_here(value, place, *dialect, has_contains);
    });
}

}  // namespace callgate
