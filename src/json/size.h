// How large a document is, and whether it is one at all, for values that did not come from text and so passed
// no parser.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/json.h>

namespace callgate::json {

/// invalid_arguments {reason: too_large, too_deep, too_many_nodes} where the limits of a parser would have
/// refused it. Bytes are those of strings and keys and one for each value: no more than its text would have.
Result<void> check_size(const Value& value, const ParseLimits& limits);

/// For what this program wrote itself: it was held to its limits when it came in.
ParseLimits any_size() noexcept;

/// About the bytes of its text, never more: numbers and literals count as one. Counting stops above `enough`.
std::size_t text_size_up_to(const Value& value, std::size_t enough);

/// About the memory it holds.
std::size_t held_bytes(const Value& value);

/// JSON has no NaN and no infinities. Where the first number of that kind is, as a JSON pointer; nothing if
/// there is none.
std::optional<std::string> find_not_finite(const Value& value);

/// How deep may be nested what is kept: it must be read again, by others as well.
inline constexpr std::size_t kDeepestKept = 1'000;

/// Why a value cannot be kept and told as it is.
struct Unwritable {
    bool too_deep = false;  ///< nested deeper than kDeepestKept; or else a number is not finite
    std::string path;       ///< of that number

    std::string what() const;  ///< "a number at /a that is NaN or infinite, which JSON cannot say"
    std::string_view reason() const noexcept { return too_deep ? "too_deep" : "not_finite"; }
};
std::optional<Unwritable> find_unwritable(const Value& value);

/// "an array", "a string", "null" …
std::string_view kind_with_article(const Value& value) noexcept;

}  // namespace callgate::json
