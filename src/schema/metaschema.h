// The metaschemas of the three dialects, made from the keyword table: no file, no download.
//
// Threads: pure functions over constant data built on first use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/schema.h>

namespace callgate::schema {

/// The `$schema` value of a dialect.
std::string_view dialect_uri(Dialect dialect) noexcept;

/// The dialect a `$schema` value names (an empty fragment is ignored), if it is one of ours.
std::optional<Dialect> dialect_by_uri(std::string_view uri) noexcept;

/// The built-in document at `uri` (no fragment): a metaschema or one of its vocabularies. nullptr when there
/// is none.
const Value* builtin_document(std::string_view uri);

/// The dialect's metaschema as one document without references to others: the same verdicts, asked far
/// faster.
Value flat_metaschema(Dialect dialect);

/// The vocabularies a `$vocabulary` object names (bits of Vocabulary), and whether it asks for format
/// assertion.
struct VocabularySet {
    std::uint8_t bits = 0;
    bool assert_format = false;
    std::string unknown;  ///< a required vocabulary that is not ours, if any
};
VocabularySet read_vocabularies(const Object& vocabulary);

}  // namespace callgate::schema
