// How large a document is, for values that did not come from text and so passed no parser's limits.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include <callgate/json.h>

namespace callgate::json {

/// invalid_arguments {reason: too_large, too_deep, too_many_nodes} where the limits of a parser would have
/// refused it. Bytes are those of strings and keys and one for each value: no more than its text would have.
Result<void> check_size(const Value& value, const ParseLimits& limits);

/// About the bytes of its text, never more: numbers and literals count as one. Counting stops above `enough`.
std::size_t text_size_up_to(const Value& value, std::size_t enough);

/// "an array", "a string", "null" …
std::string_view kind_with_article(const Value& value) noexcept;

}  // namespace callgate::json
