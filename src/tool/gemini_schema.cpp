#include "tool/gemini_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "json/pointer.h"
#include "tool/tool_name.h"

namespace callgate {

namespace {

struct GeminiType {
    std::string_view theirs;
    std::string_view ours;
};
constexpr std::array kGeminiTypes{GeminiType{"STRING", "string"},   GeminiType{"NUMBER", "number"},
                                  GeminiType{"INTEGER", "integer"}, GeminiType{"BOOLEAN", "boolean"},
                                  GeminiType{"ARRAY", "array"},     GeminiType{"OBJECT", "object"},
                                  GeminiType{"NULL", "null"}};

constexpr std::array<std::string_view, 6> kGeminiCounts{"maxItems", "maxLength", "maxProperties",
                                                        "minItems", "minLength", "minProperties"};
constexpr std::array<std::string_view, 9> kGeminiAsTheyAre{
    "default", "description", "enum", "format", "maximum", "minimum", "pattern", "required", "title"};

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

using Translated = tl::expected<Value, SchemaFault>;

tl::unexpected<SchemaFault> gemini_fault(std::string place, std::string message) {
    return tl::unexpected(SchemaFault{std::move(place), std::move(message)});
}

std::string place_below(std::string place, std::string_view token) {
    json::append_token(place, token);
    return place;
}

Translated count_of(const Value& given, const std::string& place) {
    if (given.is_int64() || given.is_uint64()) return given;
    if (const auto* text = given.if_string()) {
        std::uint64_t count = 0;
        const auto [end, error] = std::from_chars(text->begin(), text->end(), count);
        if (error == std::errc() && end == text->end()) return Value(count);
    }
    return gemini_fault(place, "This must be a whole number, or one as text.");
}

Translated translated_schema(const Value& given, const std::string& place, bool is_root);

tl::expected<Object, SchemaFault> all_translated(const Object& given, const std::string& place) {
    Object out;
    for (const auto& member : given) {
        CALLGATE_TRY_ASSIGN(out[member.key()],
                            translated_schema(member.value(), place_below(place, member.key()), false));
    }
    return out;
}

tl::expected<Array, SchemaFault> all_translated(const Array& given, const std::string& place) {
    Array out;
    for (std::size_t i = 0; i < given.size(); ++i) {
        std::string at = place;
        json::append_index(at, i);
        CALLGATE_TRY_ASSIGN(Value one, translated_schema(given[i], at, false));
        out.push_back(std::move(one));
    }
    return out;
}

// The named ones first, in that order; then the others as they stood.
Object in_order(Object properties, const Array& names) {
    Object out;
    for (const Value& name : names) {
        if (!name.is_string()) continue;
        if (Value* const found = properties.if_contains(name.get_string()))
            out.emplace(name.get_string(), *found);
    }
    for (auto& member : properties) out.emplace(member.key(), std::move(member.value()));
    return out;
}

void allow_null(Object& schema) {
    if (Value* const type = schema.if_contains("type"); type != nullptr && *type != Value("null"))
        *type = Array{*type, "null"};
    if (Value* const values = schema.if_contains("enum"); values != nullptr && values->is_array()) {
        Array& list = values->get_array();
        if (std::ranges::find(list, Value()) == list.end()) list.push_back(Value());
    }
    if (Value* const choices = schema.if_contains("anyOf"))
        choices->get_array().push_back(Object{{"type", "null"}});
}

// One schema, member by member.
class GeminiTranslation {
public:
    explicit GeminiTranslation(const std::string& place) : place_(place) {}

