#include "schema/keywords.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "schema/names.h"

namespace callgate::schema {

namespace {

constexpr std::uint8_t k7 = 1, k19 = 2, k20 = 4;
constexpr std::uint8_t kAll = k7 | k19 | k20;
constexpr std::uint8_t kFrom19 = k19 | k20;

using enum Vocabulary;

// Sorted by name, so that rows with the same name stand together.
constexpr auto kTable = std::to_array<Keyword>({
    {"$anchor", core, kFrom19, Shape::anchor},
    {"$comment", core, kAll, Shape::string},
    {"$defs", core, kFrom19, Shape::schema_map},
    {"$dynamicAnchor", core, k20, Shape::anchor},
    {"$dynamicRef", core, k20, Shape::uri_reference},
    {"$id", core, kAll, Shape::id},
    {"$recursiveAnchor", core, k19, Shape::boolean},
    {"$recursiveRef", core, k19, Shape::uri_reference},
    {"$ref", core, kAll, Shape::uri_reference},
    {"$schema", core, kAll, Shape::uri},
    {"$vocabulary", core, kFrom19, Shape::vocabulary_map},
    {"additionalItems", applicator, k7 | k19, Shape::schema},
    {"additionalProperties", applicator, kAll, Shape::schema},
    {"allOf", applicator, kAll, Shape::schema_list},
    {"anyOf", applicator, kAll, Shape::schema_list},
    {"const", validation, kAll, Shape::any},
    {"contains", applicator, kAll, Shape::schema},
    {"contentEncoding", content, kAll, Shape::string},
    {"contentMediaType", content, kAll, Shape::string},
    {"contentSchema", content, kFrom19, Shape::schema},
    {"default", metadata, kAll, Shape::any},
    // Since 2019-09 only for compatibility; the metaschemas still describe them, and so do we.
    {"definitions", core, kAll, Shape::schema_map},
    {"dependencies", applicator, kAll, Shape::dependencies},
    {"dependentRequired", validation, kFrom19, Shape::name_map},
    {"dependentSchemas", applicator, kFrom19, Shape::schema_map},
    {"deprecated", metadata, kFrom19, Shape::boolean},
    {"description", metadata, kAll, Shape::string},
    {"else", applicator, kAll, Shape::schema},
    {"enum", validation, kAll, Shape::any_array},
    {"examples", metadata, kAll, Shape::any_array},
    {"exclusiveMaximum", validation, kAll, Shape::number},
    {"exclusiveMinimum", validation, kAll, Shape::number},
    {"format", format, kAll, Shape::string},
    {"if", applicator, kAll, Shape::schema},
    {"items", applicator, k7 | k19, Shape::schema_or_list},
    {"items", applicator, k20, Shape::schema},
    {"maxContains", validation, kFrom19, Shape::count},
    {"maxItems", validation, kAll, Shape::count},
    {"maxLength", validation, kAll, Shape::count},
    {"maxProperties", validation, kAll, Shape::count},
    {"maximum", validation, kAll, Shape::number},
    {"minContains", validation, kFrom19, Shape::count},
    {"minItems", validation, kAll, Shape::count},
    {"minLength", validation, kAll, Shape::count},
    {"minProperties", validation, kAll, Shape::count},
    {"minimum", validation, kAll, Shape::number},
    {"multipleOf", validation, kAll, Shape::positive_number},
    {"not", applicator, kAll, Shape::schema},
    {"oneOf", applicator, kAll, Shape::schema_list},
    {"pattern", validation, kAll, Shape::pattern},
    {"patternProperties", applicator, kAll, Shape::pattern_map},
    {"prefixItems", applicator, k20, Shape::schema_list},
    {"properties", applicator, kAll, Shape::schema_map},
    {"propertyNames", applicator, kAll, Shape::schema},
    {"readOnly", metadata, kAll, Shape::boolean},
    {"required", validation, kAll, Shape::names},
    {"then", applicator, kAll, Shape::schema},
    {"title", metadata, kAll, Shape::string},
    {"type", validation, kAll, Shape::types},
    {"unevaluatedItems", unevaluated, kFrom19, Shape::schema},
    {"unevaluatedProperties", unevaluated, kFrom19, Shape::schema},
    {"uniqueItems", validation, kAll, Shape::boolean},
    {"writeOnly", metadata, kAll, Shape::boolean},
});

static_assert(std::ranges::is_sorted(kTable, {}, &Keyword::name));

}  // namespace

std::span<const Keyword> all_keywords() noexcept {
    return kTable;
}

const Keyword* find_keyword(std::string_view name, Dialect dialect) noexcept {
    // Names are numbered in the order of the table; rows with the same name stand together.
    struct ByName {
        Names names;
        std::array<std::uint8_t, kTable.size()> first_row{};
    };
    static const ByName by_name = [] {
        ByName made;
        for (std::size_t row = 0; row < kTable.size(); ++row) {
            const std::size_t known = made.names.size();
            if (made.names.add(kTable[row].name) == known)
                made.first_row[known] = static_cast<std::uint8_t>(row);
        }
        return made;
    }();
    const std::uint32_t number = by_name.names.find(name);
    if (number == Names::kUnknown) return nullptr;
    for (std::size_t row = by_name.first_row[number]; row < kTable.size() && kTable[row].name == name;
         ++row) {
        if (kTable[row].in(dialect)) return &kTable[row];
    }
    return nullptr;
}

}  // namespace callgate::schema
