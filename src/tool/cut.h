// Text cut to a size: never inside a code point, and with its marker never longer than the size.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace callgate {

/// `text`, or as much of it as fits before the marker into `max_bytes`. Bytes that are no UTF-8 become
/// U+FFFD.
std::string cut_to_bytes(std::string_view text, std::size_t max_bytes, std::string_view marker = {});

/// `text` if it has at most `limit` characters (code points); otherwise cut to `limit` bytes, marker
/// included.
std::string cut_to_characters(std::string_view text, std::size_t limit, std::string_view marker = {});

/// Whether the text has more characters than that; no more than necessary is read.
bool has_more_characters(std::string_view text, std::size_t limit) noexcept;

/// The longest prefix that as JSON, without its quotes, takes at most `max_bytes`.
std::string_view prefix_as_json(std::string_view text, std::size_t max_bytes) noexcept;

}  // namespace callgate
