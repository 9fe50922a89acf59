// JSON pointers (RFC 6901): "" is the whole document, "/a/0/b~1c" is member "b/c" of element 0 of member "a".
//
// Array positions are strict: decimal digits without leading zeros. "-", the place after the last element, is
// a valid token that never finds anything. Text that is no pointer is refused with code invalid_arguments and
// details {reason: "bad_pointer", byte}.
//
// Threads: plain values and functions; a document may be searched by many threads at once.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/json.h>

namespace callgate::json {

class Pointer {
public:
    /// Longer text is refused; find() on text has no need of the limit.
    static constexpr std::size_t kMaxBytes = 64 * 1024;

    /// The whole document.
    Pointer() = default;

    static Result<Pointer> parse(std::string_view text);

    /// A token as it stands in a pointer's text: "~" is "~0" and "/" is "~1".
    static std::string escape(std::string_view token);

    /// Unescaped, outermost first.
    const std::vector<std::string>& tokens() const noexcept { return tokens_; }
    bool empty() const noexcept { return tokens_.empty(); }

    Pointer& push(std::string_view token);

    std::string to_string() const;

    friend bool operator==(const Pointer&, const Pointer&) = default;

private:
    std::vector<std::string> tokens_;
};

/// What the pointer leads to inside `root`, or null when there is no such place.
const Value* find(const Value& root, const Pointer& pointer);

/// The same for text, where text that is no pointer finds nothing. Allocates only for an escaped token longer
/// than 256 bytes.
const Value* find(const Value& root, std::string_view pointer_text);

/// The position a token names in an array; nothing for a leading zero, a sign, "-", or more than size_t
/// holds.
std::optional<std::size_t> array_index(std::string_view token) noexcept;

/// Lengthen a pointer's text by one step.
void append_token(std::string& pointer_text, std::string_view token);
void append_index(std::string& pointer_text, std::size_t index);

}  // namespace callgate::json
