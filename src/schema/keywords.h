// The one table of JSON Schema keywords.
//
// A row says in which dialects and vocabulary a keyword lives and what its value looks like. Three things are
// made from it: the walk that finds subschemas, the built-in metaschemas, and the question whether a keyword
// applies in a given dialect.
//
// Threads: constant data.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <callgate/schema.h>

namespace callgate::schema {

enum class Vocabulary : std::uint8_t {
    core = 1 << 0,
    applicator = 1 << 1,
    unevaluated = 1 << 2,
    validation = 1 << 3,
    metadata = 1 << 4,
    format = 1 << 5,
    content = 1 << 6,
};

constexpr std::uint8_t kAllVocabularies = 0x7F;

/// What a keyword's value must look like.
enum class Shape : std::uint8_t {
    any,
    any_array,
    boolean,
    string,
    uri,
    uri_reference,
    id,  ///< a URI reference, without a fragment where the dialect has $anchor
    anchor,
    vocabulary_map,
    number,
    positive_number,
    count,  ///< a non-negative integer
    pattern,
    types,
    names,     ///< array of unique strings
    name_map,  ///< object of `names`
    schema,
    schema_list,  ///< non-empty array of schemas
    schema_or_list,
    schema_map,
    pattern_map,   ///< object of schemas, keys are patterns
    dependencies,  ///< object of schemas or `names`
};

struct Keyword {
    std::string_view name;
    Vocabulary vocabulary;
    std::uint8_t dialects;  ///< bit per Dialect
    Shape shape;

    bool in(Dialect dialect) const noexcept { return (dialects >> static_cast<unsigned>(dialect) & 1) != 0; }
};

std::span<const Keyword> all_keywords() noexcept;

/// nullptr when the dialect has no such keyword.
const Keyword* find_keyword(std::string_view name, Dialect dialect) noexcept;

/// Beside `properties` and `additionalProperties`, the keywords by which an object's schema may rule on its
/// members.
inline constexpr std::array<std::string_view, 12> kRuleOnMembers{"patternProperties",
                                                                 "unevaluatedProperties",
                                                                 "$ref",
                                                                 "$dynamicRef",
                                                                 "$recursiveRef",
                                                                 "allOf",
                                                                 "anyOf",
                                                                 "oneOf",
                                                                 "not",
                                                                 "if",
                                                                 "dependentSchemas",
                                                                 "dependencies"};

}  // namespace callgate::schema
