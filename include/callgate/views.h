// Outcomes as others want to read them: cut to their limits, never inside a code point, and never with a
// stack trace.
//
// s0 to s4 name the five earlier systems that Callgate unites (docs/seed-map.md): three forms of an outcome,
// and two sentences about a failure.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <callgate/json.h>
#include <callgate/outcome.h>

namespace callgate::views {

struct Limits {
    std::size_t model_bytes = 10'000;  ///< of text or JSON; at least 256, and 1,000 for a failure's text
    std::size_t base64_bytes = 1'000;  ///< larger binary data is described, not encoded; at most 7,500
    std::size_t map_keys = 10;
    std::size_t list_items = 3;

    Limits() = default;
};

/// A result for a model: unchanged up to the limit, then a shape that says what was cut (format_result).
Value model(const Value& result, const Limits& limits = {});
/// Text for a model: the result's, or the error's sentence followed by what to do next and what the tool said
/// beside it. Says so if it is partial.
std::string model_text(const Outcome& outcome, const Limits& limits = {});

/// {tool_name, success, output (2,000 characters), latency_ms, error}
Object s0(const Outcome& outcome);
/// {error, tool_name, type, details} of a failure; {} of a success.
Object s1(const Outcome& outcome);
/// {tool_name, server, arguments, success, content_type, duration_ms, timestamp, content, content_length,
/// error}
Object s2(const Outcome& outcome);

// "" for a success.
std::string s0_error(const Outcome& outcome);
std::string s4_error(const Outcome& outcome);

/// MCP's CallToolResult: {"content":[…],"structuredContent"?,"isError"?}, as text. A failure is shown as its
/// tool's own content, if it gave any and it is known what was done; otherwise as model_text(). No byte is
/// replaced unseen: text that is not UTF-8 is an embedded resource with its bytes as base64 ("blob"); where a
/// string inside JSON is not, each such byte stands as U+FFFD, and a last text block says so.
std::string mcp(const Outcome& outcome);

}  // namespace callgate::views
