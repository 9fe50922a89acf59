// Values of HTTP headers, and texts that a header cannot hold as they are.
//
// MCP repeats parts of a message in headers (Mcp-Name, Mcp-Param-*). A header holds visible ASCII, with
// spaces and tabs inside; everything else stands there as "=?base64?…?=", standard base64 of its UTF-8. A
// text that looks like that already is encoded, too, so that what is decoded is always what was meant.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <callgate/error.h>
#include <callgate/json.h>

namespace callgate::wire {

/// RFC 9110: what names of headers and methods are made of. Not empty.
bool is_token(std::string_view text) noexcept;
/// Without spaces and tabs at its ends, which do not belong to a value.
std::string_view trim(std::string_view value) noexcept;
/// A value may be sent like this: no control character except tab, no line break.
bool is_value(std::string_view value) noexcept;

std::string encode_value(std::string_view text);
/// What encode_value() was given. invalid_arguments {reason: header_value} for markers without good base64 of
/// good UTF-8 between them; a value without both markers is meant as it is.
Result<std::string> decode_value(std::string_view value);

/// A string, an integer that every JSON reader holds exactly (to 2^53 - 1; 5.0 is one), or a truth value;
/// nothing else has a place in a header.
std::optional<std::string> value_of(const Value& argument);
/// Whether the header says what the argument is. Integers are compared as numbers.
Result<bool> says(std::string_view value, const Value& argument);

}  // namespace callgate::wire