    tl::expected<void, SchemaFault> take(std::string_view name, const Value& value) {
        const std::string at = place_below(place_, name);
        if (name == "type") return take_type(value, at);
        if (is_one_of(kGeminiAsTheyAre, name)) {
            out_[name] = value;
        } else if (is_one_of(kGeminiCounts, name)) {
            CALLGATE_TRY_ASSIGN(out_[name], count_of(value, at));
        } else if (name == "nullable") {
            if (!value.is_bool()) return gemini_fault(at, "This must be true or false.");
            nullable_ = value.get_bool();
        } else if (name == "items") {
            CALLGATE_TRY_ASSIGN(out_[name], translated_schema(value, at, false));
        } else if (name == "properties") {
            if (!value.is_object()) return gemini_fault(at, "This must be an object of schemas.");
            CALLGATE_TRY_ASSIGN(out_[name], all_translated(value.get_object(), at));
        } else if (name == "anyOf") {
            if (!value.is_array()) return gemini_fault(at, "This must be an array of schemas.");
            CALLGATE_TRY_ASSIGN(out_[name], all_translated(value.get_array(), at));
        } else if (name == "example") {
            out_["examples"] = Array{value};
        } else if (name == "propertyOrdering" || name == "property_ordering") {
            if (!value.is_array()) return gemini_fault(at, "This must be an array of names.");
            order_ = &value.get_array();
        } else {
            return gemini_fault(at, fmt::format("Gemini's schemas have no '{}'. Give a JSON Schema, as "
                                                "'parametersJsonSchema'.",
                                                shown_name(name)));
        }
        return {};
    }

    tl::expected<Object, SchemaFault> finish(bool is_root) {
        CALLGATE_TRY(take_numbers());
        Value* const properties = out_.if_contains("properties");
        if (order_ != nullptr && properties != nullptr)
            *properties = in_order(std::move(properties->get_object()), *order_);
        if (nullable_ && !is_root) allow_null(out_);  // arguments are always an object
        return std::move(out_);
    }

private:
    // The texts of an enum, where the type is one of numbers.
    tl::expected<void, SchemaFault> take_numbers() {
        const Value* const type = out_.if_contains("type");
        Value* const values = out_.if_contains("enum");
        if (type == nullptr || values == nullptr || !values->is_array()) return {};
        if (*type != Value("integer") && *type != Value("number")) return {};
        Array& list = values->get_array();
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (!list[i].is_string()) continue;
            auto number = json::parse(std::string_view(list[i].get_string()));
            if (!number || !number->is_number()) {
                std::string at = place_below(place_, "enum");
                json::append_index(at, i);
                return gemini_fault(std::move(at), "This must be a number, or one as text, by its type.");
            }
            list[i] = std::move(*number);
        }
        return {};
    }

    tl::expected<void, SchemaFault> take_type(const Value& value, const std::string& at) {
        std::string type(value.is_string() ? std::string_view(value.get_string()) : std::string_view());
        for (char& c : type) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        if (type == "TYPE_UNSPECIFIED") return {};
        const auto* const found = std::ranges::find(kGeminiTypes, type, &GeminiType::theirs);
        if (found == kGeminiTypes.end())
            return gemini_fault(
                at,
                "This must be one of STRING, NUMBER, INTEGER, BOOLEAN, ARRAY, OBJECT, NULL. Several "
                "types, and all of JSON Schema, can be given as 'parametersJsonSchema'.");
        out_["type"] = found->ours;
        return {};
    }

    const std::string& place_;
    Object out_;
    const Array* order_ = nullptr;
    bool nullable_ = false;
};

Translated translated_schema(const Value& given, const std::string& place, bool is_root) {
    const Object* const object = given.if_object();
    if (object == nullptr) return gemini_fault(place, "A schema is an object here.");
    GeminiTranslation translation(place);
    for (const auto& member : *object) CALLGATE_TRY(translation.take(member.key(), member.value()));
    CALLGATE_TRY_ASSIGN(Object out, translation.finish(is_root));
    return Value(std::move(out));
}

}  // namespace

tl::expected<Value, SchemaFault> json_schema_of_gemini(const Value& given) {
    return translated_schema(given, "", true);
}

bool is_gemini_schema(const Value& schema) {
    const Object* const object = schema.if_object();
    const Value* const type = object != nullptr ? object->if_contains("type") : nullptr;
    if (type == nullptr || !type->is_string()) return false;
    return std::ranges::find(kGeminiTypes, std::string_view(type->get_string()), &GeminiType::theirs) !=
           kGeminiTypes.end();
}

}  // namespace callgate
