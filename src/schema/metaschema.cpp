#include "schema/metaschema.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "schema/keywords.h"

namespace callgate::schema {

namespace {

constexpr std::string_view kDraft7 = "http://json-schema.org/draft-07/schema";
constexpr std::string_view kDraft19 = "https://json-schema.org/draft/2019-09/schema";
constexpr std::string_view kDraft20 = "https://json-schema.org/draft/2020-12/schema";

struct VocabularyName {
    Dialect dialect;
    Vocabulary vocabulary;
    std::string_view name;
};

// Where two vocabularies share a name (2019-09 keeps unevaluated* among the applicators), one document holds
// both.
constexpr VocabularyName kVocabularies[] = {
    {Dialect::draft2019_09, Vocabulary::core, "core"},
    {Dialect::draft2019_09, Vocabulary::applicator, "applicator"},
    {Dialect::draft2019_09, Vocabulary::unevaluated, "applicator"},
    {Dialect::draft2019_09, Vocabulary::validation, "validation"},
    {Dialect::draft2019_09, Vocabulary::metadata, "meta-data"},
    {Dialect::draft2019_09, Vocabulary::format, "format"},
    {Dialect::draft2019_09, Vocabulary::content, "content"},
    {Dialect::draft2020_12, Vocabulary::core, "core"},
    {Dialect::draft2020_12, Vocabulary::applicator, "applicator"},
    {Dialect::draft2020_12, Vocabulary::unevaluated, "unevaluated"},
    {Dialect::draft2020_12, Vocabulary::validation, "validation"},
    {Dialect::draft2020_12, Vocabulary::metadata, "meta-data"},
    {Dialect::draft2020_12, Vocabulary::format, "format-annotation"},
    {Dialect::draft2020_12, Vocabulary::format, "format-assertion"},
    {Dialect::draft2020_12, Vocabulary::content, "content"},
};

std::string vocabulary_uri(const VocabularyName& row, std::string_view folder) {
    const std::string_view year = row.dialect == Dialect::draft2019_09 ? "2019-09" : "2020-12";
    return fmt::format("https://json-schema.org/draft/{}/{}/{}", year, folder, row.name);
}

// How a metaschema says "and here stands a schema again".
enum class Again : std::uint8_t { by_root, by_dialect };

Object a_schema(Dialect dialect, Again again) {
    if (again == Again::by_root) return {{"$ref", "#"}};
    switch (dialect) {
        case Dialect::draft7: return {{"$ref", "#"}};
        case Dialect::draft2019_09: return {{"$recursiveRef", "#"}};
        case Dialect::draft2020_12: break;
    }
    return {{"$dynamicRef", "#meta"}};
}

Object string_array() {
    return {{"type", "array"}, {"items", {{"type", "string"}}}, {"uniqueItems", true}};
}

// The metaschema fragment that a keyword's value must satisfy.
Value describe(Shape shape, Dialect dialect, Again again) {
    const auto list_of_schemas = [&]() -> Object {
        return {{"type", "array"}, {"minItems", 1}, {"items", a_schema(dialect, again)}};
    };
    switch (shape) {
        case Shape::any: return true;
        case Shape::any_array: return {{"type", "array"}, {"items", true}};
        case Shape::boolean: return {{"type", "boolean"}};
        case Shape::string: return {{"type", "string"}};
        case Shape::uri: return {{"type", "string"}, {"format", "uri"}};
        case Shape::uri_reference: return {{"type", "string"}, {"format", "uri-reference"}};
        case Shape::id:
            if (dialect == Dialect::draft7) return {{"type", "string"}, {"format", "uri-reference"}};
            return {{"type", "string"}, {"format", "uri-reference"}, {"pattern", "^[^#]*#?$"}};
        case Shape::anchor:
            return {{"type", "string"},
                    {"pattern", dialect == Dialect::draft2019_09 ? "^[A-Za-z][-A-Za-z0-9.:_]*$"
                                                                 : "^[A-Za-z_][-A-Za-z0-9._]*$"}};
        case Shape::vocabulary_map:
            return {{"type", "object"},
                    {"propertyNames", {{"type", "string"}, {"format", "uri"}}},
                    {"additionalProperties", {{"type", "boolean"}}}};
        case Shape::number: return {{"type", "number"}};
        case Shape::positive_number: return {{"type", "number"}, {"exclusiveMinimum", 0}};
        case Shape::count: return {{"type", "integer"}, {"minimum", 0}};
        case Shape::pattern: return {{"type", "string"}, {"format", "regex"}};
        case Shape::types: {
            const Object one = {
                {"enum", {"array", "boolean", "integer", "null", "number", "object", "string"}}};
            const Object several = {
                {"type", "array"}, {"items", one}, {"minItems", 1}, {"uniqueItems", true}};
            return {{"anyOf", Array{one, several}}};
        }
        case Shape::names: return string_array();
        case Shape::name_map: return {{"type", "object"}, {"additionalProperties", string_array()}};
        case Shape::schema: return a_schema(dialect, again);
        case Shape::schema_list: return list_of_schemas();
        case Shape::schema_or_list: return {{"anyOf", Array{a_schema(dialect, again), list_of_schemas()}}};
        case Shape::schema_map:
            return {{"type", "object"}, {"additionalProperties", a_schema(dialect, again)}};
        case Shape::pattern_map:
            return {{"type", "object"},
                    {"additionalProperties", a_schema(dialect, again)},
                    {"propertyNames", {{"format", "regex"}}}};
        case Shape::dependencies:
            return {{"type", "object"},
                    {"additionalProperties", {{"anyOf", Array{a_schema(dialect, again), string_array()}}}}};
    }
    return true;
}

Object properties_of(Dialect dialect, std::uint8_t vocabularies, Again again = Again::by_dialect) {
    Object properties;
    for (const Keyword& keyword : all_keywords()) {
        if (keyword.in(dialect) && (vocabularies & static_cast<std::uint8_t>(keyword.vocabulary)) != 0)
            properties.emplace(keyword.name, describe(keyword.shape, dialect, again));
    }
    return properties;
}

void mark_extensible(Object& document, Dialect dialect) {
    if (dialect == Dialect::draft2019_09) document.emplace("$recursiveAnchor", true);
    if (dialect == Dialect::draft2020_12) document.emplace("$dynamicAnchor", "meta");
}

using Documents = std::map<std::string, Value, std::less<>>;

void add_dialect(Documents& documents, Dialect dialect) {
    const std::string uri(dialect_uri(dialect));
    Object root = {{"$schema", dialect == Dialect::draft7 ? uri + "#" : uri}, {"$id", uri}};
    mark_extensible(root, dialect);
    root.emplace("type", Array{"object", "boolean"});
    if (dialect == Dialect::draft7) {
        root.emplace("properties", properties_of(dialect, kAllVocabularies));
        documents.emplace(uri, std::move(root));
        return;
    }

    Array all_of;
    Object vocabulary;
    std::map<std::string, std::uint8_t> parts;
    for (const VocabularyName& row : kVocabularies) {
        if (row.dialect == dialect)
            parts[vocabulary_uri(row, "meta")] |= static_cast<std::uint8_t>(row.vocabulary);
        // Assertion is an alternative to annotation, not a part of the standard dialect.
        if (row.dialect != dialect || row.name == "format-assertion") continue;
        if (vocabulary.emplace(vocabulary_uri(row, "vocab"), row.name != "format").second)
            all_of.push_back(Object{{"$ref", vocabulary_uri(row, "meta")}});
    }
    root.emplace("$vocabulary", std::move(vocabulary));
    root.emplace("allOf", std::move(all_of));
    documents.emplace(uri, std::move(root));

    for (const auto& [part_uri, bits] : parts) {
        Object part = {{"$schema", uri}, {"$id", part_uri}};
        mark_extensible(part, dialect);
        part.emplace("type", Array{"object", "boolean"});
        part.emplace("properties", properties_of(dialect, bits));
        documents.emplace(part_uri, std::move(part));
    }
}

const Documents& builtin_documents() {
    static const Documents documents = [] {
        Documents all;
        add_dialect(all, Dialect::draft7);
        add_dialect(all, Dialect::draft2019_09);
        add_dialect(all, Dialect::draft2020_12);
        return all;
    }();
    return documents;
}

}  // namespace

std::string_view dialect_uri(Dialect dialect) noexcept {
    switch (dialect) {
        case Dialect::draft7: return kDraft7;
        case Dialect::draft2019_09: return kDraft19;
        case Dialect::draft2020_12: break;
    }
    return kDraft20;
}

std::optional<Dialect> dialect_by_uri(std::string_view uri) noexcept {
    if (uri.ends_with('#')) uri.remove_suffix(1);
    for (const Dialect dialect : {Dialect::draft7, Dialect::draft2019_09, Dialect::draft2020_12}) {
        const std::string_view known = dialect_uri(dialect);
        if (uri == known) return dialect;
        // The draft-07 identifier is http; writers often say https.
        if (dialect == Dialect::draft7 && uri.starts_with("https:") && uri.substr(6) == known.substr(5))
            return dialect;
    }
    return std::nullopt;
}

const Value* builtin_document(std::string_view uri) {
    const Documents& documents = builtin_documents();
    const auto found = documents.find(uri);
    return found == documents.end() ? nullptr : &found->second;
}

Value flat_metaschema(Dialect dialect) {
    return {{"$schema", dialect_uri(dialect)},
            {"type", {"object", "boolean"}},
            {"properties", properties_of(dialect, kAllVocabularies, Again::by_root)}};
}

VocabularySet read_vocabularies(const Object& vocabulary) {
    VocabularySet set;
    set.bits = static_cast<std::uint8_t>(Vocabulary::core);
    for (const auto& member : vocabulary) {
        const std::string_view uri = member.key();
        const bool required = member.value().is_bool() && member.value().get_bool();
        bool known = false;
        for (const VocabularyName& row : kVocabularies) {
            if (vocabulary_uri(row, "vocab") != uri) continue;
            known = true;
            set.bits |= static_cast<std::uint8_t>(row.vocabulary);
            if (row.name == "format-assertion") set.assert_format = true;
        }
        if (!known && required) set.unknown = std::string(uri);
    }
    return set;
}

}  // namespace callgate::schema
