// Unicode properties by the names that ECMA-262 gives them in \p{…}.
//
// A property is described by parts that a regular expression engine can spell: general categories, a script,
// and plain ranges of code points. Names are matched exactly, as ECMA-262 demands (no case folding).
//
// Threads: pure functions over constant tables.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "schema/regex_charset.h"

namespace callgate::schema {

struct UnicodeProperty {
    std::string_view name;              ///< canonical long name
    std::string_view categories;        ///< e.g. "Lu Ll Lt": the union of these belongs to the property
    std::string_view script;            ///< and this script, when not empty
    std::span<const CodeRange> ranges;  ///< and these code points
    bool complement = false;            ///< the property is everything outside the parts above
    /// False where no parts are known: only an engine with its own table, under `pcre2_name`, can tell.
    bool has_parts = true;
    std::string_view pcre2_name;
    bool script_extensions = false;  ///< with has_parts false: `pcre2_name` is a script to extend
};

/// \p{name}: a general category or a binary property.
std::optional<UnicodeProperty> find_property(std::string_view name) noexcept;

/// \p{name=value}: General_Category, Script, Script_Extensions.
std::optional<UnicodeProperty> find_property(std::string_view name, std::string_view value) noexcept;

/// Whether an ASCII character has the property; needs has_parts.
bool has_property(const UnicodeProperty& property, unsigned char ascii) noexcept;

struct ScriptName {
    std::string_view name;
    std::string_view alias;
};

/// The scripts that have parts.
std::span<const ScriptName> script_names() noexcept;

}  // namespace callgate::schema
