// Names: of tools, actions, scopes and connectors.
//
// They stand in logs, rules and approvals, so they are UTF-8 that a person can see: no control or invisible
// characters, nothing that turns the writing direction, no spaces.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace callgate {

/// What is wrong with it, as the end of a sentence ("is empty", "has a space at byte 3", …); nothing if it is
/// fine.
std::optional<std::string> word_fault(std::string_view text, std::size_t max_bytes);

/// The same for a tool's name, which is `tool` or `server/tool` and has none of the characters that rules use
/// as wildcards. A server's part neither holds "__" nor ends in '_': it must be found again in
/// `server__tool`.
std::optional<std::string> tool_name_fault(std::string_view name, std::size_t max_bytes);

/// What a name says about its server; "" where it names none.
struct NameParts {
    std::string_view server;
    std::string_view tool;
};
/// Of a canonical name, `tool` or `server/tool`.
NameParts split_name(std::string_view canonical);
/// Of `server__tool`.
NameParts parse_qualified_name(std::string_view name);
/// Of `mcp__server__tool`. Any other name is that of a tool without a server.
NameParts parse_mcp_name(std::string_view name);

/// For error messages: cut to 64 bytes, everything but visible ASCII as \xNN.
std::string shown_name(std::string_view name);

}  // namespace callgate
