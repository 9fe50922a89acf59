// The formats that are small grammars of their own: json-pointer, relative-json-pointer, uri-template, uuid.
//
// Threads: pure functions, no allocation.
#pragma once

#include <string_view>

namespace callgate::schema {

/// RFC 6901 section 3, the JSON string representation (no "#" in front).
bool is_json_pointer(std::string_view text) noexcept;

/// draft-bhutton-relative-json-pointer-00 section 3, with index manipulation ("0-1/a", "1+2#").
bool is_relative_json_pointer(std::string_view text) noexcept;

/// RFC 6570 section 2, all levels and the reserved operators. "'" counts as a literal, like every other
/// reserved character of RFC 3986 (its absence from the grammar is an erratum).
bool is_uri_template(std::string_view text) noexcept;

/// RFC 4122 section 3: the text form only, any version and variant.
bool is_uuid(std::string_view text) noexcept;

}  // namespace callgate::schema
