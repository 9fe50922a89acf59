// URIs and IRIs as JSON Schema uses them: identifiers to split, to resolve against a base, to check for
// syntax.
//
// Splitting and resolving never fail: any byte string has a defined answer (RFC 3986 appendix B and
// section 5.2.2), so that a bad `$id` shows up as an unknown identifier and not as a crash. The is_* checks
// are the strict grammars of RFC 3986 and RFC 3987. All functions take time linear in their input.
//
// Threads: pure functions. The views returned point into the argument.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace callgate::schema {

/// A component that is absent and one that is empty differ ("a?" has an empty query): hence the flags.
struct UriParts {
    std::string_view scheme, authority, path, query, fragment;
    bool has_scheme = false, has_authority = false, has_query = false, has_fragment = false;
};

UriParts split_uri(std::string_view uri) noexcept;

/// RFC 3986 section 5.2, strict. Where dropping dot segments would make the path read as an authority or as a
/// scheme, "/." or "./" is kept in front, so that splitting the result gives the components that were joined.
std::string resolve_reference(std::string_view base, std::string_view reference);

/// The part before the first '#', and the fragment without its '#'.
std::pair<std::string_view, std::string_view> split_fragment(std::string_view uri) noexcept;

/// A '%' that two hex digits do not follow stays as it is. The result is never longer than the input and may
/// be any bytes, not only UTF-8.
std::string percent_decode(std::string_view text);

bool is_uri(std::string_view text) noexcept;
bool is_uri_reference(std::string_view text) noexcept;
bool is_iri(std::string_view text) noexcept;
bool is_iri_reference(std::string_view text) noexcept;

}  // namespace callgate::schema
