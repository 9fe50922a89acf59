// Content blocks in the form MCP has for them. Everything that shows blocks to somebody goes through here.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <string>
#include <vector>

#include <callgate/json.h>
#include <callgate/result.h>

namespace callgate {

/// One item of CallToolResult.content. JSON has no type of its own there and is text; a custom block is its
/// item.
Value to_mcp(const Block& block);

/// Whether there is anything in it that could be shown.
bool has_content(const ToolResult& result) noexcept;

/// The text of a block that has one (text, JSON); null for all others. `kept` holds it where it had to be
/// made.
const std::string* text_of(const Block& block, std::string& kept);

/// The text of all blocks that have one, a line break between them.
std::string joined_text(const std::vector<Block>& blocks);

}  // namespace callgate
