// Results as they were received: what a provider's own text says of them, and results that are kept as that
// text alone.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include <callgate/result.h>

namespace callgate {

/// What `raw` is of this result, of a failure if `failed`. It is read again and compared: whoever has changed
/// the result since has not changed its raw, and the other way round.
RawIs raw_says(const ToolResult& result, bool failed);

/// For the record: nothing beside the raw that can be read from it again.
ToolResult without_parsed(const ToolResult& result);

/// As it was before that. Nothing: its raw cannot be read.
std::optional<ToolResult> with_parsed(const ToolResult& kept);

/// Whether the raw may stand for the result in a message that has to be one line.
bool leaves_as_received(const ToolResult& result) noexcept;

}  // namespace callgate
